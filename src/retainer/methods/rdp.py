"""RDP (CIKM 2023): task relation distillation and prototypical pseudo labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from retainer.methods.base import Clock, Method, Tokens
from retainer.methods.terms import cross_entropy, entropy, share, soft_cross_entropy

if TYPE_CHECKING:
    from torch import Tensor

    from retainer.model.tagger_output import TaggerOutput

Cover = Literal["unannotated", "annotated", "all"]
Pseudo = Literal["prototype", "argmax", "none"]


@dataclass(frozen=True)
class RDP(Method):
    """L = L_ce + relation_weight L_cd + entropy_weight L_se + distil_weight L_kd.

    L_ce: cross-entropy with the pseudo label where a word is O, with the gold label elsewhere.
    L_cd: -sum y log p, y = the teacher's probabilities on the old labels, the gold one-hot on the new ones.
    L_se: the entropy of p.   L_kd: -sum q log p over the old labels, q = the teacher's probabilities.

    With the letter of the paper (``rdp_paper``) L_cd and L_kd cover all words. On an annotated word the target then
    has mass 1 on old labels besides the gold label, so its optimum is probability one half; by default L_kd covers O
    words only. L_cd weighs less, and is worth more on all words than it costs.
    """

    needs_teacher: ClassVar[bool] = True
    several_devices: ClassVar[bool] = True

    relation_weight: float = 0.3
    """Weight of L_cd (the paper's lambda 1)."""
    entropy_weight: float = 0.1
    """Weight of L_se (the paper's lambda 2)."""
    distil_weight: float = 1.0
    """Weight of L_kd."""
    relation_words: Cover = "all"
    """The words L_cd covers."""
    entropy_words: Cover = "all"
    """The words L_se covers."""
    distil_words: Cover = "unannotated"
    """The words L_kd covers."""
    pseudo: Pseudo = "prototype"
    """How O words get their pseudo label: prototypes, the teacher's first choice, or not at all."""
    temperature: float = 1.0
    """The paper's tau: how fast the weight of a label falls with the distance from its prototype."""

    def begin(self, slice_: Tokens, teacher: TaggerOutput) -> Tensor:
        """Label the whole slice once; nothing about it changes during the task."""
        guess = pseudo_labels(teacher, slice_.unannotated, self.pseudo, self.temperature, slice_.outside)
        return slice_.labels.where(~slice_.unannotated, guess)

    def pseudo_labels(self, memory: Any) -> Tensor | None:
        """Return the labels of the slice; with no pseudo labels there is nothing to judge."""
        return None if self.pseudo == "none" else memory

    def targets(self, tokens: Tokens, teacher: TaggerOutput, memory: Any, clock: Clock) -> Tokens:
        """Look the pseudo labels of a batch up."""
        labels = memory[tokens.rows.clamp(min=0)]
        return replace(tokens, labels=tokens.labels.where(~tokens.unannotated, labels))

    def losses(self, student: TaggerOutput, teacher: TaggerOutput, given: Tokens, targets: Tokens) -> dict[str, Tensor]:
        """Return the four terms, weighted."""
        q, log_p = teacher.logits.softmax(dim=-1), student.log_p
        covers = dict.fromkeys(("all", self.relation_words, self.entropy_words, self.distil_words))
        words = {cover: share(_words(given, cover), given) for cover in covers}
        ce = cross_entropy(log_p, targets.labels, words["all"])
        se = entropy(log_p, words[self.entropy_words])
        kd = soft_cross_entropy(log_p, q, words[self.distil_words])
        if self.relation_words == self.distil_words == "unannotated":
            cd = kd  # no new label is gold there, so what L_cd adds to the teacher's probabilities is zero
        else:
            soft = relation_target(q, given.labels, log_p.shape[-1])
            cd = soft_cross_entropy(log_p, soft, words[self.relation_words])
        return {
            "ce": ce,
            "cd": self.relation_weight * cd,
            "se": self.entropy_weight * se,
            "kd": self.distil_weight * kd,
        }


def _words(tokens: Tokens, cover: Cover) -> Tensor:
    return {"unannotated": tokens.unannotated, "annotated": tokens.annotated, "all": tokens.labelled}[cover]


def relation_target(q: Tensor, labels: Tensor, size: int) -> Tensor:
    """Return the soft label of L_cd: the teacher's probabilities, then a one-hot over the new labels."""
    hot = q.new_zeros(*labels.shape, size).scatter(-1, labels.clamp(min=0).unsqueeze(-1), 1.0)
    hot[..., : q.shape[-1]] = q
    return hot


def pseudo_labels(teacher: TaggerOutput, mask: Tensor, kind: Pseudo, temperature: float, outside: int) -> Tensor:
    """Return a label for every word, from the teacher alone; only the masked words make the prototypes."""
    q = teacher.logits.softmax(dim=-1)
    coarse = q.argmax(dim=-1)
    if kind == "none":
        return coarse.new_full(coarse.shape, outside)
    if kind == "argmax":
        return coarse
    centres, seen = prototypes(teacher.hidden, coarse, mask, q.shape[-1])
    return (prototype_weights(teacher.hidden, centres, seen, temperature) * q).argmax(dim=-1)


def prototypes(hidden: Tensor, coarse: Tensor, mask: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Return the mean vector of the masked words the teacher gives each label, and which labels it gave at all."""
    weight = mask.to(hidden.dtype)
    sums = hidden.new_zeros(size, hidden.shape[-1]).index_add_(0, coarse, hidden * weight.unsqueeze(-1))
    counts = hidden.new_zeros(size).index_add_(0, coarse, weight)
    return sums / counts.clamp(min=1).unsqueeze(-1), counts > 0


def prototype_weights(hidden: Tensor, centres: Tensor, seen: Tensor, temperature: float) -> Tensor:
    """Return softmax over labels of -distance / temperature; a label never given has no prototype and no weight."""
    squares = (hidden**2).sum(-1, keepdim=True) - 2 * hidden @ centres.T + (centres**2).sum(-1)
    distance = squares.clamp(min=0).sqrt()
    return (-distance / temperature).masked_fill(~seen, float("-inf")).softmax(dim=-1)
