"""Building blocks of losses. Each is a mean over some words, given by their ``share``; with no word at all it is 0.

On a GPU a small batch costs by the number of operations, not by their size, so a mean is one product and one sum.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from retainer.methods.base import Tokens
    from retainer.model.tagger_output import TaggerOutput


def share(mask: Tensor, batch: Tokens | None = None) -> Tensor:
    """Return the weight of every position in a mean over the masked ones, without asking the device how many.

    The mean is over the whole of a ``batch``, also where other processes hold parts of it.
    """
    return mask / count(mask, batch)


def count(mask: Tensor, batch: Tokens | None = None) -> Tensor:
    """Return how many positions are masked, in the whole of a batch if one is given; at least 1, to divide by."""
    own = mask.sum()
    return (own if batch is None else batch.total(own)).clamp(min=1)


def cross_entropy(log_p: Tensor, labels: Tensor, share: Tensor) -> Tensor:
    """Return the mean of -log p(label)."""
    chosen = log_p.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return (chosen * -share).sum()


def soft_cross_entropy(log_p: Tensor, target: Tensor, share: Tensor) -> Tensor:
    """Return the mean of -sum_c target_c log p_c, where target covers the first labels or all of them."""
    return (log_p[..., : target.shape[-1]] * (target * -share.unsqueeze(-1))).sum()


def distillation(
    student: Tensor, teacher: Tensor, share: Tensor, student_temperature: float, temperature: float
) -> Tensor:
    """Return the mean of sum_{c old} q_c (log q_c - log p_c); p is over ALL labels and then cut to the old ones.

    Not renormalising p makes the term push down new types too, where the teacher saw an old one or O.
    """
    log_q = (teacher / temperature).log_softmax(dim=-1)
    log_p = (student / student_temperature).log_softmax(dim=-1)[..., : teacher.shape[-1]]
    return ((log_q - log_p) * (log_q.exp() * share.unsqueeze(-1))).sum()


def entropy(log_p: Tensor, share: Tensor) -> Tensor:
    """Return the mean of -sum_c p_c log p_c."""
    return ((log_p.exp() * log_p).sum(dim=-1) * -share).sum()


def unit(vectors: Tensor) -> Tensor:
    """Return vectors of length one, in full precision; a zero vector stays zero."""
    exact = vectors.float() if vectors.dtype.itemsize < 4 else vectors
    lengths: Tensor = exact.norm(dim=-1, keepdim=True)
    return exact / lengths.clamp(min=1e-8)


def turned(ours: Tensor, theirs: Tensor) -> Tensor:
    """Return 1 - cosine of every pair of vectors: how far a direction has turned."""
    return 1 - (unit(ours) * unit(theirs)).sum(dim=-1)


def growth(student: TaggerOutput, teacher: TaggerOutput, outside: bool = True) -> float:
    """Return sqrt(old / new labels), with O among the old or not: the more there is to lose, the more it weighs.

    Where old types are only taught again there is no new label; that counts as one.
    """
    old, new = teacher.logits.shape[-1], student.logits.shape[-1] - teacher.logits.shape[-1]
    return sqrt((old - (not outside)) / max(new, 1))
