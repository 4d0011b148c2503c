"""Routes that change what is said about texts, and the types there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from fastapi import APIRouter, Response

from retainer.data.spans import Span
from retainer.errors import InputError
from retainer.serve.responses import json_response
from retainer.serve.settings import Settings
from retainer.serve.text_limits import within_limits
from retainer.serve.workbench.documents import type_documents
from retainer.serve.workbench.look_routes import one_item
from retainer.serve.workbench.project_answers import AddedAnswer, Item, RemovedAnswer, ReversedAnswer, TypesAnswer
from retainer.serve.workbench.project_requests import (
    AddTexts,
    Annotate,
    ChangeType,
    RemoveTexts,
    Reverse,
    WrittenAnnotation,
)
from retainer.serve.workbench.refusals import conflict_error, in_thread, post_answers
from retainer.serve.workbench.served_project import ServedProject
from retainer.workbench import text_removal
from retainer.workbench.annotation import AnnotatedText, Annotation, Conflict
from retainer.workbench.project import Project
from retainer.workbench.type_removal import remove_type


def change_routes(served: ServedProject, settings: Settings) -> APIRouter:
    """Return the routes that add texts, annotate them and change types."""
    router = APIRouter(prefix="/v1/project")

    @router.post("/texts", responses=post_answers(AddedAnswer))
    async def add_texts(request: AddTexts) -> Response:
        """Add texts; one that is there already is not added twice."""
        texts = within_limits(request.texts, settings.limits)
        added = await in_thread(lambda: served.project.texts.add(texts, request.source))
        return json_response({"new": added.new, "known": len(texts) - added.new, "ids": list(added.ids)})

    @router.post("/remove", responses=post_answers(RemovedAnswer))
    async def remove_texts(request: RemoveTexts) -> Response:
        """Remove texts for good, with all that was said about them; that cannot be undone.

        Their bytes leave all files of the project. Versions that were taught from them stay as they are.
        """
        removed = await in_thread(lambda: text_removal.remove_texts(served.project, request.ids, request.who))
        served.comparisons.clear()
        return json_response({"ids": list(removed.ids), "jobs": list(removed.jobs), "versions": list(removed.versions)})

    @router.post("/annotate", responses=post_answers(Item, conflict=True))
    async def annotate(request: Annotate) -> Response:
        """Say something else about a text, having seen a revision of it; a later one is shown, not overwritten."""
        await _changed(served.project, lambda: _written(served.project, request))
        return json_response(await one_item(served, request.id))

    @router.post("/types", responses=post_answers(TypesAnswer))
    async def change_type(request: ChangeType) -> Response:
        """Add a type, give one another name or colour, merge it into another, or remove it.

        A merge changes every text with an entity of the type, as a change of `who` that can be undone text by text.
        """
        await in_thread(lambda: _change_type(served.project, request))
        return json_response({"types": await in_thread(lambda: type_documents(served.project))})

    return router


def reverse_routes(served: ServedProject) -> APIRouter:
    """Return the routes that undo and redo."""
    router = APIRouter(prefix="/v1/project")

    @router.post("/undo", responses=post_answers(ReversedAnswer, conflict=True))
    async def undo(request: Reverse) -> Response:
        """Take back the last change of a person that still holds."""
        return await _reversed(served, request, "undo")

    @router.post("/redo", responses=post_answers(ReversedAnswer, conflict=True))
    async def redo(request: Reverse) -> Response:
        """Bring back what a person took back last."""
        return await _reversed(served, request, "redo")

    return router


async def _reversed(served: ServedProject, request: Reverse, kind: Literal["undo", "redo"]) -> Response:
    annotations = served.project.annotations
    reverse = annotations.undo if kind == "undo" else annotations.redo
    found = await _changed(served.project, lambda: reverse(request.who, request.before))
    item: dict[str, Any] | None = None if found is None else await one_item(served, found.text)
    return json_response({"item": item})


async def _changed(project: Project, change: Callable[[], AnnotatedText | None]) -> AnnotatedText | None:
    """Make a change, or show the one that stands in its way."""
    try:
        return await in_thread(change)
    except Conflict as conflict:
        raise await conflict_error(project, conflict) from None


def _written(project: Project, request: Annotate) -> AnnotatedText:
    annotation = _annotation(request.annotation)
    return project.annotations.write(request.id, annotation, seen=request.revision, who=request.who)


def _annotation(given: WrittenAnnotation) -> Annotation:
    spans = tuple(Span(one.start, one.end, one.type) for one in given.entities)
    return Annotation(spans, given.decided, tuple(dict.fromkeys(given.complete)))


def _change_type(project: Project, request: ChangeType) -> None:
    _TYPE_CHANGES[request.action](project, request)


def _add(project: Project, request: ChangeType) -> None:
    project.types.add(request.name, request.who, request.colour, confirmed=request.confirmed)


def _rename(project: Project, request: ChangeType) -> None:
    if request.new_name is None:
        raise InputError("a type is renamed to a new_name; give one")
    project.types.rename(request.name, request.new_name, request.who, confirmed=request.confirmed)


def _recolour(project: Project, request: ChangeType) -> None:
    if request.colour is None:
        raise InputError("a type gets another colour; give one")
    project.types.recolour(request.name, request.colour, request.who)


def _merge(project: Project, request: ChangeType) -> None:
    if request.into is None:
        raise InputError("a type is merged into another one; name it as into")
    project.types.merge(request.name, request.into, request.who)


def _remove(project: Project, request: ChangeType) -> None:
    remove_type(project, request.name, request.who)


_TYPE_CHANGES: dict[str, Callable[[Project, ChangeType], None]] = {
    "add": _add,
    "rename": _rename,
    "recolour": _recolour,
    "merge": _merge,
    "remove": _remove,
}
