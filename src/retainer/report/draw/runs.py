"""The JSON of a finished run as the report needs it: F1 of each type after each task."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

FALL = 20.0
"""Points below its best from which a type counts as fallen."""

_NAMES = {"finetune": "plain fine-tuning", "rdp": "RDP"}
_INVALID = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def valid_text(text: str) -> str:
    """Replace the characters that neither XML nor UTF-8 can hold; names and sentences may contain anything."""
    return _INVALID.sub("\ufffd", text)


def one_decimal(value: float | None) -> str:
    """Write an F1 with one digit; a missing one as a dash."""
    return "–" if value is None else f"{value:.1f}"


@dataclass(frozen=True)
class Run:
    """One method through all tasks."""

    method: str
    cell: Mapping[str, Any]

    @cached_property
    def name(self) -> str:
        """The method's name inside a sentence."""
        return _NAMES.get(self.method, self.method)

    @cached_property
    def heading(self) -> str:
        """The method's name as a heading."""
        return self.name[:1].upper() + self.name[1:] if self.method in _NAMES else self.name

    @cached_property
    def tasks(self) -> tuple[tuple[str, ...], ...]:
        """The new types of every task."""
        return tuple(tuple(task["types"]) for task in self.cell["tasks"])

    @cached_property
    def start(self) -> dict[str, int]:
        """The task that introduced a type, by type, in the order of learning."""
        start: dict[str, int] = {}
        for at, types in enumerate(self.tasks):
            for type_ in types:
                start.setdefault(type_, at)
        return start

    def f1(self, task: int, type_: str) -> float | None:
        """Return F1 of a type after a task, or None where it was not measured."""
        if task < self.start.get(type_, len(self.tasks)):
            return None
        value = self.cell["tasks"][task]["per_type"].get(type_, {}).get("f1")
        return None if value is None else float(value)

    def macro(self, task: int, which: str) -> float | None:
        """Return a mean over types after a task: ``macro``, ``old_macro`` or ``new_macro``."""
        value = self.cell["tasks"][task].get(which)
        return None if value is None else float(value)

    def drop(self, task: int, type_: str) -> float:
        """Return how far a type lies below the best it had so far."""
        now = self.f1(task, type_)
        known = [value for t in range(task + 1) if (value := self.f1(t, type_)) is not None]
        return 0.0 if now is None else max(known) - now

    def state(self, task: int, type_: str) -> str:
        """Return how a table shows a type after a task: ``future``, ``new``, ``fallen`` or ``kept``."""
        start = self.start.get(type_, len(self.tasks))
        if task <= start:
            return "new" if task == start else "future"
        return "fallen" if self.drop(task, type_) > FALL else "kept"

    @cached_property
    def kept(self) -> float | None:
        """F1 on the old types after the last task; None while there is nothing old."""
        return self.macro(len(self.tasks) - 1, "old_macro")

    @cached_property
    def learned(self) -> float | None:
        """Mean F1 of those same types, each right after its own task: what there was to keep."""
        last = len(self.tasks) - 1
        return mean_of_known(self.f1(at, type_) for type_, at in self.start.items() if at < last)

    @cached_property
    def newest(self) -> float | None:
        """F1 on the types of the last task."""
        return self.macro(len(self.tasks) - 1, "new_macro")


def mean_of_known(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that were measured."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def runs_of(cells: Mapping[str, Mapping[str, Any]]) -> tuple[Run, ...]:
    """Read all cells, in their order."""
    return tuple(Run(method, cell) for method, cell in cells.items())


def types_of_runs(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return all types of all runs in the order of learning; a type's place decides its colour."""
    return tuple(dict.fromkeys(type_ for run in runs for type_ in run.start))
