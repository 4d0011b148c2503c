"""The methods of a setting ranked and compared, as numbers and as the words all kinds of output share."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from retainer.errors import InputError, nearest
from retainer.report.compare import FEW, LEVEL, Gain, Judge, Test, chosen_row, gain_of
from retainer.report.folder import Folder
from retainer.report.summary import Row, plain, spread

SCORE_COLUMNS = {
    "seeds": "how many seeds were measured",
    "micro": "micro F1 averaged over tasks, the first included; mean ± standard deviation over seeds",
    "macro": "macro F1 averaged over tasks; mean ± standard deviation over seeds",
    "to joint": "macro minus that of joint, which sees all data and all types",
    "last": "macro F1 of all types after the last task",
    "old": "macro F1 of the old types after the last task",
    "new": "macro F1 of the new types after the last task",
    "forget": "forgetting: mean over types of the best earlier F1 minus the last",
    "backward": "backward transfer: mean over types of the last F1 minus that right after its own task",
    "guesses P / R": "precision and recall of the pseudo labels on the truth the method did not see",
    "dev": "macro F1 on the dev set, averaged over tasks: what numbers are chosen on, never the test set",
    "published": "micro / macro as printed in papers, with another encoder: no target for this one",
}
TEST_COLUMNS = {
    "difference": "macro minus that of the chosen method, over the seeds both have",
    "seeds": "how many seeds both have",
    "p, seeds": "two-sided p of the paired t-test, seed by seed; never with fewer than three",
    "on sentences": "the same, and the middle 95 % of it on test sets drawn from the sentences of this one",
    "p, sentences": "two-sided p of the paired bootstrap over test sentences: mean over tasks and the seeds both have",
}
BOOTSTRAP_LEAST = 0.002
"""The smallest p that a thousand draws can tell from nought."""


@dataclass(frozen=True)
class Standing:
    """One setting: its rows, the chosen one, and how the others compare."""

    setting: str
    rows: Sequence[Row]
    chosen: Row | None
    tests: Mapping[str, Test]
    published: Mapping[str, tuple[float, float]]

    @cached_property
    def gain(self) -> Gain | None:
        """The chosen method over its best rival."""
        return gain_of(self.rows, self.chosen, self.tests)

    @cached_property
    def joints(self) -> dict[str, float]:
        """Macro F1 of joint training, by variant."""
        return {row.variant: row.mean("macro") for row in self.rows if row.joint}

    def to_joint(self, row: Row) -> float | None:
        """Return how far a row is from joint training with the same numbers, else with the defaults."""
        joint = self.joints.get(row.variant, self.joints.get(""))
        return None if joint is None else row.mean("macro") - joint

    def place(self, row: Row, score: str) -> int:
        """Return 1 for the best row and 2 for the second best that is not joint training, as printed; else 0."""
        values = sorted({round(one.mean(score), 2) for one in self.rows if not one.joint}, reverse=True)
        at = round(row.mean(score), 2)
        return 0 if row.joint or at not in values[:2] else 1 + values.index(at)

    @property
    def best(self) -> Row | None:
        """The best row that is not joint training."""
        return max((row for row in self.rows if not row.joint), key=lambda row: row.mean("macro"), default=None)

    def scores(self, row: Row) -> list[str]:
        """Write the columns of the first table."""
        judged, printed = (row.guesses("precision"), row.guesses("recall")), self.published.get(row.method)
        return [
            str(len(row.cells)),
            spread(row.values("micro")),
            spread(row.values("macro")),
            signed(self.to_joint(row)),
            plain(row.last("macro")),
            plain(row.last("old_macro")),
            plain(row.last("new_macro")),
            plain(row.forgetting).replace("-", "−"),
            signed(row.backward),
            "" if judged[0] is None else " / ".join(map(plain, judged)),
            plain(row.dev),
            "" if printed is None else f"{printed[0]:.2f} / {printed[1]:.2f}",
        ]

    def comparison(self, row: Row) -> list[str]:
        """Write the columns of the second table."""
        test = self.tests[row.name]
        drawn = test.sentences
        return [
            signed(test.gain),
            str(len(test.seeds)),
            probability(test.p) + ("*" if test.real else "") if test.p is not None else FEW,
            f"{signed(drawn.difference)} [{signed(drawn.low)}, {signed(drawn.high)}]" if drawn else test.why,
            probability(drawn.p, BOOTSTRAP_LEAST) if drawn else "",
        ]

    @property
    def compared(self) -> list[Row]:
        """The rows that were compared with the chosen one."""
        return [row for row in self.rows if row.name in self.tests]


def signed(value: float | None, digits: int = 2) -> str:
    """Write a difference with its sign, a true minus; nothing for none."""
    return "" if value is None else f"{value:+.{digits}f}".replace("-", "−")


def probability(p: float, least: float = 0.001) -> str:
    """Write p, never as nought."""
    return f"< {least}" if p < least else f"{p:.3f}"


def standings(folder: Folder, judge: Judge, against: str | None) -> list[Standing]:
    """Rank and compare all settings; without a name the chosen method is rdp, else the best that is not joint."""
    names = {row.name for found in folder.settings.values() for row in found}
    methods = {row.method for found in folder.settings.values() for row in found}
    if against is not None and against not in names | methods:
        close = nearest(against, names | methods)
        raise InputError(f"no cell is of {against!r}{close}; there are {', '.join(sorted(names))}")
    name = against or ("rdp" if "rdp" in methods else _best(folder))
    made = []
    for setting, found in folder.settings.items():
        chosen = chosen_row(found, name)
        tests = judge.tests(found, chosen)
        made.append(Standing(setting, found, chosen, tests, folder.published.get(setting, {})))
    if not judge.fits:
        raise InputError("the gold spans are not those the cells were measured on; give --data the right corpus")
    return made


def _best(folder: Folder) -> str:
    """Return the row with the best macro F1 that is not joint training; joint only if there is nothing else."""
    every = [row for found in folder.settings.values() for row in found]
    return max(every, key=lambda row: (not row.joint, row.mean("macro"))).name


def mean_gain(found: Sequence[Standing]) -> tuple[float, float] | None:
    """Return the mean micro and macro gain over the settings that have one."""
    gains = [standing.gain for standing in found if standing.gain is not None]
    if not gains:
        return None
    return statistics.fmean(one.micro for one in gains), statistics.fmean(one.macro for one in gains)


def verdict(test: Test | None) -> str:
    """Say whether a difference is real, in a few words."""
    if test is None or test.p is None:
        seeds = 0 if test is None else len(test.seeds)
        return f"too few seeds in common ({seeds}) to say whether that is real"
    p = f"p {'' if test.p < 0.001 else '= '}{probability(test.p)} over {len(test.seeds)} seeds"
    if test.real:
        return f"real beyond chance, {p}"
    return f"{'uncertain among so many comparisons' if test.p < LEVEL else 'could be chance'}, {p}"
