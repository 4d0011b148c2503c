"""Early stopping: the best epoch so far, and when to give up waiting for a better one."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor, nn

from retainer.model.adapters import learned_state, load_learned

Tensors = dict[str, Tensor]


@dataclass
class EarlyStopping:
    """Keeps the weights of the best epoch; stops after ``patience`` epochs without a better one (0 is never)."""

    patience: int
    best: float | None = None
    """The dev score of the best epoch; None as long as no epoch found anything."""
    best_epoch: int = 0
    weights: Tensors = field(default_factory=dict)

    def update(self, epoch: int, score: float | None, student: nn.Module) -> bool:
        """Keep an epoch if its score is strictly better than all before; an epoch that finds nothing never is."""
        if score is None or score <= (self.best or 0.0):
            return False
        self.best, self.best_epoch, self.weights = score, epoch, cloned(learned_state(student))
        return True

    def should_stop(self, epoch: int) -> bool:
        """Say whether the best epoch is long past; as long as nothing at all is found, the best is still to come."""
        return bool(self.patience and self.best and epoch - self.best_epoch >= self.patience)

    def restore(self, student: nn.Module) -> None:
        """Go back to the best epoch, if one was chosen."""
        if self.weights:
            load_learned(student, self.weights)


def cloned(state: Tensors) -> Tensors:
    """Return an independent copy of some weights."""
    return {name: tensor.detach().clone() for name, tensor in state.items()}
