"""Teaching, in a process of its own: ``python -m retainer.workbench.teach FOLDER JOB``.

It runs at the lowest priority, so that the server beside it answers. What it does is in the project: it reports there,
and a server that was started again finds it there. A process that is ended keeps its last epoch; the next one for the
same job goes on from there.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType

from retainer.errors import InputError, disk_refusal
from retainer.runtime import settle_threads
from retainer.workbench.job_lock import working_on
from retainer.workbench.jobs import Job
from retainer.workbench.project import Project
from retainer.workbench.reported_progress import ReportedProgress
from retainer.workbench.teach_plan import (
    TeachPlan,
    forget_files,
    planned,
    pool_corpus,
    start_of,
    taught_corpus,
    types_to_name,
)
from retainer.workbench.teach_request import TeachRequest
from retainer.workbench.versions import VersionOrigin

LOWEST_PRIORITY = 19
_ENDED = 3
"""The exit status of a process that was asked to end; its job is not over."""


def teach(project: Project, job: Job, device: str = "auto") -> None:
    """Carry out a job, and say in the project how it ended; only being ended by a signal leaves it open."""
    try:
        name = _taught(project, job, device)
    except Exception as error:
        reason = _sentence(error)
        project.jobs.report(job.id, {"kind": "failed", "message": reason})
        project.jobs.finish(job.id, "failed", reason)
        forget_files(project, job.id)
        if not isinstance(error, InputError):
            raise
        return
    project.jobs.report(job.id, {"kind": "done", "version": name})
    project.jobs.finish(job.id, "done")
    forget_files(project, job.id)


def _taught(project: Project, job: Job, device: str) -> str:
    """Learn, and register the version; return its name."""
    from retainer.versions.lineage import RECORD_FILE
    from retainer.versions.version import load

    plan = planned(project, job)
    out = project.versions.folder(plan.version)
    facts = {"parent": plan.parent, "texts": plan.texts, "pool": plan.pool, "version": plan.version}
    project.jobs.report(job.id, {"kind": "start", **facts, "epochs": TeachRequest.of(job.request).epochs})
    if not (out / RECORD_FILE).is_file():  # else it was written by a process that was killed right after
        _learn(project, job, plan, device)
    version = load(out, device="cpu")
    origin = VersionOrigin(plan.parent, job.id, plan.texts)
    with project.database.writing():
        if plan.version not in {one.name for one in project.versions.all()}:
            project.versions.add(plan.version, version.lineage.own_hash, types=version.types, origin=origin)
        project.types.ensure_found(version.types, job.who)
    return plan.version


def _learn(project: Project, job: Job, plan: TeachPlan, device: str) -> None:
    from retainer.training.learn import learn_version
    from retainer.training.recipe import Recipe
    from retainer.training.request import LearnRequest, RunOptions

    asked = TeachRequest.of(job.request)
    corpus, start = taught_corpus(project, job), start_of(project, job, plan, device)
    request = LearnRequest(
        data=corpus,
        start=start,
        types=types_to_name(corpus, start.learned_types),
        method=asked.method,
        recipe=Recipe(epochs=asked.epochs),
        seed=asked.seed,
        device=device,
        text=pool_corpus(project, job),
    )
    options = RunOptions(
        out=project.versions.folder(plan.version),
        state_folder=project.job_folder(job.id) / "state",
        progress=ReportedProgress(project.jobs, job.id),
        checkpoint_seconds=30.0,
    )
    learn_version(request, options)


def _sentence(error: Exception) -> str:
    """Say in one sentence why a job failed."""
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory to teach; end other programs, or use a smaller model"
    reason = disk_refusal(error)
    return f"a file cannot be written: {reason}" if reason else f"teaching failed ({type(error).__name__})"


def _end(_: int, __: FrameType | None) -> None:
    """End as by Ctrl-C: the loop keeps its last epoch then."""
    raise KeyboardInterrupt


def run_job(arguments: list[str]) -> int:
    """Run one job that was started already."""
    folder, number, *device = arguments
    signal.signal(signal.SIGTERM, _end)
    if hasattr(os, "nice"):
        os.nice(LOWEST_PRIORITY)
    settle_threads()
    try:
        with Project.open(Path(folder)) as project, working_on(project.job_folder(int(number))):
            teach(project, project.jobs.get(int(number)), *device)
    except KeyboardInterrupt:
        return _ENDED
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(run_job(sys.argv[1:]))
