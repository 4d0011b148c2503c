"""The bench's own tables, for its folder and for the terminal: the averages of every setting, and task by task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retainer.report.bench.numbers import pair
from retainer.report.bench.ranking import COLUMNS, Ranking, legend
from retainer.report.bench.rows import MethodRow

if TYPE_CHECKING:
    from rich.table import Table

TERMINAL_COLUMNS = tuple(name for name in COLUMNS if name not in ("last", "backward"))
"""The columns that have room on a terminal; the report has all."""
LEGEND = "; ".join(legend(TERMINAL_COLUMNS))
BY_TASK = "macro F1 of the old / the new types after each task"


@dataclass(frozen=True)
class PlainTable:
    """A table as text, before it is laid out for a terminal or a file."""

    title: str
    columns: tuple[str, ...]
    lines: Sequence[Sequence[str]]
    caption: str


def plain_tables(ranked: Iterable[Ranking]) -> list[PlainTable]:
    """Return two tables per setting: the averages, and task by task."""
    tables = []
    for ranking in ranked:
        caption = "; ".join((LEGEND, *ranking.published.caveats))
        tables.append(
            PlainTable(
                ranking.setting, ("method", *TERMINAL_COLUMNS), [_line(ranking, row) for row in ranking.rows], caption
            )
        )
        names = [" + ".join(task.types) for task in ranking.rows[0].cells[0].tasks]
        lines = [_task_line(row) for row in ranking.rows]
        tables.append(PlainTable(f"{ranking.setting}, task by task", ("method", *names), lines, BY_TASK))
    return tables


def _line(ranking: Ranking, row: MethodRow) -> list[str]:
    """Write a row; the minus is the keyboard's, which every terminal has and every search finds."""
    return [row.name, *(field.replace("−", "-") for field in ranking.fields(row, TERMINAL_COLUMNS).values())]


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
            title=plain.title, box=SIMPLE, title_justify="left", caption=plain.caption, caption_justify="left"
        )
        for column in plain.columns:
            table.add_column(column, justify="left" if column == "method" else "right", no_wrap=True)
        for line in plain.lines:
            table.add_row(*map(Text, line))
        tables.append(table)
    return tables
