"""Retain: ours. One loss over all words, a second look without the new entities, and a corrected prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from retainer.errors import InputError
from retainer.methods.base import Method, Tokens
from retainer.methods.terms import count, cross_entropy, share, soft_cross_entropy

if TYPE_CHECKING:
    from torch import Tensor

    from retainer.model.tagger_output import TaggerOutput


@dataclass(frozen=True)
class Retain(Method):
    """L = (sum over annotated words of -log p(y) + sum over O words of -sum_c q_c log p_c) / words + look_weight L'.

    q are the teacher's probabilities over its labels, p the student's over all labels. One mean over all words weighs
    every word alike; with a mean per term, the few annotated words of a sentence weigh many times more than the others,
    and the new types are found too often.

    L' is the same sum over the O words of a second look at the sentences that have new entities, without them, divided
    by the same number of words; q stays that of the whole sentence. What the student says of an old entity then does
    not hang on the new ones beside it.

    The sentences of a task are mostly picked for its new types, which are rarer where the model is used. The correction
    of that prior is the recipe's (``prior``); this method declares that it wants it.
    """

    needs_teacher: ClassVar[bool] = True
    several_devices: ClassVar[bool] = True

    mean: Literal["words", "terms"] = "words"
    """One mean over all words, or one over the annotated words and one over the others."""
    look_weight: float = 1.0
    """Weight of the second look; 0 takes none."""
    look_share: float = 0.7
    """Share of the sentences of a batch that get the second look, if they have new entities. Their weight makes up for
    the others, which get theirs in other epochs."""
    swap_share: float = 0.0
    """Sentences of the data that a step also shows with old entities, as the teacher finds them elsewhere in the data,
    in the places of new ones: in batches, so 1 is as many again; 0 is none."""
    prior_correction: Literal["none", "dev"] = "dev"
    """The correction of the prior that the recipe's ``auto`` stands for."""
    blend: Literal["none", "dev"] = "none"
    """Whether the student's encoder is moved back toward its parent's, as far as the dev set says that it helps."""

    def __post_init__(self) -> None:
        """Refuse a share that is none."""
        super().__post_init__()
        if not 0 < self.look_share <= 1:
            raise InputError(f"field look_share is a share, above 0 and at most 1, not {self.look_share}")

    @property
    def second_looks(self) -> float:
        """The share of the sentences that are looked at again."""
        return self.look_share if self.look_weight else 0.0

    def leave_out(self, given: Tokens) -> Tensor | None:
        """Leave the new entities out; old ones stay even where they are gold."""
        return given.labels >= given.old if self.look_weight else None

    def losses(self, student: TaggerOutput, teacher: TaggerOutput, given: Tokens, targets: Tokens) -> dict[str, Tensor]:
        """Return cross-entropy, distillation and, where there is one, the second look."""
        q = teacher.logits.softmax(dim=-1)
        annotated, others = given.annotated, given.unannotated
        if self.mean == "words":
            words = count(given.labelled, given)
            annotated, others = annotated / words, others / words
        else:
            annotated, others = share(annotated, given), share(others, given)
        terms = {
            "ce": cross_entropy(student.log_p, given.labels, annotated),
            "kd": soft_cross_entropy(student.log_p, q, others),
        }
        if self.look_weight:
            terms["look"] = self._second_look(student, q, others)
        return terms

    def _second_look(self, student: TaggerOutput, q: Tensor, others: Tensor) -> Tensor:
        """Return the distillation at the O words of what was looked at twice; of nothing, where nothing was."""
        second = student.second_view
        if second is None or second.covered is None:
            return student.logits.new_zeros(())
        weight = self.look_weight / self.look_share
        return weight * soft_cross_entropy(second.log_p, q, others * second.covered)
