"""Runs the jobs of a project, one at a time, each in a process of its own.

What happens to a job is in the project. A server that stops ends the process, which keeps its last epoch; one that
starts puts the job back into the queue, or waits for its process where that outlived the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from retainer.errors import InputError, printable, shortened
from retainer.workbench.job_lock import JOB_LOCK, is_worked_on
from retainer.workbench.jobs import Job
from retainer.workbench.project import Project
from retainer.workbench.teach_plan import forget_files

LOOK_SECONDS = 0.3
"""How often it looks whether a process has ended or is to be."""
END_SECONDS = 15.0
"""How long a process may take to keep its last epoch."""
RECORD_SECONDS = 2.0
"""How often it tries to record that a job failed."""
_REFUSED = 2
"""The exit status of a process that says in a sentence what is wrong."""
_LONGEST = 500
MODULE = "retainer.workbench.teach"
LOG_FILE = "log.txt"


class JobRunner:
    """Takes jobs from the queue of a project."""

    def __init__(self, project: Project, log: Callable[[str], None], device: str = "auto") -> None:
        self.project, self.log, self.device = project, log, device
        self._process: asyncio.subprocess.Process | None = None
        self._given_up: set[int] = set()
        """Jobs whose process died once already."""

    async def run(self) -> None:
        """Run jobs until this is cancelled; then end the process."""
        try:
            await self._take_over()
            while True:
                job = await self._next()
                if job is None:
                    await asyncio.sleep(LOOK_SECONDS)
                else:
                    await self._tried(job)
        finally:
            await asyncio.shield(self._end_process())

    async def _next(self) -> Job | None:
        """Start the next job; a disk that is full today may not be tomorrow."""
        try:
            return await asyncio.to_thread(self.project.jobs.start_next, os.getpid())
        except InputError as error:
            self.log(f"no job can be started: {error}")
            await asyncio.sleep(10)
            return None

    async def _take_over(self) -> None:
        """Find the job that an earlier server ran: wait for a process that lives, or put it back into the queue."""
        job = await asyncio.to_thread(self.project.jobs.running)
        if job is None:
            return
        folder = self.project.job_folder(job.id)
        while await asyncio.to_thread(is_worked_on, folder):
            if (await self._current(job)).cancelling:
                _signal_holder(folder)
            await asyncio.sleep(LOOK_SECONDS)
        if (await self._current(job)).state == "running":
            await asyncio.to_thread(self._put_back, job)

    def _put_back(self, job: Job) -> None:
        """Put a job back into the queue; one that was to be cancelled is."""
        if self.project.jobs.get(job.id).cancelling:
            self._cancelled(job)
        else:
            self.project.jobs.report(job.id, {"kind": "note", "message": "going on after an interruption"})
            self.project.jobs.requeue(job.id)

    async def _tried(self, job: Job) -> None:
        """Carry out a job; whatever the disk or the system refuses ends the job, not those behind it."""
        try:
            await self._carry_out(job)
        except (OSError, InputError) as error:
            said = f"job {job.id} cannot be run: {error}"
            self.log(said)
            await self._end_process()
            await self._record_failure(job, said)

    async def _record_failure(self, job: Job, said: str) -> None:
        """Say in the project that a job failed, as soon as its disk takes that: else the job would seem to run on."""
        while True:
            try:
                return await asyncio.to_thread(self._failed, job, said)
            except InputError:
                await asyncio.sleep(RECORD_SECONDS)

    async def _carry_out(self, job: Job) -> None:
        self.log(f"job {job.id}: teaching")
        self._process = process = await self._started(job)
        ended = asyncio.ensure_future(process.wait())
        while not ended.done():
            await asyncio.wait({ended}, timeout=LOOK_SECONDS)
            if not ended.done() and (await self._current(job)).cancelling:
                await self._end_process()
        self._process = None
        await asyncio.to_thread(self._ended, job, ended.result())

    async def _started(self, job: Job) -> asyncio.subprocess.Process:
        folder = self.project.job_folder(job.id)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / LOG_FILE).open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", MODULE, str(self.project.folder.absolute()), str(job.id), self.device),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "OMP_NUM_THREADS": str(_threads())},
                start_new_session=True,  # Ctrl-C is for the server, which ends it in its own time
            )

    def _ended(self, job: Job, status: int) -> None:
        """Look how a process ended: mostly it has said so itself."""
        now = self.project.jobs.get(job.id)
        if now.state != "running":
            self.log(f"job {job.id}: {now.state}{f', {now.message}' if now.message else ''}")
        elif now.cancelling:
            self._cancelled(job)
        elif job.id not in self._given_up:
            self._given_up.add(job.id)
            self._put_back(job)
        else:
            self._failed(job, self._why(job, status))

    def _why(self, job: Job, status: int) -> str:
        """Say why a process ended that could not say so in the project."""
        if status != _REFUSED:
            return f"the process that taught was ended twice (status {status}); perhaps there is too little memory"
        log = (self.project.job_folder(job.id) / LOG_FILE).read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line for line in reversed(log) if line.strip()), "")
        return shortened(printable(last), _LONGEST) or "teaching was refused twice; perhaps the disk is full"

    def _failed(self, job: Job, said: str) -> None:
        self.project.jobs.report(job.id, {"kind": "failed", "message": said})
        self.project.jobs.finish(job.id, "failed", said)
        forget_files(self.project, job.id)

    def _cancelled(self, job: Job) -> None:
        self.project.jobs.report(job.id, {"kind": "cancelled"})
        self.project.jobs.finish(job.id, "cancelled")
        forget_files(self.project, job.id)
        self.log(f"job {job.id}: cancelled")

    async def _current(self, job: Job) -> Job:
        return await asyncio.to_thread(self.project.jobs.get, job.id)

    async def _end_process(self) -> None:
        """Ask the process to end, and insist if it does not."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), END_SECONDS)
            except TimeoutError:
                process.kill()
                await process.wait()


def _threads() -> int:
    """Return how many threads teaching may use: half of the cores, so that requests are answered meanwhile."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // 2)


def _signal_holder(folder: Path) -> None:
    """Ask the process that holds the lock of a job to end."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        holder = json.loads((folder / JOB_LOCK).read_text(encoding="utf-8"))
        os.kill(int(holder["process"]), signal.SIGTERM)
