"""Learn and Review (Xia et al. 2022): learn the new type, then review the old ones on sentences made up for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from retainer.methods.base import Clock, Tokens
from retainer.methods.extend_ner import ExtendNER
from retainer.methods.terms import cross_entropy, distillation, share, soft_cross_entropy

if TYPE_CHECKING:
    from torch import Tensor

    from retainer.model.tagger_output import TaggerOutput


@dataclass(frozen=True)
class ReviewTargets:
    """What is found once per task: which words are made up, and what teacher and first student say of them."""

    synthetic: Tensor
    target: Tensor


@dataclass(frozen=True)
class Reviewed(Tokens):
    """A batch with made-up sentences among the real ones."""

    synthetic: Tensor = field(kw_only=True)
    target: Tensor = field(kw_only=True)


@dataclass(frozen=True)
class LearnAndReview(ExtendNER):
    """First ExtendNER. Then again from the old version: L = CE + KD on real sentences + review_weight * review.

    review = -sum t log p over all words of made-up sentences; t is the first student's probability on new labels, and
    the teacher's on old ones, which share what is left. The sentences come from small language models that stay behind
    with every version instead of its data (``generator``), as many as there are real ones, spread evenly over the old
    tasks. A version without such models (one of another tool, say) has nothing to review, so it only learns.

    No code was published. Architecture, number of sentences and weights are our choice; the source has a generator,
    linearised labels, and the two stages with two teachers.
    """

    reviews: ClassVar[bool] = True

    review_weight: float = 1.0
    """Weight of the review."""
    student_temperature: float = 1.0
    """Divides the student's scores."""

    def begin(self, slice_: Tokens, teacher: TaggerOutput) -> ReviewTargets | None:
        """Put together what two teachers say; in the first stage there is only one."""
        if teacher.second_view is None or slice_.synthetic is None:
            return None
        new = teacher.second_view.logits.softmax(dim=-1)[..., slice_.old :]
        left = 1 - new.sum(dim=-1, keepdim=True)
        old = teacher.logits.softmax(dim=-1) * left
        target = old.new_empty(len(old), slice_.old + new.shape[-1])
        target[:, : slice_.old], target[:, slice_.old :] = old, new
        return ReviewTargets(slice_.synthetic, target)

    def targets(self, tokens: Tokens, teacher: TaggerOutput, memory: Any, clock: Clock) -> Tokens:
        """Look up what to review."""
        if memory is None:
            return tokens
        rows = tokens.rows.clamp(min=0)
        synthetic = memory.synthetic[rows] & tokens.labelled
        return Reviewed(
            tokens.labels, tokens.rows, tokens.outside, tokens.old, synthetic=synthetic, target=memory.target[rows]
        )

    def losses(self, student: TaggerOutput, teacher: TaggerOutput, given: Tokens, targets: Tokens) -> dict[str, Tensor]:
        """Return ExtendNER's terms on real words, and the review of made-up ones."""
        if not isinstance(targets, Reviewed):
            return super().losses(student, teacher, given, targets)
        real = share(given.unannotated & ~targets.synthetic)
        kd = distillation(student.logits, teacher.logits, real, self.student_temperature, self.teacher_temperature)
        review = soft_cross_entropy(student.log_p, targets.target, share(targets.synthetic))
        return {
            "ce": cross_entropy(student.log_p, given.labels, share(given.annotated)),
            "kd": self.distil_weight * kd,
            "review": self.review_weight * review,
        }
