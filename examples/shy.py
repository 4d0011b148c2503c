"""A method in one file, for docs/plugins.md."""

from dataclasses import dataclass
from typing import ClassVar

import retainer


@dataclass(frozen=True)
class Shy(retainer.Method):
    """L = CE over annotated words + the squared distance to the teacher's scores over all others."""

    needs_teacher: ClassVar[bool] = True

    hold: float = 0.5
    """Weight of the second term."""

    def losses(self, student, teacher, given, targets):
        """Return the terms by name; the loop adds them up, logs them and differentiates."""
        old = teacher.logits.shape[-1]
        words = given.annotated.sum().clamp(min=1), given.unannotated.sum().clamp(min=1)
        right = student.log_p.gather(-1, given.labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        apart = (student.logits[..., :old] - teacher.logits).square().mean(-1)
        return {
            "ce": -(right * given.annotated).sum() / words[0],
            "hold": self.hold * (apart * given.unannotated).sum() / words[1],
        }
