"""Routes to look at a project: what is in it, its texts, and which of them to look at next."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from retainer.serve.responses import json_response
from retainer.serve.workbench.documents import (
    annotation_document,
    item_document,
    job_documents,
    type_documents,
    version_documents,
)
from retainer.serve.workbench.next_items import next_items
from retainer.serve.workbench.project_answers import ChangeNotices, Item, ItemPage, Items, ProjectAnswer, TextHistory
from retainer.serve.workbench.refusals import get_answers, in_thread
from retainer.serve.workbench.served_project import ServedProject
from retainer.workbench.project import Project

MOST_ITEMS = 200
"""Texts of a page."""
_INCOMPLETE = "A type: those with a decision in which not every entity of it is marked."
TextNumber = Annotated[int, Path(ge=1, lt=2**63)]
After = Annotated[int, Query(ge=0, lt=2**63, description="Go on behind this number.")]
Skipped = Annotated[str, Query(max_length=10_000, pattern=r"^([0-9]{1,18}(,[0-9]{1,18})*)?$")]


def look_routes(served: ServedProject) -> APIRouter:
    """Return the routes about the project, the next texts and the changes."""
    router = APIRouter(prefix="/v1/project")

    @router.get("", responses=get_answers(ProjectAnswer))
    async def project_facts() -> Response:
        """Say what the project holds, which version is in use and what runs."""
        return json_response(await in_thread(lambda: _facts(served.project)))

    @router.get("/next", responses=get_answers(Items))
    async def next_texts(limit: Annotated[int, Query(ge=1, le=20)] = 10, skip: Skipped = "") -> Response:
        """Return texts without a decision in the order of what is worth looking at next, each with a reason."""
        skipped = [int(number) for number in skip.split(",") if number]
        return json_response({"items": await next_items(served, limit, skipped)})

    @router.get("/changes", responses=get_answers(ChangeNotices))
    async def changes(after: After = 0) -> Response:
        """Say which texts were changed since, by whom: what other windows need to know."""
        return json_response(await in_thread(lambda: _changes(served.project, after)))

    return router


def text_routes(served: ServedProject) -> APIRouter:
    """Return the routes about texts."""
    router = APIRouter(prefix="/v1/project/texts")

    @router.get("", responses=get_answers(ItemPage))
    async def page(
        after: After = 0,
        limit: Annotated[int, Query(ge=1, le=MOST_ITEMS)] = 50,
        search: Annotated[str, Query(max_length=1000)] = "",
        decided: bool | None = None,
        at: Annotated[int, Query(ge=0, lt=2**63, description="Pass over so many first.")] = 0,
        incomplete: Annotated[str, Query(max_length=500, description=_INCOMPLETE)] = "",
    ) -> Response:
        """Return the next texts behind one: all, those that have a part, those with or without a decision."""
        wanted = _Wanted(search, decided, incomplete)
        found = await in_thread(lambda: _page(served.project, wanted, after, limit, at))
        return await asyncio.to_thread(json_response, found)

    @router.get("/{id}", responses=get_answers(Item))
    async def text(id: TextNumber) -> Response:
        """Return a text with what is said about it and what the version in use finds."""
        return json_response(await one_item(served, id))

    @router.get("/{id}/history", responses=get_answers(TextHistory))
    async def history(id: TextNumber) -> Response:
        """Return every change of a text."""
        return await asyncio.to_thread(json_response, await in_thread(lambda: _history(served.project, id)))

    return router


async def one_item(served: ServedProject, id: int) -> dict[str, Any]:
    """Return a text with what the version in use finds in it."""
    project = served.project
    text, said = await in_thread(lambda: (project.texts.get(id), project.annotations.get(id)))
    found = await served.found([text])
    return item_document(text, said, found.get(id, {}))


def _facts(project: Project) -> dict[str, Any]:
    with project.database.reading():
        in_use, running = project.versions.in_use(), project.jobs.running()
        return {
            "folder": project.folder.absolute().name,
            "types": type_documents(project),
            "texts": {
                "all": project.texts.count(),
                "decided": project.texts.count(decided=True),
                "held_back": project.texts.held_back(),
            },
            "in_use": None if in_use is None else in_use.name,
            "versions": version_documents(project),
            "job": None if running is None else job_documents(project, [running])[0],
            "queue": project.jobs.waiting(),
            "change": project.annotations.last_change(),
        }


@dataclass(frozen=True)
class _Wanted:
    """Which texts are asked for."""

    search: str
    decided: bool | None
    incomplete: str


def _page(project: Project, wanted: _Wanted, after: int, limit: int, at: int) -> dict[str, Any]:
    with project.database.reading():
        type_ = project.types.number(wanted.incomplete) if wanted.incomplete else None
        texts = project.texts.page(after, limit + 1, wanted.search, wanted.decided, at, type_)
        said = project.annotations.many([text.id for text in texts])
        count = project.texts.count(wanted.search, wanted.decided, type_)
    items = [item_document(text, said[text.id]) for text in texts[:limit]]
    return {"items": items, "more": len(texts) > limit, "count": count}


def _history(project: Project, id: int) -> dict[str, Any]:
    with project.database.reading():
        project.texts.get(id)
        changes = project.annotations.history(id)
    return {
        "changes": [
            {
                "id": one.id,
                "who": one.who,
                "when": one.when,
                "kind": one.kind,
                "before": annotation_document(one.before),
                "after": annotation_document(one.after),
            }
            for one in changes
        ]
    }


def _changes(project: Project, after: int) -> dict[str, Any]:
    with project.database.reading():  # a change between two readings would be skipped for good
        found = project.annotations.since(after)
        last = found[-1].id if found else max(after, project.annotations.last_change())
    notices = [
        {"id": one.id, "text": one.text, "who": one.who, "when": one.when, "kind": one.kind, "revision": one.revision}
        for one in found
    ]
    return {"changes": notices, "last": last}
