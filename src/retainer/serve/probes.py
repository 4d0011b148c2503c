"""The routes for a supervisor: alive, ready, and metrics. They reveal no text and no path of the machine."""

from __future__ import annotations

from fastapi import APIRouter, Response

from retainer.serve.registry import Registry
from retainer.serve.responses import json_response
from retainer.serve.schemas import HealthResponse, ReadinessResponse

PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8"


def probe_routes(registry: Registry) -> APIRouter:
    """Return the routes."""
    router = APIRouter()

    @router.get("/healthz", responses={200: {"model": HealthResponse}})
    async def healthz() -> Response:
        """Say that the process runs."""
        return json_response({"alive": True})

    @router.get("/readyz", responses={200: {"model": ReadinessResponse}, 503: {"model": ReadinessResponse}})
    async def readyz() -> Response:
        """Say whether requests are answered, and which version is stale: its folder holds one that fails to load."""
        states = [
            {
                "name": served.name,
                "hash": served.hash,
                "state": "stale" if served.name in registry.failed else "ready",
            }
            for served in registry
        ]
        return json_response({"ready": not registry.draining, "versions": states}, 503 if registry.draining else 200)

    @router.get("/metrics", responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}})
    async def metrics() -> Response:
        """Return all metrics in the text format of Prometheus."""
        return Response(await registry.exposition(), media_type=PROMETHEUS_TEXT)

    return router
