"""ExtendNER (Monaikul et al. 2021): distil the old version into the new one where nothing is annotated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from retainer.methods.base import Method, Tokens
from retainer.methods.terms import cross_entropy, distillation, share

if TYPE_CHECKING:
    from torch import Tensor

    from retainer.model.tagger_output import TaggerOutput


@dataclass(frozen=True)
class ExtendNER(Method):
    """L = CE(y) over annotated words + KD over O words.

    The temperatures are those of the version the INER tables were made with: 2 for the student, 1 for the teacher.
    They differ, so even a perfect student is not at the minimum; set both to 1 for the textbook form.
    """

    needs_teacher: ClassVar[bool] = True

    distil_weight: float = 1.0
    """Weight of the distillation term."""
    student_temperature: float = 2.0
    """Divides the student's scores."""
    teacher_temperature: float = 1.0
    """Divides the teacher's scores."""

    def losses(self, student: TaggerOutput, teacher: TaggerOutput, given: Tokens, targets: Tokens) -> dict[str, Tensor]:
        """Return cross-entropy and distillation."""
        ce = cross_entropy(student.log_p, given.labels, share(given.annotated))
        old = share(given.unannotated)
        kd = distillation(student.logits, teacher.logits, old, self.student_temperature, self.teacher_temperature)
        return {"ce": ce, "kd": self.distil_weight * kd}
