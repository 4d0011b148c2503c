"""The events of a job as lines of JSON: those there are, or all until the job ends."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from retainer.serve.responses import RETRY_HEADERS, ApiError
from retainer.serve.workbench.served_project import ServedProject
from retainer.workbench.jobs import JobEvent

NDJSON = "application/x-ndjson"
LOOK_AGAIN_SECONDS = 0.25
ALIVE_SECONDS = 10.0
"""How often a line says that the job lives, so that no proxy thinks the connection idle."""
MOST_FOLLOWERS = 64
ENDED = ("done", "failed", "cancelled")


class FollowingResponse(StreamingResponse):
    """Takes one of the places for followers at once, and gives it back however the connection ends."""

    def __init__(self, served: ServedProject, lines: AsyncIterator[bytes]) -> None:
        """Take the place, or refuse: two clients that ask at the same time do not get the same one."""
        if served.followers >= MOST_FOLLOWERS:
            raise ApiError(503, "busy", "too many clients follow jobs; try again in a moment", RETRY_HEADERS)
        super().__init__(lines, media_type=NDJSON)
        self._served = served
        served.followers += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._served.followers -= 1


async def event_lines(served: ServedProject, job: int, after: int, *, follow: bool) -> AsyncIterator[bytes]:
    """Yield the events of a job behind one; with ``follow``, until the job or the server ends."""
    last, told = after, time.monotonic()
    while True:
        state, events = await asyncio.to_thread(_news, served, job, last)
        for event in events:
            yield _line(event)
            last, told = event.number, time.monotonic()
        if not events and (not follow or state in ENDED or served.registry.draining):
            return
        if follow and time.monotonic() - told >= ALIVE_SECONDS:
            yield b'{"kind":"alive"}\n'
            told = time.monotonic()
        if not events:
            await asyncio.sleep(LOOK_AGAIN_SECONDS)


def _news(served: ServedProject, job: int, after: int) -> tuple[str, tuple[JobEvent, ...]]:
    """Read the state first: what a job reports before it ends is then never missed."""
    jobs = served.project.jobs
    state = jobs.get(job).state
    return state, jobs.events(job, after)


def _line(event: JobEvent) -> bytes:
    document = {"seq": event.number, "when": event.when, **event.event}
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"
