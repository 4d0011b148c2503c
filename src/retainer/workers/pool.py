"""Tasks on several workers: the one interface of processes and Ray, and what happens when a worker dies.

Every worker has one task at a time, and one more is prepared, so what is in flight is bounded by the number of workers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from retainer.errors import InputError

TRIES = 4
"""How many workers a task may lose before it is given up: one that is killed by its task, or four bad accidents."""
STARTS = 3
"""How many workers in a row may die before they are ready."""

Work = Callable[[Any], Any]
"""What a worker does with the payload of a task."""


class Setup(Protocol):
    """What makes a worker; it travels to the worker's process."""

    def start(self, number: int) -> tuple[Work, Sequence[str]]:
        """Return what the worker does with every payload, and remarks for the user."""


@dataclass(frozen=True)
class Ready:
    """A worker has started."""

    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class Done:
    """A task is done."""

    value: Any


@dataclass(frozen=True)
class Died:
    """A worker is gone, and what it was doing is not done."""

    reason: str


Answer = Ready | Done | Died | InputError
"""What is heard of a worker."""


class Workers(Protocol):
    """Workers somewhere: how they are started, given a payload, and heard."""

    count: int
    """How many work at once."""

    def start(self, number: int) -> Hashable:
        """Start a worker and return a handle; it answers when it is ready."""

    def send(self, worker: Any, payload: Any) -> None:
        """Give a worker something to do; it answers once."""

    def wait(self, workers: Sequence[Any]) -> Sequence[tuple[Any, Answer]]:
        """Wait until at least one of them answers. One that died answers once, and is not used again."""

    def close(self) -> None:
        """End all workers."""


@dataclass
class WorkItem:
    """Something to do: its place among all tasks, and what the worker is given."""

    number: int
    payload: Any
    about: Any = None
    """What is known about it here; it does not travel."""
    lost: int = 0
    """How many workers died over it."""


def answers(
    workers: Workers, tasks: Iterable[WorkItem], remark: Callable[[str], None]
) -> Generator[tuple[WorkItem, Any]]:
    """Yield every task with its value as it is done; with a ``Died`` where it was given up.

    The worker of a value has its next task before the value is yielded, so it need not wait for what is done with it.
    """
    crew = _Crew(workers, iter(tasks), remark)
    try:
        while crew.has_work():
            yield from crew.next_values()
    finally:
        workers.close()


class _Crew:
    """The workers that live, and what each of them is doing."""

    def __init__(self, workers: Workers, tasks: Iterator[WorkItem], remark: Callable[[str], None]) -> None:
        self.workers, self.tasks, self.remark = workers, tasks, remark
        self.again = deque[WorkItem]()
        self.doing: dict[Any, WorkItem | None] = {}
        self.idle: list[Any] = []
        self.started = self.failed_starts = 0

    def has_work(self) -> bool:
        """Say whether something is left; the next task is prepared where there is one."""
        self._prepare()
        return bool(self.again) or any(self.doing.values())

    def _prepare(self) -> None:
        if not self.again and (task := next(self.tasks, None)) is not None:
            self.again.append(task)

    def next_values(self) -> list[tuple[WorkItem, Any]]:
        """Hire and assign, wait for answers, and return what was finished or given up."""
        self._hire()
        self._assign()
        self._prepare()
        values = []
        for worker, answer in self.workers.wait(list(self.doing)):
            task = self.doing.pop(worker)
            values += self._heard(worker, task, answer)
        self._assign()
        return values

    def _hire(self) -> None:
        for _ in range(self.workers.count - len(self.doing) - len(self.idle)):
            self.doing[self.workers.start(self.started)] = None
            self.started += 1

    def _assign(self) -> None:
        while self.idle:
            self._prepare()
            if not self.again:
                return
            worker = self.idle.pop()
            self.doing[worker] = self.again.popleft()
            self.workers.send(worker, self.doing[worker].payload)  # type: ignore[union-attr]

    def _heard(self, worker: Any, task: WorkItem | None, answer: Answer) -> list[tuple[WorkItem, Any]]:
        if isinstance(answer, InputError):
            raise answer
        if isinstance(answer, Died):
            return self._lost(task, answer)
        self.idle.append(worker)
        if isinstance(answer, Ready):
            self._welcome(answer)
        return [(task, answer.value)] if task is not None and isinstance(answer, Done) else []

    def _welcome(self, ready: Ready) -> None:
        self.failed_starts = 0
        for text in ready.remarks:
            self.remark(text)
        self.remark = _said_once

    def _lost(self, task: WorkItem | None, died: Died) -> list[tuple[WorkItem, Any]]:
        """Count a death against the task it happened in, or against the start of workers."""
        if task is None:
            self.failed_starts += 1
            if self.failed_starts >= STARTS:
                raise InputError(f"workers die while they start: {died.reason}")
            return []
        task.lost += 1
        if task.lost >= TRIES:
            return [(task, died)]
        self.again.appendleft(task)
        return []


def _said_once(text: str) -> None:
    """Drop a remark: all workers have the same, and the first has made it."""
