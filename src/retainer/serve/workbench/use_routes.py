"""Routes to compare versions, put one into use, go back, and see what was in use when."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from retainer.serve.responses import json_response
from retainer.serve.workbench.documents import version_documents
from retainer.serve.workbench.project_answers import ComparisonAnswer, HistoryAnswer, InUseAnswer, TaughtAnswer
from retainer.serve.workbench.project_requests import Person, UseVersion
from retainer.serve.workbench.refusals import get_answers, in_thread, post_answers
from retainer.serve.workbench.served_project import ServedProject
from retainer.serve.workbench.side_by_side import side_by_side
from retainer.workbench.project import Project
from retainer.workbench.teach_plan import taught_texts

VersionName = Annotated[str, Query(min_length=1, max_length=500)]
EarlierVersion = Annotated[str, Query(max_length=500, description="Leave it out to score the new one alone.")]


def use_routes(served: ServedProject) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/v1/project")

    @router.get("/compare", responses=get_answers(ComparisonAnswer))
    async def compare(new: VersionName, old: EarlierVersion = "") -> Response:
        """Compare two versions on texts that were held back, or score one, and say whether to use the new one."""
        return json_response(await side_by_side(served, old, new))

    @router.post("/use", responses=post_answers(InUseAnswer))
    async def use(request: UseVersion) -> Response:
        """Put a version into use: it answers from the next request on, and no request is lost."""
        return json_response({"in_use": await served.use(request.version, request.who)})

    @router.post("/back", responses=post_answers(InUseAnswer))
    async def back(request: Person) -> Response:
        """Put the version into use again that was in use before."""
        return json_response({"in_use": await served.go_back(request.who)})

    @router.get("/taught", responses=get_answers(TaughtAnswer))
    async def taught(version: VersionName) -> Response:
        """Say from which texts a version was taught."""
        texts = await in_thread(lambda: taught_texts(served.project, version))
        return await asyncio.to_thread(json_response, {"version": version, "texts": list(texts)})

    @router.get("/history", responses=get_answers(HistoryAnswer))
    async def history() -> Response:
        """Say which version was put into use when, by whom, and where all versions come from."""
        return json_response(await in_thread(lambda: _history(served.project)))

    return router


def _history(project: Project) -> dict[str, Any]:
    with project.database.reading():
        uses = [{"version": one.version, "who": one.who, "when": one.when} for one in reversed(project.versions.uses())]
        before = project.versions.before()
        back = None if before is None else before.name
        return {"back": back, "uses": uses, "versions": version_documents(project)}
