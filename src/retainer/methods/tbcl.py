"""TBCL (the authors of RDP, 2026): old entities look the same whether or not new ones stand beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from retainer.methods.base import Tokens
from retainer.methods.rdp import RDP
from retainer.methods.terms import cross_entropy, share, soft_cross_entropy

if TYPE_CHECKING:
    from torch import Tensor

    from retainer.model.tagger_output import TaggerOutput


@dataclass(frozen=True)
class TBCL(RDP):
    """L = L_rdp(x) + L(x') + consistency_weight * sum of |p - p'|^2, x' the sentence without its new entities.

    The sum runs over words with a pseudo label of an old type, divided by the number of words like all our terms. L_rdp
    is RDP's; L is cross-entropy on pseudo labels and distillation, which is all the source writes for both (set
    relation_weight and entropy_weight to 0 for that). Pseudo labels and the teacher's probabilities of x' are those of
    x: the teacher knows whole sentences better than ones with holes. The source prints one coefficient, 0.01, and does
    not say whose it is; we take it for the consistency.
    """

    needs_teacher: ClassVar[bool] = True
    several_devices: ClassVar[bool] = False

    consistency_weight: float = 0.01
    """Weight of the difference between the two looks."""

    @property
    def second_looks(self) -> float:
        """Every sentence is looked at again."""
        return 1.0

    def leave_out(self, given: Tokens) -> Tensor | None:
        """Leave the new entities out; old ones stay even where they are gold."""
        return given.labels >= given.old

    def losses(self, student: TaggerOutput, teacher: TaggerOutput, given: Tokens, targets: Tokens) -> dict[str, Tensor]:
        """Return RDP's terms, the two of the second look, and the consistency."""
        assert student.second_view is not None, "declared by leave_out"
        second, kept = student.second_view.log_p, share(given.labelled & (given.labels < given.old))
        q = teacher.logits.softmax(dim=-1)
        old = given.unannotated & (targets.labels != given.outside)
        apart = ((student.log_p.exp() - second.exp()) ** 2).sum(dim=-1)
        return {
            **super().losses(student, teacher, given, targets),
            "again_ce": cross_entropy(second, targets.labels, kept),
            "again_kd": self.distil_weight * soft_cross_entropy(second, q, share(given.unannotated)),
            "consistency": self.consistency_weight * (apart * old).sum() / given.labelled.sum().clamp(min=1),
        }
