"""How two versions do on annotated sentences: every type's scores before and after, and whether the change is real."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from retainer.metrics.f1 import Score
from retainer.metrics.significance import (
    SIGNIFICANCE_LEVEL,
    Bootstrap,
    Counts,
    compare_drawn,
    draw_test_sets,
    holm,
    mean_scores,
    sum_counts,
)

MEASURES = ("precision", "recall", "f1")


@dataclass(frozen=True)
class TypeComparison:
    """The scores of both versions on one type. A type only the new version knows has no scores of the old one."""

    old: Score | None
    new: Score
    differences: dict[str, Bootstrap] | None = None
    """New minus old, by measure, over the same drawn test sets; None for a gained type."""
    adjusted_p: float | None = None
    """p of F1 after Holm's correction for the number of types."""

    @property
    def drop(self) -> float:
        """How many points of F1 were lost; negative where it got better."""
        return self.old.f1 - self.new.f1 if self.old else 0.0

    @property
    def real(self) -> bool:
        """Whether the difference in F1 is more than chance gives."""
        return self.adjusted_p is not None and self.adjusted_p < SIGNIFICANCE_LEVEL

    def as_dict(self) -> dict[str, Any]:
        """Return everything for a result file."""
        document: dict[str, Any] = {"support": self.new.support}
        for name, score in (("old", self.old), ("new", self.new)):
            document[name] = score and {measure: getattr(score, measure) for measure in MEASURES}
        apart = self.differences
        document["difference"] = apart and {measure: interval(one) for measure, one in apart.items()}
        return {**document, "p": apart and apart["f1"].p, "p_adjusted": self.adjusted_p, "real": self.real}


def interval(one: Bootstrap) -> dict[str, float]:
    """Return a difference and its middle 95 % for a result file."""
    return {"value": one.difference, "low": one.low, "high": one.high}


@dataclass(frozen=True)
class ScoredComparison:
    """The scores of the annotated types, kept and gained ones separately, and the means of each."""

    kept: dict[str, TypeComparison]
    gained: dict[str, TypeComparison]
    forgotten: Bootstrap | None
    """Macro F1 over the kept types, old minus new; None where none is annotated."""

    @property
    def before(self) -> float | None:
        """Macro F1 of the old version on the types it knows: what there was to keep."""
        return _mean([one.old.f1 for one in self.kept.values() if one.old])

    @property
    def keep(self) -> float | None:
        """Macro F1 of the new version on those types."""
        return _mean([one.new.f1 for one in self.kept.values()])

    @property
    def gain(self) -> float | None:
        """Macro F1 of the new version on the types only it knows."""
        return _mean([one.new.f1 for one in self.gained.values()])

    @property
    def forget(self) -> float | None:
        """The drop: macro F1 before, less macro F1 now."""
        return None if self.forgotten is None else self.forgotten.difference

    def as_dict(self) -> dict[str, Any]:
        """Return everything for a result file."""
        return {
            "before": self.before,
            "keep": self.keep,
            "gain": self.gain,
            "forget": self.forgotten and interval(self.forgotten),
            "kept": {type_: one.as_dict() for type_, one in self.kept.items()},
            "gained": {type_: one.as_dict() for type_, one in self.gained.items()},
        }


def score_versions(
    old: Counts, new: Counts, kept: Sequence[str], gained: Sequence[str], *, draws: int = 1000
) -> ScoredComparison:
    """Compare the counts of two versions over the same sentences; their types are the kept ones, then the gained."""
    sets = draw_test_sets(len(old), draws=draws)
    before, after = sum_counts(old, sets), sum_counts(new, sets)
    differences = [
        {name: compare_drawn(_measure(after[:, at], name), _measure(before[:, at], name)) for name in MEASURES}
        for at in range(len(kept))
    ]
    adjusted = holm([one["f1"].p for one in differences])
    old_scores, new_scores = ([Score(*map(int, row)) for row in table.sum(0)] for table in (old, new))
    size = len(kept)
    return ScoredComparison(
        {t: TypeComparison(old_scores[at], new_scores[at], differences[at], adjusted[at]) for at, t in enumerate(kept)},
        {t: TypeComparison(None, score) for t, score in zip(gained, new_scores[size:], strict=True)},
        compare_drawn(mean_scores([old[:, :size]], sets), mean_scores([new[:, :size]], sets)) if size else None,
    )


def _measure(table: Counts, name: str) -> np.ndarray[Any, Any]:
    """Return precision, recall or F1 of counts, set by set."""
    right, found, wanted = table[..., 0], table[..., 1], table[..., 2]
    sizes = {"precision": found, "recall": wanted, "f1": (found + wanted) / 2}
    return np.asarray(100 * right / np.where(sizes[name] > 0, sizes[name], 1))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
