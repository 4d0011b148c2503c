"""The application: routes, and the layers around them.

A request passes ``response_headers`` (headers, counts), CORS if it is enabled, ``guard`` (token, limits, time) and
``routes``, which submit its texts to the ``batches`` of a version in the ``registry``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from retainer.about import __version__
from retainer.serve.api_docs import docs_routes
from retainer.serve.assets import asset_paths, asset_routes
from retainer.serve.guard import LABEL_STUDIO_PATHS, PUBLIC_PATHS, Guard, Refusal
from retainer.serve.label_studio.backend_routes import label_studio_routes
from retainer.serve.metrics import Gauge
from retainer.serve.probes import probe_routes
from retainer.serve.registry import Registry
from retainer.serve.response_headers import ResponseHeaders
from retainer.serve.responses import RETRY_HEADERS, ApiError, add_error_handlers
from retainer.serve.routes import api_routes
from retainer.serve.schemas import CompareRequest, PredictRequest
from retainer.serve.settings import Limits, Settings
from retainer.serve.workbench.project_requests import AddTexts
from retainer.serve.workbench.project_routes import project_routes
from retainer.serve.workbench.served_project import ServedProject

API_DESCRIPTION = (
    "Entities of texts, found by one version or compared between two. Offsets count characters (Unicode code points), "
    'scores lie between 0 and 1. Every response that is not a result is `{"error": {"code", "message"}}`.'
)


def application(
    registry: Registry, settings: Settings, log: Callable[[str], None], project: ServedProject | None = None
) -> ASGIApp:
    """Put a server together, from the inside out; with a project, it is a workbench."""
    api = api_app(registry, settings, project)
    guard = Guard(registry.before_routes(api), settings, log)
    registry.metrics.gauges.append(
        Gauge("retainer_requests_in_flight", "Requests being read or computed.", lambda: [((), guard.in_flight)])
    )
    app: ASGIApp = guard
    if settings.origins:
        app = CORSMiddleware(
            app,
            allow_origins=settings.origins,
            allow_methods=("GET", "POST"),
            allow_headers=("Authorization", "Content-Type"),
            expose_headers=("Retry-After",),
        )
    counted = {*api.openapi()["paths"], *PUBLIC_PATHS} - {*asset_paths()} | {"/"}
    return ResponseHeaders(app, registry.metrics, counted, lambda: registry.draining)


def busy_app(registry: Registry) -> ASGIApp:
    """Return the application that answers the connections above the limit."""
    headers = {**RETRY_HEADERS, "Connection": "close"}
    error = ApiError(503, "busy", "too many connections; try again in a moment", headers)
    return ResponseHeaders(Refusal(error), registry.metrics, (), lambda: False)


def api_app(registry: Registry, settings: Settings, project: ServedProject | None = None) -> FastAPI:
    """Return the routes alone, with their OpenAPI document; the framework's pages need a network, so they are off."""
    app = FastAPI(
        title="retainer",
        version=__version__,
        description=API_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    add_error_handlers(app)
    app.include_router(api_routes(registry, settings))
    for router in () if project is None else project_routes(project, settings):
        app.include_router(router)
    for router in label_studio_routes(registry, settings, project) if settings.label_studio else ():
        app.include_router(router)
    app.include_router(probe_routes(registry))
    app.include_router(docs_routes(app))
    app.include_router(asset_routes(settings, workbench=project is not None))
    _document_limits(app.openapi(), settings)
    return app


def _document_limits(document: dict[str, Any], settings: Settings) -> None:
    """Write the limits and the token into the document, which the framework makes once and keeps."""
    limits: Limits = settings.limits
    schemas = document["components"]["schemas"]
    for model in (PredictRequest, CompareRequest):
        one, many = schemas[model.__name__]["properties"]["texts"]["anyOf"]
        one["maxLength"] = many["items"]["maxLength"] = limits.characters
        many["maxItems"] = limits.texts
    if AddTexts.__name__ in schemas:
        texts = schemas[AddTexts.__name__]["properties"]["texts"]
        texts["items"]["maxLength"], texts["maxItems"] = limits.characters, limits.texts
    if settings.token:
        _document_token(document)


def _document_token(document: dict[str, Any]) -> None:
    """Say which paths need the token, and how it may be shown."""
    schemes = {"token": {"type": "http", "scheme": "bearer"}}
    for path, operations in document["paths"].items():
        ways: list[dict[str, list[str]]] = [{"token": []}] if path.startswith("/v1/") or path == "/metrics" else []
        if path in LABEL_STUDIO_PATHS:
            schemes["password"] = {"type": "http", "scheme": "basic"}
            ways = [{"token": []}, {"password": []}]
        for operation in operations.values() if ways else ():
            operation["security"] = ways
    document["components"]["securitySchemes"] = schemes
