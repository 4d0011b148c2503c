"""Self-training (Rosenberg 2005, as in the INER literature): the old version labels what is not annotated."""

from __future__ import annotations

from dataclasses import dataclass

from retainer.methods.extend_ner import ExtendNER


@dataclass(frozen=True)
class SelfTraining(ExtendNER):
    """L = CE(y) over annotated words + KD over O words with an almost hard teacher.

    The published baseline divides the teacher's scores by 0.01 but the student's by 2, so it is not quite the
    cross-entropy on pseudo labels it is described as; we keep its numbers, as fields.
    """

    student_temperature: float = 2.0
    """Divides the student's scores."""
    teacher_temperature: float = 0.01
    """Divides the teacher's scores; near zero makes its labels hard."""
