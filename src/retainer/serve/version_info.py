"""What a version on duty tells about itself: types, scores, and the versions it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from retainer.serve.registry import Registry, ServedVersion
from retainer.versions.history import RecordedScores, describe_version, origins, versions_of
from retainer.versions.lineage import Lineage

UNTOLD = ("files", "parent_files", "recipe", "fields", "versions")
"""Of a record, what nobody needs who asks a server; ``retainer log --json`` has it."""


def about(roster: Registry) -> list[dict[str, Any]]:
    """Describe all versions on duty, in their order."""
    names = {duty.hash: duty.name for duty in reversed(list(roster))}
    return [_about(duty, at == 0, names, roster) for at, duty in enumerate(roster)]


def _about(duty: ServedVersion, first: bool, names: Mapping[str, str], roster: Registry) -> dict[str, Any]:
    version, lineage = duty.version, duty.version.lineage
    chain = versions_of(lineage) if lineage.created else []
    failed = roster.failed.get(duty.name)
    return {
        "name": duty.name,
        "hash": duty.hash,
        "default": first,
        "types": list(version.types),
        "new_types": list(version.new_types),
        "pending_types": list(lineage.pending),
        "calibrated_types": [type_ for type_ in version.types if type_ in lineage.calibration],
        "loaded": duty.since.isoformat(timespec="seconds"),
        "reload_failed": None if failed is None else failed.isoformat(timespec="seconds"),
        "scores": _scores(lineage, version.types) if chain else {},
        "lineage": [_step(one, number, names) for number, one in reversed(list(enumerate(chain, 1)))],
        "card": duty.card,
    }


def _scores(lineage: Lineage, types: Iterable[str]) -> dict[str, Any]:
    """Return by type the version that brought it, and what was measured of it then, before the last task, and now."""
    known = origins(lineage)
    return {
        type_: {
            "learned_in": one.version,
            "then": _plain(one.then),
            "before": _plain(one.before),
            "now": _plain(one.now),
            "fate": _plain(one.fate),
            "story": one.story,
        }
        for type_ in types
        if (one := known.get(type_))
    }


def _plain(scores: RecordedScores | Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if scores is None else dict(scores)


def _step(one: Lineage, number: int, names: Mapping[str, str]) -> dict[str, Any]:
    """Return one record of the chain, and under which name that version is on duty here, if it is."""
    gained = list(one.tasks[-1]) if one.tasks and not one.change else []
    record = {name: value for name, value in one.record.items() if name not in UNTOLD}
    return {
        **record,
        "number": number,
        "hash": one.own_hash,
        "served_as": names.get(one.own_hash),
        "what": describe_version(one),
        "gained": gained,
        "types": [type_ for task in one.tasks for type_ in task],
    }
