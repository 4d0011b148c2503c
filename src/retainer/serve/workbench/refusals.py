"""Work on a project in another thread, with what it refuses as a response of one sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from retainer.errors import InputError
from retainer.serve.responses import ApiError
from retainer.serve.routes import BODY_ERRORS, error_responses
from retainer.serve.workbench.documents import item_document
from retainer.serve.workbench.project_answers import ConflictAnswer
from retainer.workbench.annotation import Conflict
from retainer.workbench.project import Project

Result = TypeVar("Result")


async def in_thread(work: Callable[[], Result]) -> Result:
    """Do what reads or writes a disk beside the requests of others."""
    try:
        return await asyncio.to_thread(work)
    except Conflict:
        raise
    except InputError as error:
        raise refusal(error) from None


def refusal(error: InputError) -> ApiError:
    """Return the response for what a project refuses."""
    return ApiError(422, "refused", str(error))


async def conflict_error(project: Project, conflict: Conflict) -> ApiError:
    """Return the response that shows the change of somebody else, to decide upon."""
    text = await in_thread(lambda: project.texts.get(conflict.current.text))
    beside: dict[str, Any] = {"current": item_document(text, conflict.current)}
    if conflict.change:
        beside["change"] = conflict.change
    return ApiError(409, "conflict", str(conflict), beside=beside)


def get_answers(model: type) -> dict[int | str, dict[str, Any]]:
    """Describe what a route without a body answers."""
    return {200: {"model": model}, **error_responses(401, 421, 422, 503)}


def post_answers(model: type, *, conflict: bool = False) -> dict[int | str, dict[str, Any]]:
    """Describe what a route with a body answers."""
    described = {200: {"model": model}, **error_responses(*BODY_ERRORS)}
    if conflict:
        described[409] = {
            "model": ConflictAnswer,
            "description": "The text was changed meanwhile.",
        }
    return described
