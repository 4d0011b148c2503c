"""The bench's own tables, for its folder and for the terminal: the averages of every setting, and task by task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retainer.errors import printable
from retainer.report.bench.numbers import pair
from retainer.report.bench.ranking import COLUMNS, Ranking, legend
from retainer.report.bench.rows import MethodRow

if TYPE_CHECKING:
    from rich.table import Table

TERMINAL_COLUMNS = tuple(name for name in COLUMNS if name not in ("last", "backward"))
"""The columns that have room on a terminal; the report has all."""
BY_TASK = "macro F1 of the old / the new types after each task"


@dataclass(frozen=True)
class PlainTable:
    """A table as text, before it is laid out for a terminal or a file."""

    title: str
    columns: tuple[str, ...]
    lines: Sequence[Sequence[str]]
    caption: str
    bounds: int = 0
    """How many of the first lines are upper bounds, which stand apart from the others."""


def plain_tables(ranked: Iterable[Ranking]) -> list[PlainTable]:
    """Return two tables per setting: the averages, and task by task."""
    ranked, tables = list(ranked), []
    columns = terminal_columns(ranked)
    for ranking in ranked:
        bounds = sum(row.joint for row in ranking.rows)
        caption = "; ".join((*legend(columns), *ranking.published.caveats))
        lines = [_line(ranking, row, columns) for row in ranking.rows]
        tables.append(PlainTable(ranking.setting, ("method", *columns), lines, caption, bounds))
        names = [" + ".join(task.types) for task in ranking.rows[0].cells[0].tasks]
        lines = [_task_line(row) for row in ranking.rows]
        tables.append(PlainTable(f"{ranking.setting}, task by task", ("method", *names), lines, BY_TASK, bounds))
    return tables


def terminal_columns(ranked: Iterable[Ranking]) -> list[str]:
    """Return the columns of a bench's own tables; the distance to partial_joint only where that was measured."""
    partial = any(row.method == "partial_joint" for ranking in ranked for row in ranking.rows)
    return [name for name in TERMINAL_COLUMNS if partial or name != "to partial"]


def _line(ranking: Ranking, row: MethodRow, columns: Sequence[str]) -> list[str]:
    return [row.name, *ranking.fields(row, columns).values()]


def _task_line(row: MethodRow) -> list[str]:
    """Write macro F1 of old and new types after each task; the first has no old ones."""
    return [row.name, *map(pair, row.by_task("old_macro"), row.by_task("new_macro"))]


def bench_markdown(ranked: Iterable[Ranking]) -> str:
    """Write a bench as Markdown."""
    parts = []
    for plain in plain_tables(ranked):
        table = [plain.columns, ("---",) * len(plain.columns), *plain.lines]
        body = "\n".join(f"| {' | '.join(row)} |" for row in table)
        parts.append(f"## {plain.title}\n\n{body}\n\n*{plain.caption}.*")
    return "\n\n".join(parts) + "\n"


def terminal_tables(ranked: Iterable[Ranking]) -> list[Table]:
    """Lay a bench out for the terminal."""
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    tables = []
    for plain in plain_tables(ranked):
        table = Table(
            title=Text(plain.title),
            box=SIMPLE,
            title_justify="left",
            caption=Text(plain.caption),
            caption_justify="left",
        )
        for column in plain.columns:
            table.add_column(Text(printable(column)), justify="left" if column == "method" else "right", no_wrap=True)
        for number, line in enumerate(plain.lines, 1):
            table.add_row(*(Text(printable(part)) for part in line), end_section=number == plain.bounds)
        tables.append(table)
    return tables
