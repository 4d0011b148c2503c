"""The table of a bench: a row per method, means over seeds, and how far each is from joint training."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

Cell = Mapping[str, Any]
Published = Mapping[str, Mapping[str, tuple[float, float]]]

COLUMNS = ("method", "seeds", "micro", "macro", "to joint", "old", "new", "forget", "guesses P / R", "dev", "published")

LEGEND = (
    "micro, macro: F1 averaged over tasks, mean ± standard deviation over seeds; to joint: macro minus that of joint; "
    "old, new: macro F1 of the old and the new types after the last task; forget: mean drop of a type from its best; "
    "guesses: precision and recall of the pseudo labels on the truth the method did not see; "
    "dev: macro on the dev set, which numbers are chosen on; published: other encoder"
)


@dataclass(frozen=True)
class Row:
    """A method in a setting, over all its seeds."""

    method: str
    cells: tuple[Cell, ...]

    def values(self, name: str) -> list[float]:
        """Return an average over tasks, seed by seed."""
        return [cell["average"][name] for cell in self.cells]

    def mean(self, name: str) -> float:
        """Return the mean of an average over tasks."""
        return statistics.fmean(self.values(name))

    def last(self, name: str) -> float | None:
        """Return the mean of something measured after the last task."""
        return _mean(cell["tasks"][-1][name] for cell in self.cells)

    @property
    def forgetting(self) -> float | None:
        """The mean drop over types and seeds."""
        return _mean(drop for cell in self.cells for drop in cell["forgetting"].values())

    @property
    def dev(self) -> float | None:
        """The mean macro F1 on the dev set over tasks and seeds."""
        return _mean(task["dev"]["macro"] for cell in self.cells for task in cell["tasks"] if task.get("dev"))

    def guesses(self, name: str) -> float | None:
        """Return the mean precision or recall of the pseudo labels over tasks and seeds."""
        judged = [task["guesses"] for cell in self.cells for task in cell["tasks"] if task.get("guesses")]
        return _mean(one[name] for one in judged)


def rows(cells: Iterable[Cell]) -> dict[str, list[Row]]:
    """Group cells by setting and by method, in the order in which they come."""
    grouped: dict[str, dict[str, list[Cell]]] = {}
    for cell in cells:
        grouped.setdefault(cell["setting"], {}).setdefault(cell["method"], []).append(cell)
    return {setting: [Row(m, tuple(found)) for m, found in methods.items()] for setting, methods in grouped.items()}


def lines(found: Sequence[Row], published: Mapping[str, tuple[float, float]]) -> list[tuple[str, ...]]:
    """Write the rows of one setting, the best macro F1 first."""
    joint = next((row.mean("macro") for row in found if row.method == "joint"), None)
    ordered = sorted(found, key=lambda row: -row.mean("macro"))
    return [_line(row, joint, published.get(row.method)) for row in ordered]


def _line(row: Row, joint: float | None, published: tuple[float, float] | None) -> tuple[str, ...]:
    judged = (row.guesses("precision"), row.guesses("recall"))
    return (
        row.method,
        str(len(row.cells)),
        _spread(row.values("micro")),
        _spread(row.values("macro")),
        "" if joint is None else f"{row.mean('macro') - joint:+.2f}",
        _plain(row.last("old_macro")),
        _plain(row.last("new_macro")),
        _plain(row.forgetting),
        "" if judged[0] is None else " / ".join(map(_plain, judged)),
        _plain(row.dev),
        "" if published is None else f"{published[0]:.2f} / {published[1]:.2f}",
    )


def markdown(cells: Sequence[Cell], published: Published) -> str:
    """Write a bench as Markdown, a table per setting."""
    parts = []
    for setting, found in rows(cells).items():
        table = [COLUMNS, ("---",) * len(COLUMNS), *lines(found, published.get(setting, {}))]
        parts.append(f"## {setting}\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in table))
    return "\n\n".join([*parts, f"*{LEGEND}.*"]) + "\n"


def tables(cells: Sequence[Cell], published: Published) -> list[Table]:
    """Lay a bench out for the terminal, a table per setting."""
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    made = []
    for setting, found in rows(cells).items():
        table = Table(title=setting, box=SIMPLE, title_justify="left", caption=LEGEND, caption_justify="left")
        for column in COLUMNS:
            table.add_column(column, justify="left" if column == "method" else "right", no_wrap=True)
        for line in lines(found, published.get(setting, {})):
            table.add_row(*map(Text, line))
        made.append(table)
    return made


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _spread(values: Sequence[float]) -> str:
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.2f}{spread}"


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
