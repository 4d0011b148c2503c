"""PODNet (Douillard et al. 2020, as the INER literature runs it): what every layer says stays, pooled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from retainer.methods.base import Method, Need, Tokens
from retainer.methods.terms import growth, share, turned, unit

if TYPE_CHECKING:
    from torch import Tensor

    from retainer.model.tagger_output import TaggerOutput


@dataclass(frozen=True)
class PODNet(Method):
    """L = NCA over annotated + flat_weight * sqrt(old / new labels) * (1 - cos(f, f')) + spatial_weight * pooled.

    pooled: the mean over layers (embeddings included) of |sum of f / |f| - sum of f' / |f'||, a token's vector summed
    up to one number; it and the flat term are means over O words. NCA: max(0, log sum_{j != y} exp(scale z_j) - scale
    (z_y - margin)). In the released code the pooled term has no gradient and the margin cancels out; here both act.
    Like there, nothing but their vectors keeps O words O.
    """

    needs_teacher: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset({"layers"})

    flat_weight: float = 1.0
    """Weight of the last layer's distance, before it is adapted to the number of labels."""
    spatial_weight: float = 1.0
    """Weight of the pooled distance of all layers."""
    scale: float = 1.0
    """Multiplies the scores in NCA."""
    margin: float = 0.6
    """How far the score of the right label shall stay above all others together."""

    def losses(self, student: TaggerOutput, teacher: TaggerOutput, given: Tokens, targets: Tokens) -> dict[str, Tensor]:
        """Return NCA, flat and spatial."""
        assert student.layers is not None and teacher.layers is not None, "declared in needs"
        old = share(given.unannotated)
        pairs = zip(student.layers, teacher.layers, strict=True)
        spatial = old.new_zeros(())
        for ours, theirs in pairs:
            spatial = spatial + ((unit(ours).sum(dim=-1) - unit(theirs).sum(dim=-1)).abs() * old).sum()
        flat = (turned(student.hidden, teacher.hidden) * old).sum()
        return {
            "nca": (self._nca(student.logits, given.labels.clamp(min=0)) * share(given.annotated)).sum(),
            "flat": self.flat_weight * growth(student, teacher) * flat,
            "spatial": self.spatial_weight * spatial / len(student.layers),
        }

    def _nca(self, scores: Tensor, labels: Tensor) -> Tensor:
        """Return the hinge of every word."""
        scaled, right = scores * self.scale, labels.unsqueeze(-1)
        others = scaled.scatter(-1, right, float("-inf")).logsumexp(dim=-1)
        return (others - scaled.gather(-1, right).squeeze(-1) + self.scale * self.margin).clamp(min=0)
