"""The jobs of a project, such as teaching: a queue of which one runs at a time, and what each one reports.

Only rows: whoever runs a job takes it from the queue, appends what happens and says how it ended. A job that was
running when its process died is still the running one, and can be put back into the queue, where it is the first.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from retainer.errors import InputError
from retainer.workbench.clock import now
from retainer.workbench.database import Database

JobState = Literal["queued", "running", "done", "failed", "cancelled"]
JobEnd = Literal["done", "failed", "cancelled"]

MOST_EVENTS = 1000
"""Events that are read at once."""


@dataclass(frozen=True)
class Job:
    """Something to do that takes its time."""

    id: int
    kind: str
    request: Mapping[str, Any]
    """What is asked for, as JSON holds it."""
    state: JobState
    who: str
    created: str
    started: str | None
    ended: str | None
    process: int | None
    """The process that runs it, or ran it last."""
    cancelling: bool
    """Whether the process that runs it is asked to stop."""
    message: str
    """Why it failed."""


@dataclass(frozen=True)
class JobEvent:
    """Something that a job reported."""

    number: int
    """From 1, without gaps: a reader goes on behind the last one it has."""
    when: str
    event: Mapping[str, Any]


class ProjectJobs:
    """The jobs of a project, in the order in which they were asked for."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, kind: str, request: Mapping[str, Any], who: str) -> Job:
        """Put a job into the queue."""
        with self._database.writing() as connection:
            number = connection.execute(
                "INSERT INTO jobs (kind, request, state, who, created) VALUES (?, ?, 'queued', ?, ?)",
                (kind, json.dumps(request), who, now()),
            ).lastrowid
            return self.get(int(number or 0))

    def get(self, job: int) -> Job:
        """Return a job by its number."""
        with self._database.reading() as connection:
            row = connection.execute("SELECT * FROM jobs WHERE id = ?", (job,)).fetchone()
        if row is None:
            raise InputError(f"there is no job {job} in this project")
        return _job(row)

    def all(self) -> tuple[Job, ...]:
        """Return all jobs."""
        with self._database.reading() as connection:
            return tuple(_job(row) for row in connection.execute("SELECT * FROM jobs ORDER BY id"))

    def running(self) -> Job | None:
        """Return the job that runs, or that ran when its process died."""
        return self._first("running")

    def start_next(self, process: int) -> Job | None:
        """Let a process run the next job of the queue; None if there is none, or if one runs already."""
        with self._database.writing() as connection:
            job = self._first("queued")
            if job is None or self.running() is not None:
                return None
            connection.execute(
                "UPDATE jobs SET state = 'running', process = ?, started = coalesce(started, ?) WHERE id = ?",
                (process, now(), job.id),
            )
            return self.get(job.id)

    def requeue(self, job: int) -> Job:
        """Put a job whose process died back into the queue: it is older than what waits there, so it comes first.

        One that was asked to stop has done so.
        """
        if self.get(job).cancelling:
            return self.finish(job, "cancelled")
        return self._change(job, "running", "state = 'queued', process = NULL")

    def finish(self, job: int, state: JobEnd, message: str = "") -> Job:
        """Say how the running job ended."""
        return self._change(job, "running", "state = ?, message = ?, ended = ?", state, message, now())

    def cancel(self, job: int) -> Job:
        """Take a job out of the queue; one that runs is only asked to stop, since its process must say that it did."""
        with self._database.writing():
            if self.get(job).state == "running":
                return self._change(job, "running", "cancelling = 1")
            return self._change(job, "queued", "state = 'cancelled', ended = ?", now())

    def report(self, job: int, event: Mapping[str, Any]) -> JobEvent:
        """Append an event to a job."""
        with self._database.writing() as connection:
            self.get(job)
            query = "SELECT coalesce(max(number), 0) + 1 FROM job_events WHERE job = ?"
            [number] = connection.execute(query, (job,)).fetchone()
            appended = JobEvent(number, now(), dict(event))
            connection.execute(
                "INSERT INTO job_events (job, number, at, event) VALUES (?, ?, ?, ?)",
                (job, number, appended.when, json.dumps(appended.event)),
            )
            return appended

    def events(self, job: int, after: int = 0, limit: int = MOST_EVENTS) -> tuple[JobEvent, ...]:
        """Return the events of a job behind one, in their order."""
        if not 1 <= limit <= MOST_EVENTS:
            raise InputError(f"1 to {MOST_EVENTS} events are read at once, not {limit}")
        with self._database.reading() as connection:
            query = "SELECT * FROM job_events WHERE job = ? AND number > ? ORDER BY number LIMIT ?"
            rows = connection.execute(query, (self.get(job).id, after, limit))
            return tuple(JobEvent(row["number"], row["at"], json.loads(row["event"])) for row in rows)

    def latest(self, job: int, kind: str = "") -> JobEvent | None:
        """Return the last event of a job, or the last one of a kind: where it stands, without all that came before."""
        with self._database.reading() as connection:
            query = (
                "SELECT * FROM job_events WHERE job = ? AND (? = '' OR json_extract(event, '$.kind') = ?) "
                "ORDER BY number DESC LIMIT 1"
            )
            row = connection.execute(query, (job, kind, kind)).fetchone()
        return None if row is None else JobEvent(row["number"], row["at"], json.loads(row["event"]))

    def waiting(self) -> int:
        """Count the jobs in the queue."""
        with self._database.reading() as connection:
            return int(connection.execute("SELECT count(*) FROM jobs WHERE state = 'queued'").fetchone()[0])

    def _first(self, state: JobState) -> Job | None:
        with self._database.reading() as connection:
            query = "SELECT * FROM jobs WHERE state = ? ORDER BY id LIMIT 1"
            row = connection.execute(query, (state,)).fetchone()
        return None if row is None else _job(row)

    def _change(self, job: int, state: JobState, change: str, *values: str) -> Job:
        """Change a job that is in a state."""
        with self._database.writing() as connection:
            found = self.get(job).state
            if found != state:
                raise InputError(f"job {job} is {found}, not {state}")
            connection.execute(f"UPDATE jobs SET {change} WHERE id = ?", (*values, job))
            return self.get(job)


def _job(row: sqlite3.Row) -> Job:
    known = dict(row)
    return Job(**{**known, "request": json.loads(known["request"]), "cancelling": bool(known["cancelling"])})
