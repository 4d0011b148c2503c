"""What a project holds, as JSON documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from retainer.data.spans import Span
from retainer.data.words import word_offsets
from retainer.workbench.annotation import AnnotatedText, Annotation
from retainer.workbench.jobs import Job
from retainer.workbench.next_texts import FoundEntities
from retainer.workbench.project import Project
from retainer.workbench.texts import StoredText
from retainer.workbench.versions import ProjectVersion

_NOTHING_FOUND: FoundEntities = {}


def entity_document(span: Span) -> dict[str, Any]:
    """Return an entity."""
    return {"start": span.start, "end": span.end, "type": span.type}


def annotation_document(annotation: Annotation) -> dict[str, Any]:
    """Return what is said about a text."""
    return {
        "entities": [entity_document(span) for span in annotation.entities],
        "decided": annotation.decided,
        "complete": list(annotation.complete),
    }


def item_document(
    text: StoredText, said: AnnotatedText, found: FoundEntities = _NOTHING_FOUND, why: str | None = None
) -> dict[str, Any]:
    """Return a text with what is known of it."""
    offsets = word_offsets(text.text) if text.words is None else text.words
    return {
        "id": text.id,
        "text": text.text,
        "source": text.source,
        "held_back": text.held_back,
        "words": [list(offset) for offset in offsets],
        "revision": said.revision,
        "annotation": annotation_document(said.annotation),
        "who": said.who or None,
        "when": said.when or None,
        "found": [{**entity_document(span), "score": score} for span, score in sorted(found.items())],
        "why": why,
    }


def type_documents(project: Project) -> list[dict[str, Any]]:
    """Return all types and how much was annotated of each."""
    with project.database.reading():
        types, counts = project.types.all(), project.annotations.counts()
    return [
        {
            "name": one.name,
            "colour": one.colour,
            "entities": counts[one.name].entities,
            "complete": counts[one.name].complete,
        }
        for one in types
    ]


def version_documents(project: Project) -> list[dict[str, Any]]:
    """Return all versions, the oldest first."""
    with project.database.reading():
        in_use = project.versions.in_use()
        return [_version(one, one == in_use) for one in project.versions.all()]


def _version(version: ProjectVersion, in_use: bool) -> dict[str, Any]:
    return {
        "name": version.name,
        "parent": version.parent,
        "job": version.job,
        "when": version.added,
        "types": list(version.types),
        "in_use": in_use,
        "texts": version.texts,
        "hash": version.hash,
    }


def job_documents(project: Project, jobs: Iterable[Job]) -> list[dict[str, Any]]:
    """Return jobs and how far each is."""
    with project.database.reading():
        made = {version.job: version.name for version in project.versions.all()}
        return [_job(project, job, made) for job in jobs]


def _job(project: Project, job: Job, made: Mapping[int | None, str]) -> dict[str, Any]:
    last = project.jobs.latest(job.id)
    return {
        "id": job.id,
        "kind": job.kind,
        "state": job.state,
        "request": dict(job.request),
        "who": job.who,
        "when": job.created,
        "message": job.message,
        "version": made.get(job.id),
        "last_event": 0 if last is None else last.number,
        "progress": None if last is None else _progress(project, job),
    }


def _progress(project: Project, job: Job) -> dict[str, Any]:
    """Return where a job stands: its last epoch, and the time left as the last step saw it."""
    epoch, step = (project.jobs.latest(job.id, kind) for kind in ("epoch", "step"))
    known: Mapping[str, Any] = {} if epoch is None else epoch.event
    newest = max((one for one in (epoch, step) if one), key=lambda one: one.number, default=None)
    return {
        "epoch": known.get("epoch", 0),
        "epochs": known.get("epochs", job.request.get("epochs", 0)),
        "seconds_left": None if newest is None or job.ended else newest.event.get("seconds_left"),
        "losses": known.get("losses", {}),
        "f1": known.get("f1"),
    }
