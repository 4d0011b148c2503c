"""What a running bench reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retainer.training.progress import Progress

if TYPE_CHECKING:
    from retainer.bench.cell import Cell
    from retainer.bench.result import CellResult


class BenchProgress(Progress):
    """Takes notes, and every cell that is there. This one is silent; the command line has one that prints."""

    def cell(self, cell: Cell, result: CellResult) -> None:
        """Report a cell, measured now or before."""
