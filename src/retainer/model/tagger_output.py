"""What a tagger says: scores and token vectors. Teacher and student speak this to the methods."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class TaggerOutput:
    """Scores of all labels and, where asked for, the token vectors; one row per word (or per position of a batch).

    What only some methods ask for (``Method.needs``) is there for those methods and None for all others.
    """

    logits: Tensor
    hidden: Tensor
    """The last layer's vectors, as they are before the head's dropout."""
    layers: tuple[Tensor, ...] | None = None
    """The vectors of every layer, the embeddings first."""
    maps: tuple[Tensor, ...] | None = None
    """The attention of every layer: batch x heads x positions x positions, before dropout."""
    mask: Tensor | None = None
    """Which positions of the batch are not padding, where there are maps."""
    second_view: TaggerOutput | None = None
    """A second output for the same positions: the student's own for the batch without ``Method.leave_out``; beside the
    teacher's, in a rehearsal, that of the student of the first stage."""
    covered: Tensor | None = None
    """Which positions a second view covers; None for all."""
    matched: Tensor | None = None
    """Scores of the words of ``Method.matches``, as the encoder of the epoch's beginning and today's head see them."""

    @cached_property
    def log_p(self) -> Tensor:
        """Log probabilities of all labels, computed once for all the terms that ask."""
        return self.logits.log_softmax(dim=-1)

    def at(self, rows: Tensor) -> TaggerOutput:
        """Return the outputs of some words; a row number below zero gives an arbitrary row that is never used."""
        rows = rows.clamp(min=0)
        return TaggerOutput(self.logits[rows], self.hidden[rows] if len(self.hidden) else self.hidden)
