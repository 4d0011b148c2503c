"""What a supervisor asks: is it alive, is it ready, how is it doing. No text and no path of this machine is told."""

from __future__ import annotations

from fastapi import APIRouter, Response

from retainer.serve.registry import Registry
from retainer.serve.responses import told
from retainer.serve.schemas import Health, Readiness

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def probes(roster: Registry) -> APIRouter:
    """Return the routes."""
    router = APIRouter()

    @router.get("/healthz", responses={200: {"model": Health}})
    async def healthz() -> Response:
        """Say that the process runs."""
        return told({"alive": True})

    @router.get("/readyz", responses={200: {"model": Readiness}, 503: {"model": Readiness}})
    async def readyz() -> Response:
        """Say whether requests are answered, and which version is stale: its folder holds one that fails to load."""
        states = [
            {"name": one.name, "hash": one.hash, "state": "stale" if one.name in roster.failed else "ready"}
            for one in roster
        ]
        return told({"ready": not roster.draining, "versions": states}, 503 if roster.draining else 200)

    @router.get("/metrics", responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}})
    async def metrics() -> Response:
        """Tell what was counted, for Prometheus."""
        return Response(roster.counters.text(), media_type=PROMETHEUS)

    return router
