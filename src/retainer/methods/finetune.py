"""Plain fine-tuning: the lower bound. O means O, so everything old is unlearned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retainer.methods.base import Method, Tokens
from retainer.methods.terms import cross_entropy, share

if TYPE_CHECKING:
    from torch import Tensor

    from retainer.model.tagger_output import TaggerOutput


@dataclass(frozen=True)
class Finetune(Method):
    """L = CE(y) over all words. Also what every method does in its first task, when there is nothing to forget."""

    def losses(self, student: TaggerOutput, teacher: TaggerOutput, given: Tokens, targets: Tokens) -> dict[str, Tensor]:
        """Return the cross-entropy with the given labels."""
        return {"ce": cross_entropy(student.log_p, targets.labels, share(targets.labelled, given))}
