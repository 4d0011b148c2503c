"""What a served version says about itself: types, scores, and the versions it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from retainer.serve.model_paths import public_path
from retainer.serve.registry import Registry, ServedVersion
from retainer.versions.history import RecordedScores, describe_version, origins, versions_of
from retainer.versions.lineage import Lineage

OMITTED_KEYS = ("files", "parent_files", "recipe", "fields", "versions")
"""Keys of a record that clients of a server do not need; ``retainer log --json`` has them."""


def describe_versions(registry: Registry) -> list[dict[str, Any]]:
    """Describe all served versions, in their order."""
    names = {served.hash: served.name for served in reversed(list(registry))}
    return [_describe(served, index == 0, names, registry) for index, served in enumerate(registry)]


def _describe(served: ServedVersion, default: bool, names: Mapping[str, str], registry: Registry) -> dict[str, Any]:
    version, lineage = served.version, served.version.lineage
    history = versions_of(lineage) if lineage.created else []
    failed = registry.failed.get(served.name)
    return {
        "name": served.name,
        "folder": public_path(registry.paths[served.name]),
        "hash": served.hash,
        "default": default,
        "types": list(version.types),
        "new_types": list(version.new_types),
        "pending_types": list(lineage.pending),
        "calibrated_types": [type_ for type_ in version.types if type_ in lineage.calibration],
        "loaded": served.loaded_at.isoformat(timespec="seconds"),
        "reload_failed": None if failed is None else failed.isoformat(timespec="seconds"),
        "scores": _scores(lineage, version.types) if history else {},
        "lineage": [_step(one, number, names) for number, one in reversed(list(enumerate(history, 1)))],
        "card": served.card,
    }


def _scores(lineage: Lineage, types: Iterable[str]) -> dict[str, Any]:
    """Return by type the version that brought it, and its scores then, before the last task, and now."""
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
    """Return one record of the history, and the name under which that version is served here, if it is."""
    gained = list(one.tasks[-1]) if one.tasks and not one.change else []
    record = {name: value for name, value in one.record.items() if name not in OMITTED_KEYS}
    return {
        **record,
        "number": number,
        "hash": one.own_hash,
        "served_as": names.get(one.own_hash),
        "what": describe_version(one),
        "gained": gained,
        "types": [type_ for task in one.tasks for type_ in task],
    }
