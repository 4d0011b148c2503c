"""Resuming a killed cell: the tasks it has finished are kept, so that the next call goes on with the one it was at."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retainer.bench.cell import Packed
from retainer.bench.progress import StderrWarnings
from retainer.bench.result import TaskScores
from retainer.errors import InputError, disk_refusals
from retainer.files import write_text
from retainer.training.progress import Progress
from retainer.versions.verify import verify_folder
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
    progress: Progress = field(default_factory=StderrWarnings)
    written: float = field(default_factory=time.monotonic)

    @property
    def file(self) -> Path:
        """The file that says how far the cell is; what it names is there."""
        return self.folder / "state.json"

    def load(self, device: str) -> FinishedTasks:
        """Return what an earlier call has finished; a damaged state is set aside, and the cell begins again."""
        if not self.file.exists():
            return FinishedTasks()
        try:
            state = json.loads(self.file.read_text(encoding="utf-8"))
            if state["key"] != self.key:
                return FinishedTasks()
            if state.get("sha256") != _checksum(state["rows"], state["found"]):
                raise InputError("its checksum does not match")
            rows = [TaskScores.of(row) for row in state["rows"]]
            if changed := verify_folder(self._version(len(rows))).sentences:
                raise InputError(changed[0])
            return FinishedTasks(rows, state["found"], load(self._version(len(rows)), device=device))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            self._put_aside(str(error))
            return FinishedTasks()

    def _put_aside(self, reason: str) -> None:
        with contextlib.suppress(OSError):
            os.replace(self.file, self.folder / "damaged.json")
        self.progress.warn(
            f"{self.file}: the state of an unfinished cell is damaged ({reason[:200]}), so it is set aside; the cell "
            "begins again"
        )

    def save(self, done: FinishedTasks) -> None:
        """Write the state after a task, unless the last time is less than the interval ago.

        A disk that refuses it costs the state and not the cell.
        """
        if done.version is None or time.monotonic() - self.written < self.interval:
            return
        try:
            with disk_refusals(self.folder):
                self._write(done, done.version)
        except InputError as error:
            self.progress.warn(f"{error}; the state of the cell is not kept, and measuring goes on")
        self.written = time.monotonic()

    def _write(self, done: FinishedTasks, version: Version) -> None:
        place = self._version(len(done.rows))
        shutil.rmtree(place, ignore_errors=True)
        version.save(place)
        rows = [row.as_dict() for row in done.rows]
        facts = {"key": self.key, "rows": rows, "found": done.found, "sha256": _checksum(rows, done.found)}
        write_text(self.file, json.dumps(facts))
        for other in self.folder.glob("task-*"):
            if other != place and not other.name.endswith(".partial"):
                shutil.rmtree(other, ignore_errors=True)

    def remove(self) -> None:
        """Forget the state: the cell is finished. The folder of all states goes with the last one."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.folder.parent.rmdir()

    def _version(self, task: int) -> Path:
        return self.folder / f"task-{task}"


def _checksum(rows: list[dict[str, Any]], found: list[Packed]) -> str:
    """Return the SHA-256 of what a state says; numbers are the same before and after they were JSON."""
    return hashlib.sha256(json.dumps([rows, found], sort_keys=True).encode()).hexdigest()
