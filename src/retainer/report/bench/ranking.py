"""The methods of a setting ranked: the values and columns behind every table of a bench, however it is laid out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from retainer.bench.preset import Preset
from retainer.bench.result import CellResult
from retainer.report.bench.numbers import mean_and_deviation, pair, signed, two_decimals
from retainer.report.bench.published import Published, published
from retainer.report.bench.rows import Average, MethodRow, rows_by_setting

UPPER_BOUNDS = {
    "joint": "sees all data at once, with all types annotated",
    "partial_joint": "sees all data at once, but each slice annotated as its own task is",
}
"""What the methods see that are not contenders, for legends."""


@dataclass(frozen=True)
class Ranking:
    """One setting: its rows, the best macro F1 first below the upper bounds, and what papers print."""

    setting: str
    rows: Sequence[MethodRow]
    published: Published

    def to_bound(self, row: MethodRow, method: str) -> float | None:
        """Return how far a row is from an upper bound that has the same encoder and the same sentences.

        Of several, that with the row's own hyper-parameters counts, else that with the defaults.
        """
        bounds = [one for one in self.rows if one.joint and one.method == method and one.material == row.material]
        own = next((one for one in bounds if one.variant == row.variant), None)
        bound = own or next((one for one in bounds if one.default), None)
        return None if bound is None else row.mean("macro") - bound.mean("macro")

    def place(self, row: MethodRow, score: Average) -> int:
        """Return 1 for the best row and 2 for the second best that is not an upper bound, as printed; else 0."""
        values = sorted({round(one.mean(score), 2) for one in self.rows if not one.joint}, reverse=True)
        at = round(row.mean(score), 2)
        return 0 if row.joint or at not in values[:2] else 1 + values.index(at)

    @property
    def best(self) -> MethodRow | None:
        """The best row that is not an upper bound."""
        return max((row for row in self.rows if not row.joint), key=lambda row: row.mean("macro"), default=None)

    def fields(self, row: MethodRow, columns: Iterable[str]) -> dict[str, str]:
        """Write some columns of a row, by name."""
        return {name: COLUMNS[name].write(self, row) for name in columns}


@dataclass(frozen=True)
class Column:
    """What a column means, for its legend, and how it is written."""

    meaning: str
    write: Callable[[Ranking, MethodRow], str]


COLUMNS = {
    "seeds": Column("how many seeds were measured", lambda _, row: str(len(row.cells))),
    "micro": Column(
        "micro F1 averaged over tasks, the first included, mean ± standard deviation over seeds",
        lambda _, row: mean_and_deviation(row.values("micro")),
    ),
    "macro": Column("macro F1, likewise", lambda _, row: mean_and_deviation(row.values("macro"))),
    "to joint": Column(
        "macro minus that of joint, which sees all data and all types",
        lambda ranking, row: signed(ranking.to_bound(row, "joint")),
    ),
    "to partial": Column(
        "macro minus that of partial_joint, which sees all data, but in each slice only the types of its own task",
        lambda ranking, row: signed(ranking.to_bound(row, "partial_joint")),
    ),
    "last": Column("macro F1 of all types after the last task", lambda _, row: two_decimals(row.last("macro"))),
    "old": Column("macro F1 of the old types after the last task", lambda _, row: two_decimals(row.last("old_macro"))),
    "new": Column("macro F1 of the new types after the last task", lambda _, row: two_decimals(row.last("new_macro"))),
    "forget": Column(
        "mean over types of the best earlier F1 minus the last one", lambda _, row: two_decimals(row.forgetting)
    ),
    "backward": Column(
        "backward transfer, mean over types of the last F1 minus that right after its own task",
        lambda _, row: signed(row.backward),
    ),
    "guesses P / R": Column(
        "precision and recall of the pseudo labels on the annotation the method did not see",
        lambda _, row: pair(row.pseudo_labels("precision"), row.pseudo_labels("recall")),
    ),
    "dev": Column(
        "macro F1 on the dev set averaged over tasks, which hyper-parameters are chosen by",
        lambda _, row: two_decimals(row.dev),
    ),
    "published": Column(
        "micro / macro as papers print them, with their own encoder and recipe, so not a target",
        lambda ranking, row: ranking.published.text(row.method),
    ),
}
"""Every column there is, by name, in the order of the tables."""


def legend(columns: Iterable[str]) -> list[str]:
    """Explain the columns; the number of seeds needs no explanation."""
    return [f"{name}: {COLUMNS[name].meaning}" for name in columns if name != "seeds"]


def rankings(cells: Iterable[CellResult], preset: Preset | None) -> list[Ranking]:
    """Rank the methods of all settings; a preset brings what papers print."""
    return [
        Ranking(setting, found, published(preset, setting, found)) for setting, found in rows_by_setting(cells).items()
    ]
