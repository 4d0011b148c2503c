"""Is a difference real? Over seeds with a paired t-test, over sentences with a paired bootstrap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from retainer.data.spans import Span

Counts = np.ndarray[Any, np.dtype[np.int64]]
"""Sentences x types x 3: entities found and right, found, and annotated."""
Weights = np.ndarray[Any, np.dtype[np.uint8]]
"""Drawn test sets x sentences: how often each is there."""

SIGNIFICANCE_LEVEL = 0.05
"""A difference counts as real if chance alone gives one like it less often than this."""


def paired_t(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Return the two-sided p of the paired t-test, seed by seed; None for fewer than three pairs, which are too few."""
    if len(ours) != len(theirs):
        raise ValueError("a paired test needs as many scores on one side as on the other")
    if len(ours) < 3:
        return None
    apart = np.subtract(ours, theirs)
    spread = float(apart.std(ddof=1))
    if spread <= 1e-12 * float(np.abs(apart).max()):
        return 1.0 if not apart.any() else 0.0
    return t_tail(abs(float(apart.mean())) / (spread / math.sqrt(len(apart))), len(apart) - 1)


def t_tail(t: float, freedom: int) -> float:
    """Return the probability of a t at least as far from zero, by the finite series for whole degrees of freedom.

    It is a few lines, and a statistics library would be the largest dependency for its smallest use.
    """
    angle = math.atan2(t, math.sqrt(freedom))
    square = math.cos(angle) ** 2
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0 if freedom == 1 else term
    for k in range(2 if odd else 1, freedom - 2, 2):
        term *= square * k / (k + 1)
        total += term
    inside = 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
    return min(1.0, max(0.0, 1.0 - inside))


def count_entities(gold: Sequence[Iterable[Span]], found: Sequence[Iterable[Span]], types: Sequence[str]) -> Counts:
    """Count entities sentence by sentence and type by type: all a score needs, and little to draw from."""
    number = {type_: i for i, type_ in enumerate(types)}
    table = np.zeros((len(gold), len(types), 3), dtype=np.int64)
    for row, (wanted, given) in enumerate(zip(gold, found, strict=True)):
        truth = {span for span in wanted if span.type in number}
        for span in truth:
            table[row, number[span.type], 2] += 1
        for span in given:
            if span.type in number:
                table[row, number[span.type], 1] += 1
                table[row, number[span.type], 0] += span in truth
    return table


def f1_of_counts(table: Counts) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return micro and macro F1 of counts summed over sentences; further axes in front stay."""
    right, size = table[..., 0], table[..., 1] + table[..., 2]
    each = 200 * right / np.maximum(size, 1)
    there = table[..., 2] > 0
    macro = (each * there).sum(-1) / np.maximum(there.sum(-1), 1)
    return 200 * right.sum(-1) / np.maximum(size.sum(-1), 1), macro


@dataclass(frozen=True)
class Bootstrap:
    """How far two systems are apart on one test set, and how sure that is."""

    difference: float
    low: float
    high: float
    """The middle 95 % of the differences on test sets drawn from this one."""
    p: float
    """Two-sided: how often the drawn difference is on the other side of zero, or at it."""


def draw_test_sets(size: int, *, draws: int = 1000, seed: int = 0) -> Weights:
    """Return how often each of ``size`` sentences is in each of the drawn test sets; first, all of them once."""
    random = np.random.default_rng(seed)
    sets = np.ones((draws + 1, size), dtype=np.uint8)
    for draw in range(1, draws + 1):
        sets[draw] = np.bincount(random.integers(size, size=size), minlength=size)
    return sets


def mean_scores(tables: Iterable[Counts], sets: Weights, *, macro: bool = True) -> np.ndarray[Any, Any]:
    """Return the mean score of some counts (one for every task) on each of the drawn test sets.

    A score is linear algebra before it is a ratio: sums of counts are exact in single precision, and fast.
    """
    means = [_scored(table, sets)[1 if macro else 0] for table in tables]
    return np.asarray(np.mean(means, axis=0))


def _scored(table: Counts, sets: Weights) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return f1_of_counts(sum_counts(table, sets))


def sum_counts(table: Counts, sets: Weights) -> Counts:
    """Add the counts of the sentences of each drawn test set: sets x types x 3."""
    flat = table.reshape(len(table), -1).astype(np.float32)
    parts = [part.astype(np.float32) @ flat for part in np.array_split(sets, -(-len(sets) // 128))]
    return np.concatenate(parts).astype(np.int64).reshape(len(sets), *table.shape[1:])


def compare_drawn(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any]) -> Bootstrap:
    """Compare the scores of two systems on the same drawn test sets (see ``draw_test_sets``)."""
    difference, apart = float(ours[0] - theirs[0]), (ours - theirs)[1:]
    beyond = (apart <= 0).mean() if difference > 0 else (apart >= 0).mean()
    low, high = np.quantile(apart, [0.025, 0.975])
    return Bootstrap(difference, float(low), float(high), min(1.0, 2 * float(beyond)))


def bootstrap(
    ours: Sequence[Counts], theirs: Sequence[Counts], *, draws: int = 1000, seed: int = 0, macro: bool = True
) -> Bootstrap:
    """Compare two systems on sentences drawn with replacement, the same for both.

    Both sides are a list of counts over the same sentences, one for every task (and seed); what is compared is the mean
    of their scores.
    """
    sets = draw_test_sets(len(ours[0]), draws=draws, seed=seed)
    return compare_drawn(mean_scores(ours, sets, macro=macro), mean_scores(theirs, sets, macro=macro))


def holm(values: Sequence[float]) -> list[float]:
    """Adjust p for the number of comparisons (Holm): of twenty comparisons one is below 0.05 by chance alone."""
    adjusted, most = [0.0] * len(values), 0.0
    for place, at in enumerate(sorted(range(len(values)), key=lambda i: values[i])):
        most = max(most, min(1.0, values[at] * (len(values) - place)))
        adjusted[at] = most
    return adjusted
