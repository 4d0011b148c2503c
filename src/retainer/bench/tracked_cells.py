"""The cells of a bench as runs of a tracker: one run per cell, when it has been measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retainer.bench.cell import Cell
from retainer.bench.progress import BenchProgress
from retainer.bench.result import CellResult, TaskScores
from retainer.training.track.table import require_tracker, safe_tracker
from retainer.training.track.tracker import flat_params, tracked_name


class TrackedCells(BenchProgress):
    """Passes everything on, and writes cells that are measured now into a tracker; a failure ends only that."""

    def __init__(self, name: str, heard_by: BenchProgress, out: Path) -> None:
        self._name, self._heard_by, self._out, self._failed = name, heard_by, out, False

    def note(self, text: str) -> None:
        """Pass it on."""
        self._heard_by.note(text)

    def warn(self, text: str) -> None:
        """Pass it on."""
        self._heard_by.warn(text)

    def cell(self, cell: Cell, result: CellResult) -> None:
        """Pass it on."""
        self._heard_by.cell(cell, result)

    def measured(self, cell: Cell, result: CellResult) -> None:
        """Write a cell as a run: a step is a task."""
        self._heard_by.measured(cell, result)
        if self._failed:
            return
        tracker = safe_tracker(self._name, self.warn)
        tracker.begin(cell.title, cell_params(result))
        for number, task in enumerate(result.tasks, 1):
            tracker.numbers(task_numbers(task), number)
        averages = {f"average/{name}": float(result.average[name]) for name in ("micro", "macro")}
        tracker.numbers({**averages, "time/seconds": result.seconds}, len(result.tasks))
        tracker.artifact(cell.file(self._out))
        tracker.end(good=True)
        self._failed = tracker.failed


def cell_params(result: CellResult) -> dict[str, Any]:
    """Return what determines a cell."""
    names = ("preset", "setting", "method", "seed", "encoder", "variant", "pool", "key")
    return {
        **{name: getattr(result, name) for name in names},
        **flat_params("method", result.fields),
        **flat_params("recipe", result.recipe),
    }


def task_numbers(task: TaskScores) -> dict[str, float]:
    """Return the scores after a task, over all types and per type."""
    names = ("micro", "macro", "old_macro", "new_macro")
    whole = {name: getattr(task, name) for name in names}
    types = {f"f1/{tracked_name(type_)}": row["f1"] for type_, row in task.per_type.items()}
    return {name: float(value) for name, value in {**whole, **types}.items() if value is not None}


def tracked_cells(name: str | None, progress: BenchProgress, out: Path) -> BenchProgress:
    """Return a progress that also writes into a tracker, if one is named."""
    if name is None:
        return progress
    require_tracker(name)
    return TrackedCells(name, progress, out)
