"""Building blocks of losses. Each returns the mean over the masked positions, and 0 where the mask is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Average over the masked positions, without asking the device how many there are."""
    return values.masked_fill(~mask, 0.0).sum() / mask.sum().clamp(min=1)


def cross_entropy(logits: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of -log p(label)."""
    chosen = logits.log_softmax(dim=-1).gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return masked_mean(-chosen, mask)


def soft_cross_entropy(logits: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of -sum_c target_c log p_c, where target covers the first labels or all of them."""
    log_p = logits.log_softmax(dim=-1)[..., : target.shape[-1]]
    return masked_mean(-(target * log_p).sum(dim=-1), mask)


def distillation(
    student: Tensor, teacher: Tensor, mask: Tensor, student_temperature: float, temperature: float
) -> Tensor:
    """Return the mean of sum_{c old} q_c (log q_c - log p_c); p is over ALL labels and then cut to the old ones.

    Not renormalising p makes the term push down new types too, where the teacher saw an old one or O.
    """
    log_q = (teacher / temperature).log_softmax(dim=-1)
    log_p = (student / student_temperature).log_softmax(dim=-1)[..., : teacher.shape[-1]]
    return masked_mean((log_q.exp() * (log_q - log_p)).sum(dim=-1), mask)


def entropy(logits: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of -sum_c p_c log p_c."""
    log_p = logits.log_softmax(dim=-1)
    return masked_mean(-(log_p.exp() * log_p).sum(dim=-1), mask)
