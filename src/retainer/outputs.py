"""What a tagger says: scores and token vectors. Teacher and student speak this to the methods."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Outputs:
    """Scores of all labels and, where asked for, the token vectors; one row per word (or per position of a batch)."""

    logits: Tensor
    hidden: Tensor

    @cached_property
    def log_p(self) -> Tensor:
        """Log probabilities of all labels, computed once for all the terms that ask."""
        return self.logits.log_softmax(dim=-1)

    def at(self, rows: Tensor) -> Outputs:
        """Return the outputs of some words; a row number below zero gives an arbitrary row nobody looks at."""
        rows = rows.clamp(min=0)
        return Outputs(self.logits[rows], self.hidden[rows] if len(self.hidden) else self.hidden)
