"""Is a method better than the chosen one? Over seeds, and over the sentences of the test set."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from retainer.bench.cell import found_spans
from retainer.data.spans import Span
from retainer.methods import METHODS
from retainer.metrics.significance import (
    SIGNIFICANCE_LEVEL,
    Bootstrap,
    Weights,
    compare_drawn,
    count_entities,
    draw_test_sets,
    f1_of_counts,
    holm,
    mean_scores,
    paired_t,
)
from retainer.report.bench.folder import BenchFolder
from retainer.report.bench.rows import Average, MethodRow

_DrawnScores = np.ndarray[Any, Any]
_Gold = Sequence[Iterable[Span]]

FEW_SEEDS = "needs 3 seeds"
NO_GOLD = "there are no gold spans; call bench once more, or give --data"
NO_SPANS = "no spans kept"
OTHER_CORPUS = "its spans do not fit the gold ones"


@dataclass(frozen=True)
class MethodTest:
    """One row against the chosen one; positive is better than it."""

    seeds: tuple[int, ...]
    """The seeds both have."""
    gain: float | None
    """The difference in macro F1 over those seeds."""
    p: float | None
    """Of the paired t-test over seeds."""
    sentences: Bootstrap | None
    why: str = ""
    """Why there is no bootstrap."""
    adjusted: float | None = None
    """p after Holm's correction for the number of rows."""

    @property
    def real(self) -> bool:
        """Whether the difference stays below the level after the correction."""
        return self.adjusted is not None and self.adjusted < SIGNIFICANCE_LEVEL


@dataclass
class MethodTester:
    """Compares rows; what a cell scores on drawn test sets is computed once."""

    folder: BenchFolder
    gold: _Gold | None
    note: Callable[[str], None] = lambda _: None
    draws: int = 1000
    _sets: dict[int, Weights] = field(default_factory=dict)
    _known: dict[tuple[str, str, int, int], _DrawnScores | str] = field(default_factory=dict)

    def tests(self, rows: Sequence[MethodRow], chosen: MethodRow | None) -> dict[str, MethodTest]:
        """Compare every other row of a setting with the chosen one, by name.

        An upper bound is not a rival: it is compared with another upper bound alone, and otherwise does not count among
        the comparisons that p is corrected for.
        """
        if chosen is None:
            return {}
        rivals = [row for row in rows if row is not chosen and (chosen.joint or not row.joint)]
        self.note(f"comparing {len(rivals)} rows of {chosen.cells[0].setting} with {chosen.name}")
        tests = {row.name: self.test(row, chosen) for row in rivals}
        p_values = {name: test.p for name, test in tests.items() if test.p is not None}
        adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
        return {name: replace(test, adjusted=adjusted.get(name)) for name, test in tests.items()}

    def test(self, row: MethodRow, chosen: MethodRow) -> MethodTest:
        """Compare one row with the chosen one."""
        ours, theirs = row.by_seed, chosen.by_seed
        seeds = tuple(sorted(set(ours) & set(theirs)))
        if not seeds:
            return MethodTest((), None, None, None, "no seed in common")
        pairs = [(ours[seed].average["macro"], theirs[seed].average["macro"]) for seed in seeds]
        gain = statistics.fmean(a - b for a, b in pairs)
        drawn = self._bootstrap(row, chosen, seeds)
        p = paired_t([a for a, _ in pairs], [b for _, b in pairs])
        why = drawn if isinstance(drawn, str) else ""
        return MethodTest(seeds, gain, p, None if isinstance(drawn, str) else drawn, why)

    def _bootstrap(self, row: MethodRow, chosen: MethodRow, seeds: Sequence[int]) -> Bootstrap | str:
        """Compare on drawn test sets, or return why that cannot be."""
        if self.gold is None:
            return NO_GOLD
        size = min(_tested(one, len(self.gold)) for one in (row, chosen))
        sides = []
        for one in (row, chosen):
            each = [self._scores(one, seed, size) for seed in seeds]
            if reason := next((score for score in each if isinstance(score, str)), None):
                return reason if one is row else f"{chosen.name}: {reason}"
            sides.append(np.mean([score for score in each if not isinstance(score, str)], axis=0))
        return compare_drawn(*sides)

    def _scores(self, row: MethodRow, seed: int, size: int) -> _DrawnScores | str:
        """Return what a cell scores on the drawn test sets, averaged over tasks."""
        key = (row.cells[0].setting, row.name, seed, size)
        if key not in self._known:
            self._known[key] = self._computed(row, seed, size)
        return self._known[key]

    def _computed(self, row: MethodRow, seed: int, size: int) -> _DrawnScores | str:
        assert self.gold is not None
        cell, found = row.by_seed[seed], found_spans(self.folder.file(row, seed))
        if found is None:
            return NO_SPANS
        if len(found) != len(cell.tasks) or max((max(task, default=0) for task in found), default=0) >= len(self.gold):
            return OTHER_CORPUS
        known: list[str] = []
        tables = []
        for task, spans in zip(cell.tasks, found, strict=True):
            known += task.types
            table = count_entities(self.gold, [spans.get(at, ()) for at in range(len(self.gold))], known)
            if (
                abs(float(f1_of_counts(table[: _tested(row, len(table))].sum(0))[0]) - task.micro) > 0.1
            ):  # released code counts a little differently
                return OTHER_CORPUS
            tables.append(table[:size])
        if size not in self._sets:
            self._sets[size] = draw_test_sets(size, draws=self.draws)
        return mean_scores(tables, self._sets[size])

    @property
    def fits(self) -> bool:
        """Whether any spans fit the gold ones; none does if they come from another corpus."""
        tried = [score for score in self._known.values() if isinstance(score, str)]
        return not (tried and len(tried) == len(self._known) and all(score == OTHER_CORPUS for score in tried))


def _tested(row: MethodRow, size: int) -> int:
    """Return how many sentences a row was tested on: released code may lose the last."""
    known = METHODS.get(row.method)
    return size - 1 if known is not None and known.quirks.lost_last else size


def chosen_row(rows: Sequence[MethodRow], name: str) -> MethodRow | None:
    """Return the row others are compared with: by its whole name, else the method's defaults, else its most seeds."""
    fitting = [row for row in rows if row.name == name] or [row for row in rows if row.method == name]
    return max(fitting, key=lambda row: (row.variant == "", len(row.cells)), default=None)


def method_family(method: str) -> str:
    """Return what a method and its ablations have in common: rdp, rdp_paper and rdp-no-cd are not rivals."""
    return method.replace("-", "_").split("_")[0]


@dataclass(frozen=True)
class Gain:
    """The row papers call Imp.: how far the chosen method is above the best rival of a setting, on seeds both have."""

    rival: MethodRow
    micro: float
    macro: float
    test: MethodTest | None
    """The rival against the chosen one, so its sign is the other way round."""


def gain_of(rows: Sequence[MethodRow], chosen: MethodRow | None, tests: Mapping[str, MethodTest]) -> Gain | None:
    """Compare with the best rival trained with the same values; None where there is none."""
    if chosen is None:
        return None
    rivals = [row for row in rows if not row.joint and method_family(row.method) != method_family(chosen.method)]
    fair = [row for row in rivals if row.variant == chosen.variant]
    if not fair:
        return None
    best = max(fair, key=lambda row: row.mean("macro"))
    seeds = chosen.by_seed.keys() & best.by_seed.keys()  # as the test beside it, which is seed by seed
    micro, macro = (_over(chosen, name, seeds) - _over(best, name, seeds) for name in ("micro", "macro"))
    return Gain(best, micro, macro, tests.get(best.name))


def _over(row: MethodRow, name: Average, seeds: Set[int]) -> float:
    """Return the mean of a row over some seeds, or over all its own where there are none."""
    cells = [cell for seed, cell in row.by_seed.items() if seed in seeds or not seeds]
    return statistics.fmean(cell.average[name] for cell in cells)
