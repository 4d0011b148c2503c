"""The bodies of responses about teaching: what would be taught, and jobs."""

from __future__ import annotations

from typing import Any

from retainer.serve.schemas import ResponseModel


class JobProgress(ResponseModel):
    """How far a job is."""

    epoch: int
    epochs: int
    seconds_left: float | None
    losses: dict[str, float]
    f1: float | None
    """On the part of the texts that was set aside, in percent."""


class JobAnswer(ResponseModel):
    """Something that takes its time."""

    id: int
    kind: str
    state: str
    """``queued``, ``running``, ``done``, ``failed`` or ``cancelled``."""
    request: dict[str, Any]
    who: str
    when: str
    message: str
    """Why it failed."""
    version: str | None
    """The version it made."""
    last_event: int
    progress: JobProgress | None


class OneJob(ResponseModel):
    """A job."""

    job: JobAnswer


class AllJobs(ResponseModel):
    """All jobs, the newest first."""

    jobs: list[JobAnswer]


class FindingPlace(ResponseModel):
    """Where to look."""

    texts: list[int]
    """Numbers of texts."""
    more: int
    """How many texts more there are than those named."""
    quote: str
    """What stands there."""
    remark: str


class FindingAnswer(ResponseModel):
    """Something odd in what would be taught."""

    kind: str
    """``mend``, ``look`` or ``note``."""
    message: str
    count: int
    advice: str
    places: list[FindingPlace]


class CheckAnswer(ResponseModel):
    """What would be taught."""

    findings: list[FindingAnswer]
    train: dict[str, Any]
    pool: int
    held_back: int
    new_types: list[str]
    incomplete: dict[str, int]
    """Texts with a decision that are not complete for a type, by type; ``incomplete`` of /texts lists them."""
    ready: bool
    why_not: str | None
