"""The bench's own tables, for its folder and for the terminal: the averages of every setting, and task by task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retainer.report.bench.numbers import pair
from retainer.report.bench.ranking import COLUMNS, Ranking, legend
from retainer.report.bench.rows import Row

if TYPE_CHECKING:
    from rich.table import Table

SHOWN = tuple(name for name in COLUMNS if name not in ("last", "backward"))
"""The columns that have room on a terminal; the report has all."""
LEGEND = "; ".join(legend(SHOWN))
BY_TASK = "macro F1 of the old / the new types after each task"


@dataclass(frozen=True)
class Sheet:
    """A table before it is laid out."""

    title: str
    columns: tuple[str, ...]
    lines: Sequence[Sequence[str]]
    caption: str


def sheets(ranked: Iterable[Ranking]) -> list[Sheet]:
    """Return two tables per setting: the averages, and task by task."""
    made = []
    for ranking in ranked:
        caption = "; ".join((LEGEND, *ranking.published.caveats))
        made.append(Sheet(ranking.setting, ("method", *SHOWN), [_line(ranking, row) for row in ranking.rows], caption))
        names = [" + ".join(task["types"]) for task in ranking.rows[0].cells[0]["tasks"]]
        lines = [_task_line(row) for row in ranking.rows]
        made.append(Sheet(f"{ranking.setting}, task by task", ("method", *names), lines, BY_TASK))
    return made


def _line(ranking: Ranking, row: Row) -> list[str]:
    """Write a row; the minus is the keyboard's, which every terminal has and every search finds."""
    return [row.name, *(field.replace("−", "-") for field in ranking.fields(row, SHOWN).values())]


def _task_line(row: Row) -> list[str]:
    """Write macro F1 of old and new types after each task; the first has no old ones."""
    return [row.name, *map(pair, row.by_task("old_macro"), row.by_task("new_macro"))]


def markdown(ranked: Iterable[Ranking]) -> str:
    """Write a bench as Markdown."""
    parts = []
    for sheet in sheets(ranked):
        table = [sheet.columns, ("---",) * len(sheet.columns), *sheet.lines]
        body = "\n".join(f"| {' | '.join(row)} |" for row in table)
        parts.append(f"## {sheet.title}\n\n{body}\n\n*{sheet.caption}.*")
    return "\n\n".join(parts) + "\n"


def tables(ranked: Iterable[Ranking]) -> list[Table]:
    """Lay a bench out for the terminal."""
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    made = []
    for sheet in sheets(ranked):
        table = Table(
            title=sheet.title, box=SIMPLE, title_justify="left", caption=sheet.caption, caption_justify="left"
        )
        for column in sheet.columns:
            table.add_column(column, justify="left" if column == "method" else "right", no_wrap=True)
        for line in sheet.lines:
            table.add_row(*map(Text, line))
        made.append(table)
    return made
