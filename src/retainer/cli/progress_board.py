"""What a running bench shows: on a terminal a table that fills up, elsewhere a line per cell."""

from __future__ import annotations

import contextlib
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from retainer.bench.progress import BenchProgress
from retainer.cli.output import note
from retainer.errors import printable

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from retainer.bench.cell import Cell
    from retainer.bench.result import CellResult


class Board:
    """How far a bench is: a row per method, a column per setting, in it the cells that are there and their mean F1."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.settings = list(dict.fromkeys(cell.setting.name for cell in cells))
        self.wanted = Counter((cell.name, cell.setting.name) for cell in cells)
        self.macro: dict[tuple[str, str], list[float]] = {place: [] for place in self.wanted}
        self.last = ""

    def add(self, cell: Cell, result: CellResult) -> None:
        """Take a cell in."""
        self.macro[cell.name, cell.setting.name].append(result.average["macro"])

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


class BoardProgress(BenchProgress):
    """Reports a bench as lines on stderr."""

    def __init__(self, board: Board) -> None:
        self.board = board

    def note(self, text: str) -> None:
        """Print a line."""
        note(text)

    def cell(self, cell: Cell, result: CellResult) -> None:
        """Take a cell in."""
        self.board.add(cell, result)


class LiveBoard(BoardProgress):
    """Reports a bench as a table on the terminal that fills up; the latest note stands below it."""

    def __init__(self, board: Board, live: Live) -> None:
        super().__init__(board)
        self.live = live

    def note(self, text: str) -> None:
        """Put the latest note below the table."""
        self.board.last = printable(text)
        self.live.update(self.board.table(), refresh=True)

    def cell(self, cell: Cell, result: CellResult) -> None:
        """Fill a place of the table."""
        super().cell(cell, result)
        self.live.update(self.board.table(), refresh=True)


@contextlib.contextmanager
def board(cells: Sequence[Cell]) -> Iterator[BenchProgress]:
    """Give the progress of a bench: a table where a person looks on, plain lines elsewhere."""
    table = Board(cells)
    if not sys.stderr.isatty():
        yield BoardProgress(table)
        return
    from rich.console import Console
    from rich.live import Live

    with Live(table.table(), console=Console(stderr=True), auto_refresh=False) as live:
        yield LiveBoard(table, live)
