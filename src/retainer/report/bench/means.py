"""Means over seeds in the shape of a run, so that the demo's charts and heat maps can draw a bench."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from retainer.bench.result import TaskScores
from retainer.report.bench.rows import MethodRow
from retainer.report.draw.runs import Run, mean_of_known


@dataclass(frozen=True)
class MeanScores:
    """The scores after a task, averaged over seeds."""

    tasks: Sequence[TaskScores]

    @property
    def types(self) -> tuple[str, ...]:
        """The new types of the task, which are the same for every seed."""
        return self.tasks[0].types

    @property
    def macro(self) -> float | None:
        """Macro F1 of all types so far."""
        return mean_of_known(task.macro for task in self.tasks)

    @property
    def old_macro(self) -> float | None:
        """Macro F1 of the old types."""
        return mean_of_known(task.old_macro for task in self.tasks)

    @property
    def new_macro(self) -> float | None:
        """Macro F1 of the new types."""
        return mean_of_known(task.new_macro for task in self.tasks)

    def f1(self, type_: str) -> float | None:
        """Return the mean F1 of a type; None where it was not measured."""
        return mean_of_known(task.f1(type_) for task in self.tasks)


@dataclass(frozen=True)
class MeanRun(Run):
    """A method through all tasks, averaged over its seeds; it has the name of its row."""

    @cached_property
    def name(self) -> str:
        """The row's name."""
        return self.method

    @cached_property
    def heading(self) -> str:
        """The row's name, as it is."""
        return self.method


@dataclass(frozen=True)
class MethodLines(MeanRun):
    """A setting as a run whose lines are methods: macro F1 of all types so far after each task."""

    values: Mapping[str, Sequence[float | None]] = field(default_factory=dict)

    @cached_property
    def start(self) -> dict[str, int]:
        """All lines begin at the first task."""
        return dict.fromkeys(self.values, 0)

    def f1(self, task: int, type_: str) -> float | None:
        """Return a point of a line."""
        return self.values[type_][task] if type_ in self.values else None


def mean_run(row: MethodRow) -> MeanRun:
    """Average a row's cells task by task and type by type."""
    return MeanRun(row.name, [MeanScores(tasks) for tasks in zip(*(cell.tasks for cell in row.cells), strict=True)])


def method_lines(setting: str, rows: Sequence[MethodRow]) -> MethodLines:
    """Put the methods of a setting into one picture."""
    runs = {row.name: mean_run(row) for row in rows}
    first = next(iter(runs.values()))
    values = {name: [run.macro(task, "macro") for task in range(len(run.tasks))] for name, run in runs.items()}
    return MethodLines(setting, first.scores, values)


def axis_start(every: Sequence[MethodLines]) -> int:
    """Return where the axis of all pictures begins: a round number below all points, zero if that gains little."""
    points = [value for one in every for line in one.values.values() for value in line if value is not None]
    low = int(min(points, default=0) // 10 * 10)
    return low if 20 <= low <= 90 else 0
