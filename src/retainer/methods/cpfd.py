"""CPFD (Zhang et al. 2023): pseudo labels the teacher is sure of, and attention that stays where it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING, Any, ClassVar

from retainer.methods.base import IGNORE, Clock, Method, Need, Tokens
from retainer.methods.terms import count, cross_entropy, distillation, growth, share

if TYPE_CHECKING:
    from torch import Tensor

    from retainer.model.tagger_output import TaggerOutput


@dataclass(frozen=True)
class Judged:
    """What is found once per task: a label for every word (none where the teacher is unsure) and what it weighs."""

    labels: Tensor
    weights: Tensor


@dataclass(frozen=True)
class Weighed(Tokens):
    """A batch whose words weigh differently."""

    weights: Tensor = field(kw_only=True)


@dataclass(frozen=True)
class CPFD(Method):
    """L = weighted CE(pseudo labels) + distil_weight * sqrt(old / new labels, without O) * (KD + attention).

    Pseudo labels: an O word takes the teacher's label if the teacher's entropy h = -sum q log q / (C log C) lies below
    the median of the O words with that label (but no threshold lies below ``floor``); otherwise it does not count. All
    words of a sentence weigh the share of its O words that count; words with an old type's pseudo label 0.5 +
    sigmoid(old words / new words of the sentence) times as much. KD is over O words. Attention: the mean over layers of
    the squared distance between the maps of student and teacher averaged over heads, plus that of the maps averaged
    over queries.

    The released code averages over keys too, which is 1 / length for any map, takes maps after dropout and counts
    padding; a label never given has the threshold NaN there. Here maps are taken before dropout, padding counts
    nowhere, and a label never given has the floor for a threshold.
    """

    needs_teacher: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset({"maps"})
    leaves_doubtful: ClassVar[bool] = True
    several_devices: ClassVar[bool] = True

    distil_weight: float = 2.0
    """Weight of what is distilled, before it is adapted to the number of labels."""
    attention_weight: float = 1.0
    """Weight of the attention beside KD."""
    floor: float = 0.001
    """The least threshold: a teacher as sure as this is always believed."""

    def begin(self, slice_: Tokens, teacher: TaggerOutput) -> Judged:
        """Label and weigh the whole slice once."""
        log_q = teacher.logits.log_softmax(dim=-1)
        size = log_q.shape[-1]
        doubt = -(log_q.exp() * log_q).sum(dim=-1) / (size * log(size))
        coarse, unannotated = log_q.argmax(dim=-1), slice_.unannotated
        sure = doubt < thresholds(doubt, coarse, unannotated, size, self.floor)[coarse]
        pseudo = coarse.where(sure, coarse.new_tensor(IGNORE))
        labels = slice_.labels.where(~unannotated, pseudo)
        return Judged(labels, weights(slice_, labels))

    def pseudo_labels(self, memory: Any) -> Tensor:
        """Return the labels of the slice; what does not count is O."""
        labels: Tensor = memory.labels.where(memory.labels != IGNORE, 0)
        return labels

    def targets(self, tokens: Tokens, teacher: TaggerOutput, memory: Any, clock: Clock) -> Tokens:
        """Look labels and weights of a batch up."""
        rows = tokens.rows.clamp(min=0)
        labels = memory.labels[rows].where(tokens.labelled, IGNORE)
        return Weighed(labels, tokens.rows, tokens.outside, tokens.old, weights=memory.weights[rows])

    def losses(self, student: TaggerOutput, teacher: TaggerOutput, given: Tokens, targets: Tokens) -> dict[str, Tensor]:
        """Return cross-entropy, distillation and attention."""
        assert isinstance(targets, Weighed), "made by targets"
        weight = self.distil_weight * growth(student, teacher, outside=False)
        words = given.total(given.unannotated.sum())
        old = given.unannotated / words.clamp(min=1)
        return {
            "ce": cross_entropy(student.log_p, targets.labels, share(targets.labelled, given) * targets.weights),
            "kd": weight * distillation(student.logits, teacher.logits, old, 1.0, 1.0),
            "attention": weight * self.attention_weight * attention(student, teacher, given) * (words > 0),
        }


def thresholds(doubt: Tensor, coarse: Tensor, mask: Tensor, size: int, floor: float) -> Tensor:
    """Return, for every label, the median doubt of the masked words with that label."""
    found = doubt.new_full((size,), floor)
    for label in range(size):
        values = doubt[mask & (coarse == label)].sort().values
        if len(values):
            found[label] = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
    return found.clamp(min=floor)


def weights(slice_: Tokens, labels: Tensor) -> Tensor:
    """Return what every word weighs: its sentence's share of O words that count, and more for old types among new."""
    assert slice_.sentences is not None, "a whole slice knows its sentences"
    sentences = slice_.sentences

    def count(mask: Tensor) -> Tensor:
        """Count the marked words of every word's sentence."""
        empty = mask.new_zeros(int(sentences.max()) + 1).long()
        return empty.index_add(0, sentences, mask.long())[sentences]

    outside = slice_.unannotated
    believed = count(outside & (labels != IGNORE)) / (count(outside) + 1e-6)
    old = outside & (labels != IGNORE) & (labels != slice_.outside)
    ratio = count(old) / count(slice_.labels >= slice_.old).clamp(min=1)
    return believed * (0.5 + ratio.sigmoid()).where(old, believed.new_tensor(1.0))


def attention(student: TaggerOutput, teacher: TaggerOutput, given: Tokens) -> Tensor:
    """Return the squared distance of pooled attention maps, a mean over layers; padding counts nowhere."""
    assert student.maps and teacher.maps and student.mask is not None, "declared in needs"
    mask = student.mask.to(student.maps[0])
    pairs, keys = mask.unsqueeze(-1) * mask.unsqueeze(-2), mask.unsqueeze(-2)
    queries = mask[:, None, :, None]
    all_pairs, all_keys = count(pairs, given), count(keys, given)
    total = student.logits.new_zeros(())
    for ours, theirs in zip(student.maps, teacher.maps, strict=True):
        apart = ours.float() - theirs.float()
        heads = (apart.mean(dim=1) ** 2 * pairs).sum() / all_pairs
        pooled = (apart * queries).sum(dim=2) / queries.sum(dim=2).clamp(min=1)
        total = total + heads + (pooled**2 * keys).sum() / (all_keys * apart.shape[1])
    return total / len(student.maps)
