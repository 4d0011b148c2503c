"""The routes under /v1."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Response

from retainer.comparison.changes import CHANGE_KINDS, Case, Change, changes
from retainer.comparison.compare import compare_predictions
from retainer.comparison.type_sets import TypeSets
from retainer.data.spans import Span
from retainer.data.texts import Texts
from retainer.errors import InputError, unknown
from retainer.metrics.thresholds import ALL_OTHERS, above_threshold, require_thresholds
from retainer.serve.batches import Entities
from retainer.serve.registry import Registry, ServedVersion
from retainer.serve.responses import ApiError, ErrorResponse, json_response
from retainer.serve.schemas import (
    CompareRequest,
    CompareResponse,
    PredictRequest,
    PredictResponse,
    ReloadResponse,
    VersionsResponse,
)
from retainer.serve.settings import Settings
from retainer.serve.text_limits import within_limits
from retainer.serve.version_info import describe_versions

ERROR_DESCRIPTIONS = {
    400: "The body is not JSON.",
    401: "The token is missing or wrong.",
    403: "The server was started without a token.",
    408: "The body arrived too slowly.",
    409: "The new files of a version cannot be loaded; the old version is still served.",
    413: "The body is too large.",
    415: "The body is not declared as application/json.",
    421: "The server does not answer to this host name.",
    422: "The request cannot be answered as it is.",
    503: "Too many requests at once, or the server is about to stop.",
    504: "The answer took too long.",
}
"""Of the responses that are not a result, for the OpenAPI document."""
BODY_ERRORS = (400, 401, 408, 413, 415, 421, 422, 503, 504)
"""What may happen to a request with a body."""
MANY_ENTITIES = 2_000
"""A response with more is written in another thread, so that other clients do not wait for it."""


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the errors of a route for the OpenAPI document."""
    return {status: {"model": ErrorResponse, "description": ERROR_DESCRIPTIONS[status]} for status in statuses}


def api_routes(registry: Registry, settings: Settings) -> APIRouter:
    """Return the routes that predict, compare, list and reload."""
    router = APIRouter(prefix="/v1")
    limits = settings.limits

    @router.post("/predict", responses={200: {"model": PredictResponse}, **error_responses(*BODY_ERRORS)})
    async def predict(request: PredictRequest) -> Response:
        """Find the entities of one text or of many."""
        texts = within_limits(request.text_list, limits)
        served = registry.get(request.version)
        thresholds = _thresholds(request, served)
        results = await served.batches.submit(texts)
        if sum(map(len, results)) > MANY_ENTITIES:
            return await asyncio.to_thread(_prediction, request, served, thresholds, results)
        return _prediction(request, served, thresholds, results)

    @router.post("/compare", responses={200: {"model": CompareResponse}, **error_responses(*BODY_ERRORS)})
    async def compare(request: CompareRequest) -> Response:
        """Show what a new version keeps, moves, relabels, loses and gains compared with an old one."""
        texts = within_limits(request.text_list, limits)
        old, new = registry.get(request.old), registry.get(request.new)
        before, after = await asyncio.gather(old.batches.submit(texts), new.batches.submit(texts))
        return await asyncio.to_thread(lambda: json_response(_comparison(texts, old, new, before, after)))

    @router.get("/versions", responses={200: {"model": VersionsResponse}, **error_responses(401, 421)})
    async def versions() -> Response:
        """List the served versions: types, scores, where each comes from, and its card."""
        return await asyncio.to_thread(lambda: json_response({"versions": describe_versions(registry)}))

    @router.post("/reload", responses={200: {"model": ReloadResponse}, **error_responses(401, 403, 409, 421, 503, 504)})
    async def reload() -> Response:
        """Check all folders and load what has changed; only on a server with a token."""
        if not settings.token:
            raise ApiError(
                403, "reload_needs_token", "only a server with --token-file reloads on request; send it SIGHUP"
            )
        outcomes = await asyncio.shield(registry.reload())
        if failed := [name for name, outcome in outcomes.items() if outcome == "failed"]:
            raise ApiError(
                409,
                "reload_failed",
                f"the new {', '.join(failed)} cannot be loaded, so the old one is still served; "
                "the log of the server says why",
            )
        return json_response({"versions": outcomes})

    return router


def _thresholds(request: PredictRequest, served: ServedVersion) -> dict[str, float]:
    """Return the thresholds by type, and refuse what this version cannot do."""
    given = request.threshold
    thresholds = dict(given) if isinstance(given, dict) else {ALL_OTHERS: given}
    types = served.version.types
    try:
        require_thresholds(thresholds, types)
        known = frozenset(types)
        if strange := [type_ for type_ in request.types or () if type_ not in known]:
            raise unknown("type", strange[0][:80], types)
    except InputError as error:
        raise ApiError(422, "unknown_type", str(error)) from None
    if request.calibrated and not served.version.lineage.calibration:
        raise ApiError(422, "not_calibrated", f"{served.name} is not calibrated; ask without calibrated")
    return thresholds


def _prediction(
    request: PredictRequest, served: ServedVersion, thresholds: dict[str, float], found: Sequence[Entities]
) -> Response:
    wanted = frozenset(request.types or served.version.types)
    results = []
    for entities in found:
        scored = served.version.calibrated(entities) if request.calibrated else entities
        kept = above_threshold(scored, thresholds)
        results.append({"entities": [entity for entity in kept if entity["entity_group"] in wanted]})
    return json_response({"version": _reference(served), "results": results})


def _reference(served: ServedVersion) -> dict[str, str]:
    return {"name": served.name, "hash": served.hash}


def _comparison(
    texts: Sequence[str], old: ServedVersion, new: ServedVersion, before: Sequence[Entities], after: Sequence[Entities]
) -> dict[str, Any]:
    """Return the changes of every text and their totals."""
    sides = [tuple(_by_span(entities) for entities in pair) for pair in zip(before, after, strict=True)]
    changed = [changes(a, b) for a, b in sides]
    cases = [Case(number, text, some) for number, (text, some) in enumerate(zip(texts, changed, strict=True), 1)]
    types = TypeSets.of(old.version.types, new.version.types, Texts(()))
    found = compare_predictions(types, cases)
    document = found.as_dict()
    return {
        "old": _reference(old),
        "new": _reference(new),
        "types": {name: list(getattr(types, name)) for name in ("old", "gained", "dropped")},
        "changes": {kind: document["changes"][kind] for kind in CHANGE_KINDS},
        "agreement": document["agreement"],
        "results": [
            {"changes": [_change(change, *side) for change in some]} for some, side in zip(changed, sides, strict=True)
        ],
    }


def _by_span(entities: Entities) -> dict[Span, dict[str, Any]]:
    return {Span(entity["start"], entity["end"], entity["entity_group"]): entity for entity in entities}


def _change(change: Change, old: dict[Span, Any], new: dict[Span, Any]) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "old": None if change.old is None else old[change.old],
        "new": None if change.new is None else new[change.new],
    }
