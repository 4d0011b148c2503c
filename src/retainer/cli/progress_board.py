"""What a running bench shows: on a terminal a table that fills up, elsewhere a line per cell."""

from __future__ import annotations

import contextlib
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from retainer.cli.output import tell

if TYPE_CHECKING:
    from rich.table import Table

    from retainer.bench.cell import Cell

Tell = Callable[[str], None]
Show = Callable[["Cell", dict[str, Any]], None]


class Board:
    """Who is how far: a row per method, a column per setting, in it the cells that are there and their mean F1."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.settings = list(dict.fromkeys(one.setting.name for one in cells))
        self.wanted: dict[tuple[str, str], int] = {}
        for one in cells:
            self.wanted[one.name, one.setting.name] = self.wanted.get((one.name, one.setting.name), 0) + 1
        self.macro: dict[tuple[str, str], list[float]] = {place: [] for place in self.wanted}
        self.last = ""

    def show(self, one: Cell, document: dict[str, Any]) -> None:
        """Take a cell in."""
        self.macro[one.name, one.setting.name].append(document["average"]["macro"])

    def lines(self) -> list[tuple[str, ...]]:
        """Write the rows."""
        methods = dict.fromkeys(method for method, _ in self.wanted)
        return [(method, *(self._place(method, setting) for setting in self.settings)) for method in methods]

    def _place(self, method: str, setting: str) -> str:
        if not (wanted := self.wanted.get((method, setting))):
            return ""
        found = self.macro[method, setting]
        return f"{len(found)}/{wanted}" + (f"  {statistics.fmean(found):5.2f}" if found else "       ")

    def table(self) -> Table:
        """Lay it out for the terminal."""
        from rich.box import SIMPLE
        from rich.table import Table
        from rich.text import Text

        table = Table("method", *self.settings, box=SIMPLE, caption=Text(self.last), caption_justify="left")
        for line in self.lines():
            table.add_row(*map(Text, line))
        return table


@contextlib.contextmanager
def board(cells: Sequence[Cell]) -> Iterator[tuple[Tell, Show]]:
    """Give two ways to report: a sentence, and a cell that is there."""
    made = Board(cells)
    if not sys.stderr.isatty():
        yield tell, made.show
        return
    from rich.console import Console
    from rich.live import Live

    with Live(made.table(), console=Console(stderr=True), auto_refresh=False) as live:

        def say_so(text: str) -> None:
            """Put the latest sentence below the table."""
            made.last = text
            live.update(made.table(), refresh=True)

        def show(one: Cell, document: dict[str, Any]) -> None:
            """Fill a place of the table."""
            made.show(one, document)
            live.update(made.table(), refresh=True)

        yield say_so, show
