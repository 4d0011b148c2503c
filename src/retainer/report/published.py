"""What papers print beside what was measured: only where nothing says that the data were others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from retainer.methods import METHODS
from retainer.preset import Preset
from retainer.report.rows import Row
from retainer.tasks import group_types

Scores = Mapping[str, tuple[float, float]]
"""Micro and macro F1 by method."""


@dataclass(frozen=True)
class Published:
    """The published scores that may stand beside the rows of a setting, and what to keep in mind about them."""

    scores: Scores = field(default_factory=dict)
    caveat: str = ""
    """Why there are none, or what nobody has checked; nothing where there is nothing to say."""


def published(preset: Preset | None, setting: str, rows: Sequence[Row]) -> Published:
    """Return what papers print for a setting, unless its cells contradict that they were measured on that corpus."""
    printed = {} if preset is None else preset.published.get(setting, {})
    if preset is None or not printed:
        return Published()
    if other := _other_tasks(preset, setting, rows) or _other_counts(preset, rows):
        return Published(caveat=f"published scores are left out: {other}, so these are other data than the papers'")
    if not preset.test:
        return Published(printed, "published scores: whether the papers' data were the same was not checked")
    return Published(printed)


def _other_tasks(preset: Preset, setting: str, rows: Sequence[Row]) -> str:
    """Say how the tasks differ from those of the papers; cells of one setting have the same, so one is looked at."""
    one = preset.setting(setting)
    wanted = [list(group) for group in group_types(one.types or preset.types, one.fg, one.pg)]
    found = [task["types"] for task in rows[0].cells[0]["tasks"]]
    return "" if found == wanted else f"the tasks are not those of {preset.name}"


def _other_counts(preset: Preset, rows: Sequence[Row]) -> str:
    """Say where the test set has another number of entities; code that loses a sentence cannot tell."""
    for row in rows:
        if row.method in METHODS and METHODS[row.method].quirks.lost_last:
            continue
        for cell in row.cells:
            for type_, wanted in preset.test.items():
                found = _support(cell, type_)
                if found is not None and found != wanted:
                    return f"{row.name} was tested on {found:,} entities of type {type_}, not on {wanted:,}"
    return ""


def _support(cell: Mapping[str, Any], type_: str) -> int | None:
    """Return how many entities of a type the test set of a cell has."""
    counted = cell["tasks"][-1].get("per_type", {}).get(type_, {}).get("support")
    return None if counted is None else int(counted)
