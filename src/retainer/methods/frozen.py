"""SEQ* (Zheng et al. 2024): what was learned first is never touched again; a new type is a few new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from retainer.methods.base import Method, Tokens
from retainer.methods.terms import cross_entropy, share

if TYPE_CHECKING:
    from torch import Tensor

    from retainer.model.tagger_output import TaggerOutput


@dataclass(frozen=True)
class Frozen(Method):
    """L = CE(y) over all words, and only the head's rows of the new types learn.

    Encoder and old rows stand still from the second task on, so an old entity is lost only where a new type outbids it.
    The source warms the encoder up for three epochs on the first task and trains the head alone for the rest of it;
    here the first task is the same for all methods. New rows begin below all old scores and have nothing but their own
    steps to get above them, so they learn ``speed`` times faster than the recipe's head does.
    """

    trainable: ClassVar[Literal["all", "new rows"]] = "new rows"

    speed: float = 10.0
    """How many times faster the new rows learn than the recipe says."""

    @property
    def head_speed(self) -> float:
        """What the loop multiplies the head's learning rate by."""
        return self.speed

    def losses(self, student: TaggerOutput, teacher: TaggerOutput, given: Tokens, targets: Tokens) -> dict[str, Tensor]:
        """Return the cross-entropy."""
        return {"ce": cross_entropy(student.log_p, given.labels, share(given.labelled))}
