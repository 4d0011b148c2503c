"""Task by type tables: one for the page, one for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retainer.bench.result import CellResult
from retainer.report.draw import theme
from retainer.report.draw.runs import FALL, Macro, Run, one_decimal

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

MEANS: tuple[tuple[str, Macro], ...] = (("all", "macro"), ("old", "old_macro"), ("new", "new_macro"))
"""The columns after the types: their names and what they are."""

_LOOKS = {"new": ("bold underline", "*"), "fallen": ("bold red", "!"), "kept": ("", "")}
_LEGEND = f"* just learned   ! more than {FALL:.0f} points below its best   \u00b7 not learned yet"


@dataclass(frozen=True)
class Field:
    """One number of the page's table: how it reads, its state (see ``Run.state``) and its step of the heat map."""

    text: str
    state: str
    heat: int | None
    drop: str = ""


@dataclass(frozen=True)
class HeatRow:
    """What was measured after one task."""

    new: tuple[str, ...]
    fields: tuple[Field, ...]
    means: tuple[str, ...]


def heat_rows(run: Run, types: Sequence[str]) -> list[HeatRow]:
    """Lay out a run for the page."""
    return [
        HeatRow(
            new,
            tuple(_field(run, task, type_) for type_ in types),
            tuple(one_decimal(run.macro(task, key)) for _, key in MEANS),
        )
        for task, new in enumerate(run.tasks)
    ]


def _field(run: Run, task: int, type_: str) -> Field:
    f1, state = run.f1(task, type_), run.state(task, type_)
    if f1 is None:
        return Field("" if state == "future" else one_decimal(None), state, None)
    return Field(one_decimal(f1), state, theme.heat(f1), one_decimal(run.drop(task, type_)))


def text_table(result: CellResult) -> Table:
    """Lay out a run for the terminal; marks stand beside the values, so it is readable without colours."""
    from rich.table import Table
    from rich.text import Text

    run = Run(result.method, result.tasks)
    table = Table(title=Text(f"{run.heading}: F1 per type".strip(": ")), caption=Text(_LEGEND))
    table.add_column(Text("after task"))
    for name in run.start:
        table.add_column(Text(name), justify="right")
    for name, _ in MEANS:
        table.add_column(Text(name, style="italic"), justify="right")
    for task, new in enumerate(run.tasks):
        fields = [_cell(run, task, type_) for type_ in run.start]
        means = [Text(_plain(run.macro(task, key)), style="italic") for _, key in MEANS]
        table.add_row(Text(f"{task + 1} {', '.join(new)}"), *fields, *means)
    return table


def _cell(run: Run, task: int, type_: str) -> Text:
    from rich.text import Text

    f1, state = run.f1(task, type_), run.state(task, type_)
    if state == "future":
        return Text("\u00b7", style="dim")
    style, mark = _LOOKS[state]
    return Text(mark + _plain(f1), style=style)


def _plain(value: float | None) -> str:
    """Write a number with characters that every terminal has."""
    return "-" if value is None else one_decimal(value)
