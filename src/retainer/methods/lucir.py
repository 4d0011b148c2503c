"""LUCIR (Hou et al. 2019, as the INER literature runs it): vectors keep their direction, new scores their distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from retainer.methods.base import Method, Need, Tokens
from retainer.methods.terms import cross_entropy, growth, share, turned

if TYPE_CHECKING:
    from torch import Tensor

    from retainer.model.tagger_output import TaggerOutput


@dataclass(frozen=True)
class LUCIR(Method):
    """L = CE(y) over annotated + feature_weight * sqrt(old / new labels) * (1 - cos(f, f')) + ranking, over O words.

    f and f' are the last layer's vectors of student and teacher; ranking is max(0, margin - z_O + z_k), z_k the highest
    score of a new label. The original distils all samples and ranks rehearsed ones; without any, the literature takes
    O words for both, and so do we. Its head is a cosine; here it is whatever the recipe says (``head``), and the margin
    is on the scores as they are.
    """

    needs_teacher: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset({"vectors"})

    feature_weight: float = 50.0
    """Weight of the distance between directions, before it is adapted to the number of labels."""
    ranking_weight: float = 1.0
    """Weight of the ranking."""
    margin: float = 0.5
    """How far the score of O shall stay above those of new labels."""

    def losses(self, student: TaggerOutput, teacher: TaggerOutput, given: Tokens, targets: Tokens) -> dict[str, Tensor]:
        """Return cross-entropy, less-forget and ranking."""
        old = share(given.unannotated)
        features = (turned(student.hidden, teacher.hidden) * old).sum()
        terms = {
            "ce": cross_entropy(student.log_p, given.labels, share(given.annotated)),
            "features": self.feature_weight * growth(student, teacher) * features,
        }
        if student.logits.shape[-1] == given.old:
            return terms  # nothing new, so O has no rival to stay above
        rival = student.logits[..., given.old :].max(dim=-1).values
        short = (self.margin - student.logits[..., given.outside] + rival).clamp(min=0)
        return {**terms, "ranking": self.ranking_weight * (short * old).sum()}
