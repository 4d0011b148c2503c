"""The methods of a setting compared with a chosen one, in the numbers and words that all kinds of output share."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from retainer.errors import InputError, nearest
from retainer.metrics.significance import SIGNIFICANCE_LEVEL
from retainer.report.bench.folder import BenchFolder
from retainer.report.bench.method_tests import FEW_SEEDS, Gain, MethodTest, MethodTester, chosen_row, gain_of
from retainer.report.bench.numbers import probability, signed
from retainer.report.bench.ranking import COLUMNS, Ranking
from retainer.report.bench.rows import MethodRow

TEST_COLUMNS = {
    "difference": "macro minus that of the chosen method, over the seeds both have",
    "seeds": "how many seeds both have",
    "p, seeds": "two-sided p of the paired t-test, seed by seed; never with fewer than three",
    "on sentences": "the same, and the middle 95 % of it on test sets drawn from the sentences of this one",
    "p, sentences": "two-sided p of the paired bootstrap over test sentences: mean over tasks and the seeds both have",
}
_LEAST_BOOTSTRAP_P = 0.002
"""The smallest p that a thousand draws can distinguish from zero."""


@dataclass(frozen=True)
class MethodComparison(Ranking):
    """A ranking with a chosen row, and how the others compare with it."""

    chosen: MethodRow | None
    tests: Mapping[str, MethodTest]

    @cached_property
    def gain(self) -> Gain | None:
        """The chosen method over its best rival."""
        return gain_of(self.rows, self.chosen, self.tests)

    def test_fields(self, row: MethodRow, columns: Iterable[str] = TEST_COLUMNS) -> list[str]:
        """Write how a row compares with the chosen one: some columns of the second table."""
        test = self.tests[row.name]
        drawn = test.sentences
        texts = (
            signed(test.gain),
            str(len(test.seeds)),
            probability(test.p) + ("*" if test.real else "") if test.p is not None else FEW_SEEDS,
            f"{signed(drawn.difference)} [{signed(drawn.low)}, {signed(drawn.high)}]" if drawn else "",
            probability(drawn.p, _LEAST_BOOTSTRAP_P) if drawn else "",
        )
        texts_by_column = dict(zip(TEST_COLUMNS, texts, strict=True))
        return [texts_by_column[name] for name in columns]

    @property
    def compared(self) -> list[MethodRow]:
        """The rows that were compared with the chosen one."""
        return [row for row in self.rows if row.name in self.tests]


def filled_columns(comparisons: Sequence[MethodComparison]) -> tuple[list[str], list[str]]:
    """Return the columns of both tables that are not empty: no published scores and no spans are reported once."""
    scores = [comparison.fields(row, COLUMNS) for comparison in comparisons for row in comparison.rows]
    tests = [comparison.test_fields(row) for comparison in comparisons for row in comparison.compared]
    tested = [name for at, name in enumerate(TEST_COLUMNS) if any(fields[at] for fields in tests)]
    return [name for name in COLUMNS if any(fields[name] for fields in scores)], tested


def compare_methods(folder: BenchFolder, tester: MethodTester, against: str | None) -> list[MethodComparison]:
    """Rank and compare all settings; without a name the chosen method is rdp, else the best that is not a bound."""
    every = _every(folder)
    names, methods = {row.name for row in every}, {row.method for row in every}
    if against is not None and against not in names | methods:
        close = nearest(against, names | methods)
        raise InputError(f"no cell is for {against!r}{close}; there are {', '.join(sorted(names))}")
    name = against or ("rdp" if "rdp" in methods else _best(every))
    comparisons = []
    for one in folder.rankings:
        chosen = chosen_row(one.rows, name)
        comparisons.append(
            MethodComparison(one.setting, one.rows, one.published, chosen, tester.tests(one.rows, chosen))
        )
    if not tester.fits:
        raise InputError("the gold spans are not those the cells were measured on; give --data the right corpus")
    return comparisons


def _every(folder: BenchFolder) -> list[MethodRow]:
    return [row for ranking in folder.rankings for row in ranking.rows]


def _best(every: Sequence[MethodRow]) -> str:
    """Return the row with the best macro F1 that is not an upper bound; one of those only if there is nothing else."""
    return max(every, key=lambda row: (not row.joint, row.mean("macro"))).name


def mean_gain(comparisons: Sequence[MethodComparison]) -> tuple[float, float] | None:
    """Return the mean micro and macro gain over the settings that have one."""
    gains = [comparison.gain for comparison in comparisons if comparison.gain is not None]
    if not gains:
        return None
    return statistics.fmean(one.micro for one in gains), statistics.fmean(one.macro for one in gains)


def untested(comparisons: Sequence[MethodComparison]) -> list[str]:
    """Report why rows have no test over sentences: every reason once, with the rows it holds for."""
    reasons: dict[str, list[str]] = {}
    for comparison in comparisons:
        for row in comparison.compared:
            if why := comparison.tests[row.name].why:
                reasons.setdefault(why, []).append(f"{row.name} in {comparison.setting}")
    every = sum(len(comparison.tests) for comparison in comparisons)
    return [
        f"Nothing is tested over sentences: {why}."
        if len(names) == every
        else f"Not tested over sentences: {', '.join(names)} ({why})."
        for why, names in reasons.items()
    ]


def verdict(test: MethodTest | None) -> str:
    """Write in a few words whether a difference is real."""
    if test is None or test.p is None:
        seeds = 0 if test is None else len(test.seeds)
        return f"too few seeds in common ({seeds}) to say whether that is real"
    p = f"p {'' if test.p < 0.001 else '= '}{probability(test.p)} over {len(test.seeds)} seeds"
    if test.real:
        return f"real beyond chance, {p}"
    return f"{'uncertain among so many comparisons' if test.p < SIGNIFICANCE_LEVEL else 'could be chance'}, {p}"
