"""The least score an entity needs to be returned: one per type, and one for all other types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from retainer.errors import InputError, unknown

ALL_OTHERS = "all"
"""What stands for the types that have no threshold of their own."""


def require_thresholds(least: Mapping[str, float], types: Iterable[str]) -> None:
    """Refuse types the version does not know, and values that are not a score."""
    known = (*types, ALL_OTHERS)
    for type_, score in least.items():
        if type_ not in known:
            raise unknown("type", type_, known)
        if not 0 <= score <= 1:
            raise InputError(f"a threshold is a score from 0 to 1, not {score} ({type_})")


def above_threshold(found: Iterable[dict[str, Any]], least: Mapping[str, float]) -> list[dict[str, Any]]:
    """Leave out the entities that score less."""
    others = least.get(ALL_OTHERS, 0.0)
    return [one for one in found if one["score"] >= least.get(one["entity_group"], others)]
