"""What papers print, beside what was measured: only where nothing shows that the data differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from retainer.bench.preset import Preset
from retainer.bench.result import CellResult
from retainer.data.tasks import group_types
from retainer.methods import METHODS
from retainer.report.bench.numbers import pair
from retainer.report.bench.rows import MethodRow

_PublishedScores = Mapping[str, tuple[float, float]]
"""Micro and macro F1 by method."""


@dataclass(frozen=True)
class Published:
    """The published scores that may stand beside the rows of a setting, and what to keep in mind about them."""

    scores: _PublishedScores = field(default_factory=dict)
    misprints: Mapping[str, str] = field(default_factory=dict)
    """Scores that cannot be right, by method: why."""
    encoder: str = ""
    """What they were measured with."""
    caveats: tuple[str, ...] = ()
    """Why there are none, what is not checked, what is misprinted; empty where there is nothing to mention."""

    def text(self, method: str) -> str:
        """Write what is printed for a method; a question mark where that cannot be right."""
        mark = " ?" if method in self.misprints else ""
        return pair(*self.scores[method]) + mark if method in self.scores else ""


def published(preset: Preset | None, setting: str, rows: Sequence[MethodRow]) -> Published:
    """Return what papers print for a setting, unless its cells contradict that they were measured on that corpus."""
    if preset is None or setting not in preset.published:
        return Published()
    if other := _other_tasks(preset, setting, rows) or _other_counts(preset, rows):
        return Published(caveats=(f"published scores are left out: {other}, so these are not the papers' data",))
    misprints = preset.misprints.get(setting, {})
    shown = dict.fromkeys(row.method for row in rows if row.method in misprints)
    caveats = [f"? {method} as printed, but {misprints[method]}" for method in shown]
    if not preset.test:
        caveats.append("published scores: whether the papers' data were the same was not checked")
    encoder = preset.paper.encoder if preset.paper else ""
    return Published(preset.published[setting], misprints, encoder, tuple(caveats))


def _other_tasks(preset: Preset, setting: str, rows: Sequence[MethodRow]) -> str:
    """Report how the tasks differ from those of the papers; all cells of a setting have the same, so one is checked."""
    one = preset.setting(setting)
    wanted = [list(group) for group in group_types(one.types or preset.types, one.fg, one.pg)]
    found = [list(task.types) for task in rows[0].cells[0].tasks]
    return "" if found == wanted else f"the tasks are not those of {preset.name}"


def _other_counts(preset: Preset, rows: Sequence[MethodRow]) -> str:
    """Report where the test set has another number of entities; code that loses a sentence is not checked."""
    for row in rows:
        if row.method in METHODS and METHODS[row.method].quirks.lost_last:
            continue
        for cell in row.cells:
            for type_, wanted in preset.test.items():
                found = _support(cell, type_)
                if found is not None and found != wanted:
                    return f"{row.name} was tested on {found:,} entities of type {type_}, not on {wanted:,}"
    return ""


def _support(cell: CellResult, type_: str) -> int | None:
    """Return how many entities of a type the test set of a cell has."""
    scores = cell.tasks[-1].per_type.get(type_)
    return None if scores is None or "support" not in scores else int(scores["support"])
