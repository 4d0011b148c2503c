"""What a run reports, written into the project: whoever looks on, now or later, reads it there."""

from __future__ import annotations

import time

from retainer.errors import printable, shortened
from retainer.training.progress import Epoch, Progress
from retainer.workbench.jobs import ProjectJobs

STEP_SECONDS = 3.0
"""How often steps are reported: every report is a write to the disk."""
_LONGEST_NOTE = 2000


class ReportedProgress(Progress):
    """Reports to a job of a project."""

    def __init__(self, jobs: ProjectJobs, job: int) -> None:
        self._jobs, self._job = jobs, job
        self._steps = self._done = self._begun_at = 0
        self._began = self._reported = time.monotonic()

    def start(self, title: str, steps: int) -> None:
        """Say what begins, and how many steps it takes at most."""
        self._steps, self._done, self._began = steps, 0, time.monotonic()
        self._report("note", message=shortened(printable(title), _LONGEST_NOTE), steps=steps)

    def step(self) -> None:
        """Say now and then how far it is."""
        self._done += 1
        if time.monotonic() - self._reported >= STEP_SECONDS:
            self._report("step", step=self._done, steps=self._steps, seconds_left=self._seconds_left())

    def epoch(self, epoch: Epoch) -> None:
        """Say what an epoch came to."""
        left = (epoch.epochs - epoch.number) * epoch.seconds
        self._done = round(self._steps * epoch.number / epoch.epochs)  # a resumed run did not make all steps itself
        self._report(
            "epoch",
            epoch=epoch.number,
            epochs=epoch.epochs,
            losses={name: round(value, 6) for name, value in epoch.losses.items()},
            f1=epoch.dev,
            best=epoch.best,
            seconds=round(epoch.seconds, 3),
            seconds_left=round(left, 1),
        )
        self._begun_at, self._began = self._done, time.monotonic()

    def note(self, text: str) -> None:
        """Pass on something worth knowing."""
        self._report("note", message=shortened(printable(text), _LONGEST_NOTE))

    def warn(self, text: str) -> None:
        """Pass on what went wrong."""
        self._report("warn", message=shortened(printable(text), _LONGEST_NOTE))

    def _seconds_left(self) -> float | None:
        made = self._done - self._begun_at
        if made <= 0:
            return None
        return round((time.monotonic() - self._began) / made * max(0, self._steps - self._done), 1)

    def _report(self, kind: str, **facts: object) -> None:
        self._reported = time.monotonic()
        self._jobs.report(self._job, {"kind": kind, **facts})
