"""The tables of a bench: a row per method, means over seeds, how far each is from joint training, and task by task."""

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
BY_TASK = "macro F1 of the old / the new types after each task"


@dataclass(frozen=True)
class Row:
    """A method in a setting, over all its seeds."""

    name: str
    """The method, with what is not the default about it."""
    cells: tuple[Cell, ...]

    @property
    def method(self) -> str:
        """The method alone."""
        return str(self.cells[0]["method"])

    @property
    def variant(self) -> str:
        """What is not the default about it."""
        return str(self.cells[0].get("variant", ""))

    def values(self, name: str) -> list[float]:
        """Return an average over tasks, seed by seed."""
        return [cell["average"][name] for cell in self.cells]

    @property
    def by_seed(self) -> dict[int, Cell]:
        """Its cells by seed: what another row is compared with, seed by seed."""
        return {int(cell["seed"]): cell for cell in self.cells}

    @property
    def joint(self) -> bool:
        """Whether it is the upper bound, which sees all data and is no rival."""
        return self.method == "joint"

    def mean(self, name: str) -> float:
        """Return the mean of an average over tasks."""
        return statistics.fmean(self.values(name))

    def last(self, name: str) -> float | None:
        """Return the mean of something measured after the last task."""
        return _mean(cell["tasks"][-1][name] for cell in self.cells)

    def tasks(self) -> list[str]:
        """Write macro F1 of old and new types after each task; the first has no old ones."""
        per_task = list(zip(*(cell["tasks"] for cell in self.cells), strict=True))
        pairs = [[_mean(task[name] for task in tasks) for name in ("old_macro", "new_macro")] for tasks in per_task]
        return [" / ".join(plain(score) for score in pair if score is not None) for pair in pairs]

    @property
    def forgetting(self) -> float | None:
        """The mean drop over types and seeds."""
        return _mean(drop for cell in self.cells for drop in cell["forgetting"].values())

    @property
    def backward(self) -> float | None:
        """The mean backward transfer over types and seeds."""
        return _mean(gain for cell in self.cells for gain in cell.get("backward_transfer", {}).values())

    @property
    def seconds(self) -> float | None:
        """The mean time of a cell."""
        return _mean(cell.get("seconds") for cell in self.cells)

    @property
    def peak(self) -> float | None:
        """The most memory of the device a cell took, in bytes, where that was measured."""
        return max((cell["peak_bytes"] for cell in self.cells if cell.get("peak_bytes")), default=None)

    @property
    def dev(self) -> float | None:
        """The mean macro F1 on the dev set over tasks and seeds."""
        return _mean(task["dev"]["macro"] for cell in self.cells for task in cell["tasks"] if task.get("dev"))

    def guesses(self, name: str) -> float | None:
        """Return the mean precision or recall of the pseudo labels over tasks and seeds."""
        judged = [task["guesses"] for cell in self.cells for task in cell["tasks"] if task.get("guesses")]
        return _mean(one[name] for one in judged)


def row_name(cell: Cell) -> str:
    """Name the row a cell belongs to."""
    variant = cell.get("variant")
    return f"{cell['method']} ({variant})" if variant else str(cell["method"])


def rows(cells: Iterable[Cell]) -> dict[str, list[Row]]:
    """Group cells by setting and by method, the best macro F1 first."""
    grouped: dict[str, dict[str, list[Cell]]] = {}
    for cell in cells:
        grouped.setdefault(cell["setting"], {}).setdefault(row_name(cell), []).append(cell)
    made = {setting: [Row(name, tuple(found)) for name, found in one.items()] for setting, one in grouped.items()}
    return {setting: sorted(found, key=lambda row: -row.mean("macro")) for setting, found in made.items()}


def lines(found: Sequence[Row], published: Mapping[str, tuple[float, float]]) -> list[tuple[str, ...]]:
    """Write the rows of one setting."""
    joints = {row.variant: row.mean("macro") for row in found if row.method == "joint"}
    return [_line(row, joints.get(row.variant, joints.get("")), published.get(row.method)) for row in found]


def _line(row: Row, joint: float | None, published: tuple[float, float] | None) -> tuple[str, ...]:
    judged = (row.guesses("precision"), row.guesses("recall"))
    return (
        row.name,
        str(len(row.cells)),
        spread(row.values("micro")),
        spread(row.values("macro")),
        "" if joint is None else f"{row.mean('macro') - joint:+.2f}",
        plain(row.last("old_macro")),
        plain(row.last("new_macro")),
        plain(row.forgetting),
        "" if judged[0] is None else " / ".join(map(plain, judged)),
        plain(row.dev),
        "" if published is None else f"{published[0]:.2f} / {published[1]:.2f}",
    )


@dataclass(frozen=True)
class Sheet:
    """A table before it is laid out."""

    title: str
    columns: tuple[str, ...]
    lines: Sequence[Sequence[str]]
    caption: str


def sheets(cells: Sequence[Cell], published: Published) -> list[Sheet]:
    """Return two tables per setting: the averages, and task by task."""
    made = []
    for setting, found in rows(cells).items():
        made.append(Sheet(setting, COLUMNS, lines(found, published.get(setting, {})), LEGEND))
        names = [" + ".join(task["types"]) for task in found[0].cells[0]["tasks"]]
        made.append(
            Sheet(f"{setting}, task by task", ("method", *names), [[row.name, *row.tasks()] for row in found], BY_TASK)
        )
    return made


def markdown(cells: Sequence[Cell], published: Published) -> str:
    """Write a bench as Markdown."""
    parts = []
    for sheet in sheets(cells, published):
        table = [sheet.columns, ("---",) * len(sheet.columns), *sheet.lines]
        body = "\n".join(f"| {' | '.join(row)} |" for row in table)
        parts.append(f"## {sheet.title}\n\n{body}\n\n*{sheet.caption}.*")
    return "\n\n".join(parts) + "\n"


def tables(cells: Sequence[Cell], published: Published) -> list[Table]:
    """Lay a bench out for the terminal."""
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    made = []
    for sheet in sheets(cells, published):
        table = Table(
            title=sheet.title, box=SIMPLE, title_justify="left", caption=sheet.caption, caption_justify="left"
        )
        for column in sheet.columns:
            table.add_column(column, justify="left" if column == "method" else "right", no_wrap=True)
        for line in sheet.lines:
            table.add_row(*map(Text, line))
        made.append(table)
    return made


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def spread(values: Sequence[float]) -> str:
    """Write mean ± standard deviation; one value has no deviation."""
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.2f}{deviation}"


def plain(value: float | None) -> str:
    """Write a number with two digits; a missing one as nothing."""
    return "" if value is None else f"{value:.2f}"
