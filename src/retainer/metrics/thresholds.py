"""The least score an entity must have to be told: one per type, and one for all other types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from retainer.errors import InputError, unknown

ALL = "all"
"""What stands for the types that have no threshold of their own."""


def require_thresholds(least: Mapping[str, float], types: Iterable[str]) -> None:
    """Refuse types nobody knows, and numbers that are no score."""
    known = (*types, ALL)
    for type_, score in least.items():
        if type_ not in known:
            raise unknown("type", type_, known)
        if not 0 <= score <= 1:
            raise InputError(f"a threshold is a score from 0 to 1, not {score} ({type_})")


def above(found: Iterable[dict[str, Any]], least: Mapping[str, float]) -> list[dict[str, Any]]:
    """Leave out the entities that score less."""
    others = least.get(ALL, 0.0)
    return [one for one in found if one["score"] >= least.get(one["entity_group"], others)]
