"""RDP as the code released with the paper computes it: for the bench, beside the letter of the paper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from retainer.methods.base import Clock, Method, Tokens
from retainer.methods.rdp import prototype_weights
from retainer.methods.terms import cross_entropy, distillation, entropy, share, soft_cross_entropy
from retainer.model.quirks import RELEASED, Quirks

if TYPE_CHECKING:
    from torch import Tensor

    from retainer.model.tagger_output import TaggerOutput


@dataclass(frozen=True)
class RDPReleased(Method):
    """L = L_ce + 0.3 L_cd + 0.1 L_se + 2 L_kd, and what differs from the paper behind every name.

    L_ce: as in the paper, with pseudo labels from scrambled prototypes: the n vectors of a label in a batch, n x width
    numbers, are read as width x n, so a prototype has little to do with the mean it should be, and a label never
    predicted keeps a prototype of zeros that takes part.
    L_cd: -sum s log p / C with s = softmax of [sigmoid of the teacher's scores; one-hot of the new labels], a mean over
    ALL positions, padding included: in effect a little label smoothing.
    L_se: the entropy of p / C, over all positions too.   L_kd: KL on O words, with twice the paper's weight.
    """

    needs_teacher: ClassVar[bool] = True
    quirks: ClassVar[Quirks] = RELEASED

    relation_weight: float = 0.3
    """Weight of L_cd."""
    entropy_weight: float = 0.1
    """Weight of L_se."""
    distil_weight: float = 2.0
    """Weight of L_kd."""
    temperature: float = 1.0
    """Divides the distance from a prototype."""

    def begin(self, slice_: Tokens, teacher: TaggerOutput) -> Tensor:
        """Return the scrambled prototypes."""
        return scrambled(teacher, slice_, self.quirks.batch)

    def targets(self, tokens: Tokens, teacher: TaggerOutput, memory: Any, clock: Clock) -> Tokens:
        """Label O words by the teacher's probabilities, weighted by the distance from the prototypes."""
        seen = memory.new_ones(len(memory)).bool()
        weights = prototype_weights(teacher.hidden, memory, seen, self.temperature)
        guess = (weights * teacher.logits.softmax(dim=-1)).argmax(dim=-1)
        return replace(tokens, labels=tokens.labels.where(~tokens.unannotated, guess))

    def losses(self, student: TaggerOutput, teacher: TaggerOutput, given: Tokens, targets: Tokens) -> dict[str, Tensor]:
        """Return the four terms, weighted."""
        log_p = student.log_p
        everywhere = share(given.labelled | True) / log_p.shape[-1]
        ce = cross_entropy(log_p, targets.labels, share(targets.labelled))
        cd = soft_cross_entropy(log_p, flat_target(teacher.logits, given.labels, log_p.shape[-1]), everywhere)
        se = entropy(log_p, everywhere)
        kd = distillation(student.logits, teacher.logits, share(given.unannotated), 1.0, 1.0)
        return {
            "ce": ce,
            "cd": self.relation_weight * cd,
            "se": self.entropy_weight * se,
            "kd": self.distil_weight * kd,
        }


def flat_target(scores: Tensor, labels: Tensor, size: int) -> Tensor:
    """Return softmax of [sigmoid of the old scores; one-hot of the new labels], which is close to uniform."""
    hot = scores.new_zeros(*labels.shape, size).scatter(-1, labels.clamp(min=0).unsqueeze(-1), 1.0)
    hot[..., : scores.shape[-1]] = scores.sigmoid()
    return hot.softmax(dim=-1)


def scrambled(teacher: TaggerOutput, slice_: Tokens, batch: int) -> Tensor:
    """Return what stands for the prototypes: batch by batch and label by label, rows and columns confused."""
    assert slice_.sentences is not None, "a whole slice knows its sentences"
    width, size = teacher.hidden.shape[-1], teacher.logits.shape[-1]
    sums, counts = teacher.hidden.new_zeros(size, width), teacher.hidden.new_zeros(size, 1)
    coarse, number = teacher.logits.argmax(dim=-1), slice_.sentences // batch
    for one in sorted(set(number.tolist())):
        here = (number == one) & slice_.unannotated
        for label in sorted(set(coarse[here].tolist())):
            vectors = teacher.hidden[here & (coarse == label)]
            sums[label] += vectors.reshape(width, len(vectors)).sum(dim=1)
            counts[label] += len(vectors)
    return sums / counts.clamp(min=1)
