"""The questions a server answers under /v1."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Response

from retainer.comparison.changes import KINDS, Case, Change, changes
from retainer.comparison.compare import compare_found
from retainer.comparison.type_sets import Types
from retainer.data.spans import Span
from retainer.data.texts import Texts
from retainer.errors import InputError, unknown
from retainer.metrics.thresholds import ALL, above, require_thresholds
from retainer.serve.batches import Entities
from retainer.serve.registry import Registry, ServedVersion
from retainer.serve.responses import Complaint, Refusal, is_whole, told
from retainer.serve.schemas import Compare, Comparison, Predict, Prediction, Reloaded, Versions
from retainer.serve.settings import Limits, Settings
from retainer.serve.version_info import about

REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Complaint, "description": "The body is no JSON."},
    401: {"model": Complaint, "description": "The token is missing or wrong."},
    408: {"model": Complaint, "description": "The body came too slowly."},
    413: {"model": Complaint, "description": "The body is too large."},
    415: {"model": Complaint, "description": "The body is not declared as application/json."},
    421: {"model": Complaint, "description": "The host is not one this server answers to."},
    422: {"model": Complaint, "description": "The question cannot be answered as it is."},
    503: {"model": Complaint, "description": "Too many requests at once, or the server is about to stop."},
    504: {"model": Complaint, "description": "It took too long."},
}
"""What may be said instead of a result."""
LONG = 2_000
"""Entities of an answer that is written in another thread, so that nobody else waits for it."""


def asked(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return some refusals for the OpenAPI document."""
    return {status: REFUSALS[status] for status in statuses}


def api(roster: Registry, settings: Settings) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/v1")
    limits = settings.limits

    @router.post("/predict", responses={200: {"model": Prediction}, **REFUSALS})
    async def predict(question: Predict) -> Response:
        """Find the entities of one text or of many."""
        texts = _allowed(question.all, limits)
        duty = roster.pick(question.version)
        least = _least(question, duty)
        found = await duty.batches.submit(texts)
        if sum(map(len, found)) > LONG:
            return await asyncio.to_thread(_predicted, question, duty, least, found)
        return _predicted(question, duty, least, found)

    @router.post("/compare", responses={200: {"model": Comparison}, **REFUSALS})
    async def compare(question: Compare) -> Response:
        """See what a new version keeps, moves, relabels, loses and gains beside an old one."""
        texts = _allowed(question.all, limits)
        old, new = roster.pick(question.old), roster.pick(question.new)
        before, after = await asyncio.gather(old.batches.submit(texts), new.batches.submit(texts))
        return await asyncio.to_thread(lambda: told(_compared(texts, old, new, before, after)))

    @router.get("/versions", responses={200: {"model": Versions}, **asked(401, 421)})
    async def versions() -> Response:
        """Say who is on duty: types, scores, where each version comes from, and its card."""
        return await asyncio.to_thread(lambda: told({"versions": about(roster)}))

    @router.post("/reload", responses={200: {"model": Reloaded}, **asked(401, 421, 503, 504)} | _reload_refusals())
    async def reload() -> Response:
        """Look at all folders again and load what changed; only where the server asks for a token."""
        if not settings.token:
            raise Refusal(
                403, "reload_needs_token", "only a server with --token-file reloads on request; send it SIGHUP"
            )
        outcomes = await asyncio.shield(roster.reload())
        if bad := [name for name, outcome in outcomes.items() if outcome == "failed"]:
            raise Refusal(
                409, "reload_failed", f"the old {', '.join(bad)} stays on duty; the log of the server says why"
            )
        return told({"versions": outcomes})

    return router


def _reload_refusals() -> dict[int | str, dict[str, Any]]:
    return {
        403: {"model": Complaint, "description": "The server was started without a token."},
        409: {"model": Complaint, "description": "What lies in a folder now cannot be loaded; the old stays on duty."},
    }


def _allowed(texts: list[str], limits: Limits) -> list[str]:
    """Refuse more than a request may hold."""
    if len(texts) > limits.texts:
        raise Refusal(422, "too_many_texts", f"a request may hold {limits.texts} texts, this one holds {len(texts)}")
    for number, text in enumerate(texts, 1):
        if len(text) > limits.characters:
            raise Refusal(
                422, "text_too_long", f"a text may have {limits.characters} characters, number {number} has {len(text)}"
            )
        if not is_whole(text):
            raise Refusal(422, "invalid_text", f"text {number} holds half a character (a lone surrogate)")
    return texts


def _least(question: Predict, duty: ServedVersion) -> dict[str, float]:
    """Return the thresholds, and refuse what this version cannot do."""
    given = question.threshold
    least = dict(given) if isinstance(given, dict) else {ALL: given}
    types = duty.version.types
    try:
        require_thresholds(least, types)
        if strange := [type_ for type_ in question.types or () if type_ not in types]:
            raise unknown("type", strange[0][:80], types)
    except InputError as error:
        raise Refusal(422, "unknown_type", str(error)) from None
    if question.calibrated and not duty.version.lineage.calibration:
        raise Refusal(422, "not_calibrated", f"{duty.name} was never calibrated, so its scores cannot be")
    return least


def _wanted(found: Entities, question: Predict, least: dict[str, float], duty: ServedVersion) -> Entities:
    scored = duty.version.calibrated(found) if question.calibrated else found
    kept = above(scored, least)
    return [one for one in kept if one["entity_group"] in question.types] if question.types else kept


def _predicted(question: Predict, duty: ServedVersion, least: dict[str, float], found: Sequence[Entities]) -> Response:
    results = [{"entities": _wanted(one, question, least, duty)} for one in found]
    return told({"version": _named(duty), "results": results})


def _named(duty: ServedVersion) -> dict[str, str]:
    return {"name": duty.name, "hash": duty.hash}


def _compared(
    texts: Sequence[str], old: ServedVersion, new: ServedVersion, before: Sequence[Entities], after: Sequence[Entities]
) -> dict[str, Any]:
    """Say what became of every entity, text by text and in sum."""
    sides = [tuple(_by_place(one) for one in pair) for pair in zip(before, after, strict=True)]
    fates = [changes(a, b) for a, b in sides]
    cases = [Case(number, text, fate) for number, (text, fate) in enumerate(zip(texts, fates, strict=True), 1)]
    types = Types.of(old.version.types, new.version.types, Texts(()))
    found = compare_found(types, cases)
    document = found.as_dict()
    return {
        "old": _named(old),
        "new": _named(new),
        "types": {name: list(getattr(types, name)) for name in ("old", "gained", "dropped")},
        "changes": {kind: document["changes"][kind] for kind in KINDS},
        "agreement": document["agreement"],
        "results": [
            {"changes": [_fate(change, *side) for change in fate]} for fate, side in zip(fates, sides, strict=True)
        ],
    }


def _by_place(found: Entities) -> dict[Span, dict[str, Any]]:
    return {Span(one["start"], one["end"], one["entity_group"]): one for one in found}


def _fate(change: Change, old: dict[Span, Any], new: dict[Span, Any]) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "old": None if change.old is None else old[change.old],
        "new": None if change.new is None else new[change.new],
    }
