"""Means over seeds in the shape of a run, so that the demo's charts and heat maps can draw a bench."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from retainer.report.bench.rows import MethodRow
from retainer.report.draw.runs import Run, mean_of_known


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
    means = {name: row.by_task(name) for name in ("macro", "old_macro", "new_macro")}
    tasks = []
    for at, together in enumerate(zip(*(cell["tasks"] for cell in row.cells), strict=True)):
        types = dict.fromkeys(type_ for task in together for type_ in task["per_type"])
        f1 = {t: {"f1": mean_of_known(task["per_type"].get(t, {}).get("f1") for task in together)} for t in types}
        tasks.append({"types": together[0]["types"], "per_type": f1, **{name: means[name][at] for name in means}})
    return MeanRun(row.name, {"tasks": tasks})


def method_lines(setting: str, rows: Sequence[MethodRow]) -> MethodLines:
    """Put the methods of a setting into one picture."""
    runs = {row.name: mean_run(row) for row in rows}
    first = next(iter(runs.values()))
    values = {name: [run.macro(task, "macro") for task in range(len(run.tasks))] for name, run in runs.items()}
    return MethodLines(setting, first.cell, values)


def axis_start(every: Sequence[MethodLines]) -> int:
    """Return where the axis of all pictures begins: a round number below all points, zero if that gains little."""
    points = [value for one in every for line in one.values.values() for value in line if value is not None]
    low = int(min(points, default=0) // 10 * 10)
    return low if 20 <= low <= 90 else 0
