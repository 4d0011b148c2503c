"""Routes to teach: look at what there is, begin a job, follow it, cancel it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import StreamingResponse

from retainer.data.checks import Finding
from retainer.data.place import Place
from retainer.serve.responses import json_response
from retainer.serve.routes import error_responses
from retainer.serve.workbench.documents import job_documents
from retainer.serve.workbench.event_stream import NDJSON, FollowingResponse, event_lines
from retainer.serve.workbench.project_requests import CheckRequest, Person, Teach
from retainer.serve.workbench.refusals import get_answers, in_thread, post_answers
from retainer.serve.workbench.served_project import ServedProject
from retainer.serve.workbench.teach_answers import AllJobs, CheckAnswer, OneJob
from retainer.workbench.jobs import Job
from retainer.workbench.project import Project
from retainer.workbench.readiness import Readiness, readiness
from retainer.workbench.teach_queue import queue_teaching
from retainer.workbench.teach_request import TeachRequest

JobNumber = Annotated[int, Path(ge=1, lt=2**63)]


def teach_routes(served: ServedProject) -> APIRouter:
    """Return the routes before a job and at its beginning."""
    router = APIRouter(prefix="/v1/project")

    @router.post("/check", responses=post_answers(CheckAnswer))
    async def check(request: CheckRequest) -> Response:
        """Look at what would be taught, and what is odd about it."""
        return json_response(_ready(await in_thread(lambda: readiness(served.project))))

    @router.post("/teach", responses=post_answers(OneJob))
    async def teach(request: Teach) -> Response:
        """Teach the texts with a decision to the version in use, as soon as no other job runs."""
        return json_response(await in_thread(lambda: _queued(served.project, request)))

    return router


def job_routes(served: ServedProject) -> APIRouter:
    """Return the routes about jobs."""
    router = APIRouter(prefix="/v1/project/jobs")
    described = {200: {"content": {NDJSON: {"schema": {"type": "string"}}}}, **error_responses(401, 421, 422, 503)}

    @router.get("", responses=get_answers(AllJobs))
    async def jobs() -> Response:
        """List all jobs, the newest first."""
        found = await in_thread(lambda: job_documents(served.project, reversed(served.project.jobs.all())))
        return json_response({"jobs": found})

    @router.get("/{n}/events", responses=described, response_class=StreamingResponse)
    async def events(n: JobNumber, after: Annotated[int, Query(ge=0, lt=2**63)] = 0, follow: bool = False) -> Response:
        """Return what a job reported behind an event, a line of JSON each; with follow, until it ends."""
        await in_thread(lambda: served.project.jobs.get(n))
        lines = event_lines(served, n, after, follow=follow)
        return FollowingResponse(served, lines) if follow else StreamingResponse(lines, media_type=NDJSON)

    @router.post("/{n}/cancel", responses=post_answers(OneJob))
    async def cancel(n: JobNumber, request: Person) -> Response:
        """Take a job out of the queue, or end the one that runs: that takes a moment."""
        return json_response(await in_thread(lambda: _cancelled(served.project, n, request.who)))

    return router


def _one(project: Project, job: Job) -> dict[str, Any]:
    return {"job": job_documents(project, [job])[0]}


def _queued(project: Project, request: Teach) -> dict[str, Any]:
    asked = TeachRequest(request.method, request.epochs, request.text, request.seed)
    return _one(project, queue_teaching(project, asked, request.who))


def _cancelled(project: Project, number: int, who: str) -> dict[str, Any]:
    with project.database.writing():
        job = project.jobs.cancel(number)
        event = {"kind": "note", "message": f"{who} asked to cancel"} if job.cancelling else {"kind": "cancelled"}
        project.jobs.report(number, event)
        return _one(project, job)


def _ready(found: Readiness) -> dict[str, Any]:
    return {
        "findings": [_finding(one) for one in found.findings],
        "train": {"texts": found.texts, "entities": dict(found.entities)},
        "pool": found.pool,
        "held_back": found.held_back,
        "new_types": list(found.new_types),
        "incomplete": dict(found.incomplete),
        "ready": found.ready,
        "why_not": found.why_not or None,
    }


def _finding(one: Finding) -> dict[str, Any]:
    return {
        "kind": one.weight,
        "message": one.what,
        "count": one.count,
        "advice": one.advice,
        "places": [_place(place) for place in one.examples],
    }


def _place(one: Place) -> dict[str, Any]:
    return {"texts": list(one.sentences), "more": one.further, "quote": one.text, "remark": one.remark}
