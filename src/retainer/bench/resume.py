"""Resuming a killed cell: the tasks it has finished are kept, so that the next call goes on with the one it was at."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from retainer.bench.cell import Packed
from retainer.bench.result import TaskScores
from retainer.errors import InputError
from retainer.files import write_text
from retainer.versions.version import Version, load


@dataclass
class FinishedTasks:
    """The finished tasks of a cell: their scores, what was found in the test set, and the version after the last."""

    rows: list[TaskScores] = field(default_factory=list)
    found: list[Packed] = field(default_factory=list)
    version: Version | None = None

    def add(self, scores: TaskScores, found: Packed, version: Version) -> None:
        """Take one more task in."""
        self.rows.append(scores)
        self.found.append(found)
        self.version = version


@dataclass
class CellState:
    """A folder for the state of a cell, used only by a cell with the same key; written once a minute at most."""

    folder: Path
    key: str
    interval: float = 60.0
    written: float = field(default_factory=time.monotonic)

    @property
    def file(self) -> Path:
        """The file that says how far the cell is; what it names is there."""
        return self.folder / "state.json"

    def load(self, device: str) -> FinishedTasks:
        """Return what an earlier call has finished; nothing if there was none, or if its state is damaged."""
        try:
            state = json.loads(self.file.read_text(encoding="utf-8"))
            if state["key"] != self.key:
                return FinishedTasks()
            rows = [TaskScores.of(row) for row in state["rows"]]
            return FinishedTasks(rows, state["found"], load(self._version(len(rows)), device=device))
        except (OSError, ValueError, KeyError, TypeError, InputError):
            return FinishedTasks()

    def save(self, done: FinishedTasks) -> None:
        """Write the state after a task, unless the last time is less than the interval ago."""
        if done.version is None or time.monotonic() - self.written < self.interval:
            return
        place = self._version(len(done.rows))
        shutil.rmtree(place, ignore_errors=True)
        done.version.save(place)
        rows = [row.as_dict() for row in done.rows]
        write_text(self.file, json.dumps({"key": self.key, "rows": rows, "found": done.found}))
        for other in self.folder.glob("task-*"):
            if other != place and not other.name.endswith(".partial"):
                shutil.rmtree(other, ignore_errors=True)
        self.written = time.monotonic()

    def remove(self) -> None:
        """Forget the state: the cell is finished."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _version(self, task: int) -> Path:
        return self.folder / f"task-{task}"
