"""What a running bench reports."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from retainer.training.progress import Progress

if TYPE_CHECKING:
    from retainer.bench.cell import Cell
    from retainer.bench.result import CellResult


class BenchProgress(Progress):
    """Takes notes, and every cell that is there. This one is silent; the command line has one that prints."""

    def cell(self, cell: Cell, result: CellResult) -> None:
        """Report a cell, measured now or before."""

    def measured(self, cell: Cell, result: CellResult) -> None:
        """Report that a cell was measured now; ``cell`` has heard of it before."""


class StderrWarnings(Progress):
    """Reports nothing of a cell but what went wrong while its state was kept, in whatever process it is measured."""

    def note(self, text: str) -> None:
        """Stay silent: a line per cell is enough."""

    def warn(self, text: str) -> None:
        """Print a line."""
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
