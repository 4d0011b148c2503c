"""The application: routes, and the layers around them.

A request passes ``response_headers`` (headers, counting), CORS where it is enabled, ``guard`` (who may ask, how much,
how long) and ``routes``, which hand its texts to the ``batches`` of a version in the ``registry``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from retainer.about import __version__
from retainer.serve.api_docs import reference
from retainer.serve.assets import addresses, assets
from retainer.serve.guard import PUBLIC, Guard
from retainer.serve.metrics import Gauge
from retainer.serve.probes import probes
from retainer.serve.registry import Registry
from retainer.serve.response_headers import ResponseHeaders
from retainer.serve.responses import RETRY, Refusal, speak_one_way
from retainer.serve.routes import api
from retainer.serve.settings import Limits, Settings

ABOUT = (
    "Entities of texts, found by one version or compared between two. Places are characters (Unicode code points), "
    'scores are shares of one. Whatever is no result is `{"error": {"code", "message"}}`.'
)


def application(roster: Registry, settings: Settings, tell: Callable[[str], None]) -> ASGIApp:
    """Put a server together, from the inside out."""
    inner = described(roster, settings)
    guard = Guard(inner, settings, roster, tell)
    roster.counters.more.append(
        Gauge("retainer_requests_in_flight", "Requests read or worked on.", lambda: [((), guard.inside)])
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
    counted = {*inner.openapi()["paths"], *PUBLIC} - {*addresses()} | {"/"}
    return ResponseHeaders(app, roster.counters, counted, lambda: roster.draining)


def crowded(roster: Registry) -> ASGIApp:
    """Return what answers where there are more connections than there may be."""

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        refusal = Refusal(503, "busy", "too many connections; come again in a moment", {**RETRY, "Connection": "close"})
        await refusal.response()(scope, receive, send)

    return ResponseHeaders(refuse, roster.counters, (), lambda: False)


def described(roster: Registry, settings: Settings) -> FastAPI:
    """Return the routes alone, with their OpenAPI document; the framework's pages need a network, so they are off."""
    app = FastAPI(
        title="retainer",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    speak_one_way(app)
    app.include_router(api(roster, settings))
    app.include_router(probes(roster))
    app.include_router(reference(app))
    app.include_router(assets(settings))
    _tell_limits(app.openapi(), settings)
    return app


def _tell_limits(document: dict[str, Any], settings: Settings) -> None:
    """Write the limits and the token into the document, which is made once and kept."""
    limits: Limits = settings.limits
    schemas = document["components"]["schemas"]
    for name in ("Predict", "Compare"):
        one, many = schemas[name]["properties"]["texts"]["anyOf"]
        one["maxLength"] = many["items"]["maxLength"] = limits.characters
        many["maxItems"] = limits.texts
    if settings.token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, operations in document["paths"].items():
            if path.startswith("/v1/") or path == "/metrics":
                for operation in operations.values():
                    operation["security"] = [{"token": []}]
