"""The routes of the ML backend, as Label Studio asks them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from retainer.serve.batches import Entities
from retainer.serve.credentials import shows_secret, shows_token
from retainer.serve.error_log import LABEL_STUDIO_LOGGER
from retainer.serve.label_studio.backend import LabelStudioBackend, model_version
from retainer.serve.label_studio.bodies import (
    BackendHealth,
    BackendVersions,
    SetupAnswer,
    SetupRequest,
    TasksAnswer,
    TasksRequest,
    WebhookAnswer,
    WebhookRequest,
)
from retainer.serve.label_studio.label_config import LabelConfig
from retainer.serve.label_studio.predictions import TaskPredictions, label_messages, text_under_key
from retainer.serve.label_studio.webhook import take_webhook
from retainer.serve.registry import Registry, ServedVersion
from retainer.serve.responses import ApiError, json_response
from retainer.serve.routes import BODY_ERRORS, error_responses
from retainer.serve.settings import Settings
from retainer.serve.text_limits import within_limits
from retainer.serve.workbench.refusals import Result
from retainer.serve.workbench.served_project import ServedProject

LOG = logging.getLogger(LABEL_STUDIO_LOGGER)
"""Label Studio shows people a status at most, so the sentences stand here: a few in ten seconds, without texts."""
MANY_TASKS = 50
"""More are put together in another thread, so that other clients do not wait."""


def label_studio_routes(registry: Registry, settings: Settings, served: ServedProject | None) -> tuple[APIRouter, ...]:
    """Return the routes; with a project, annotations are kept in it."""
    backend = LabelStudioBackend(registry, served)
    return state_routes(backend), work_routes(backend, settings)


def state_routes(backend: LabelStudioBackend) -> APIRouter:
    """Return the routes that say how the backend is."""
    router = APIRouter()

    @router.get("/health", responses={200: {"model": BackendHealth}, **error_responses(401, 421)})
    async def health() -> Response:
        """Say to Label Studio that the backend runs."""
        return json_response({"status": "UP", "model_class": "retainer"})

    @router.post("/setup", responses={200: {"model": SetupAnswer}, **error_responses(*BODY_ERRORS)})
    async def setup(request: SetupRequest) -> Response:
        """Take note of a project of Label Studio and its label config; what else it sends is dropped."""
        config = await _logged(backend.announce(request.project, request.label_config))
        names, served = await backend.renamed(), backend.in_use()
        if served is None:
            return json_response(
                {"model_version": "", "messages": ["there is no version yet; annotate, and train one"]}
            )
        types = [names.get(type_, type_) for type_ in served.version.types]
        return json_response({"model_version": _name(served), "messages": label_messages(config, types)})

    @router.get("/versions", responses={200: {"model": BackendVersions}, **error_responses(401, 421, 422, 503)})
    async def versions() -> Response:
        """List the versions there are; which one answers is decided in the workbench."""
        served = backend.in_use()
        return json_response({"versions": await backend.versions(), "in_use": served and _name(served)})

    return router


def work_routes(backend: LabelStudioBackend, settings: Settings) -> APIRouter:
    """Return the routes that predict and take annotations."""
    router = APIRouter()
    answers = {201: {"model": WebhookAnswer}, **error_responses(403, 409, *BODY_ERRORS)}

    @router.post("/predict", responses={200: {"model": TasksAnswer}, **error_responses(*BODY_ERRORS)})
    async def predict(request: TasksRequest) -> Response:
        """Find the entities of tasks, with the labels of the config."""
        config = await _logged(backend.config_of(request.project, request.label_config))
        texts = [text_under_key(task, config.key) for task in request.tasks]
        given = within_limits([text for text in texts if text is not None], settings.limits)
        names = await backend.renamed()
        served = backend.registry.get()
        found = iter(await served.batches.submit(given))
        results = [[] if text is None else next(found) for text in texts]
        if len(texts) > MANY_TASKS:
            return await asyncio.to_thread(_predictions, request, config, (served, names), results)
        return _predictions(request, config, (served, names), results)

    @router.post("/webhook", status_code=201, responses=answers)
    async def webhook(
        request: Request, body: WebhookRequest, secret: Annotated[str, Query(max_length=200)] = ""
    ) -> Response:
        """Keep what was annotated, or teach from it; only for a project that /setup announced, or with the secret."""
        token = settings.token
        trusted = bool(token) and (shows_token(request.headers, token, basic=True) or shows_secret(secret, token))
        name = await _logged(backend.name_of(body.project, trusted=trusted))
        done = await _logged(take_webhook(backend, body, name, settings.limits))
        messages = done.some_messages()
        for message in messages:
            LOG.error("Label Studio: %s", message)
        return json_response({"status": "ok", "result": done.sentence, "messages": messages}, 201)

    return router


async def _logged(work: Awaitable[Result]) -> Result:
    """Log why something is refused."""
    try:
        return await work
    except ApiError as error:
        LOG.error("Label Studio: %s", error.message)
        raise


def _predictions(
    request: TasksRequest, config: LabelConfig, by: tuple[ServedVersion, dict[str, str]], found: list[Entities]
) -> Response:
    served, names = by
    types = {type_: names.get(type_, type_) for type_ in served.version.types}
    labels = config.labels_by_type(types.values())
    by_own_name = {type_: labels[now] for type_, now in types.items() if now in labels}
    together = TaskPredictions(config, by_own_name, _name(served))
    pairs = zip(request.tasks, found, strict=True)
    results = [together.of_task(task, text_under_key(task, config.key), entities) for task, entities in pairs]
    return json_response({"results": results, "messages": together.messages()})


def _name(served: ServedVersion) -> str:
    return model_version(served.name, served.hash)
