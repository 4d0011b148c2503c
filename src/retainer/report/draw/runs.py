"""A finished run as the report needs it: F1 of each type after each task."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

from retainer.bench.result import CellResult

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


Macro = Literal["macro", "old_macro", "new_macro"]
"""The means over types."""


class ScoresAfterTask(Protocol):
    """What a chart or a table needs of the scores after a task: those of a cell, or means over several."""

    @property
    def types(self) -> tuple[str, ...]:
        """The new types of the task."""

    @property
    def macro(self) -> float | None:
        """Macro F1 of all types so far."""

    @property
    def old_macro(self) -> float | None:
        """Macro F1 of the old types."""

    @property
    def new_macro(self) -> float | None:
        """Macro F1 of the new types."""

    def f1(self, type_: str) -> float | None:
        """Return F1 of a type; None where it was not measured."""


@dataclass(frozen=True)
class Run:
    """One method through all tasks."""

    method: str
    scores: Sequence[ScoresAfterTask]

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
        return tuple(task.types for task in self.scores)

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
        return self.scores[task].f1(type_)

    def macro(self, task: int, which: Macro) -> float | None:
        """Return a mean over types after a task."""
        value: float | None = getattr(self.scores[task], which)
        return value

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


def runs_of(results: Mapping[str, CellResult]) -> tuple[Run, ...]:
    """Return the runs of some results, in their order."""
    return tuple(Run(method, result.tasks) for method, result in results.items())


def types_of_runs(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return all types of all runs in the order of learning; a type's place decides its colour."""
    return tuple(dict.fromkeys(type_ for run in runs for type_ in run.start))
