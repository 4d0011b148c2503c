"""The regions of an annotation of Label Studio as spans of characters; what is no entity is left out with a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retainer.data.formats.char_spans import place_spans
from retainer.data.formats.labelstudio import without_space
from retainer.data.formats.offset_units import CODE_POINTS, UTF16_UNITS, OffsetUnit, find_offset_unit
from retainer.data.spans import Span
from retainer.errors import InputError, quoted, shortened
from retainer.plurals import amount
from retainer.serve.label_studio.label_config import LabelConfig

_MOST_KINDS = 10
"""Kinds of results, or labels, that a message names."""


@dataclass(frozen=True)
class MarkedSpans:
    """What an annotation marks in a text."""

    spans: tuple[Span, ...]
    messages: tuple[str, ...]
    """What was left out."""


@dataclass(frozen=True)
class _Mark:
    """A region with a label."""

    number: int
    start: int
    end: int
    label: str
    shown: str | None

    def fits(self, unit: OffsetUnit, text: str) -> bool:
        """Say whether it shows what it covers, white space aside."""
        covered = unit.covered(text, self.start, self.end)
        return covered is not None and (self.shown is None or without_space(covered) == without_space(self.shown))


def marked_spans(
    text: str, result: Sequence[Mapping[str, Any]], config: LabelConfig, types: Mapping[str, str]
) -> MarkedSpans:
    """Return the entities of an annotation; ``types`` has the type of every label.

    Label Studio counts characters. Older releases, and tools that write annotations into it, count UTF-16 code units,
    so where the regions show their text, that decides. What does not fit the text is refused: it is of another one.
    """
    ignored: Counter[str] = Counter()
    found = [mark for number, one in enumerate(result, 1) if (mark := _mark(number, one, config, ignored))]
    unknown = Counter(mark.label for mark in found if mark.label not in types)
    marks = [mark for mark in found if mark.label in types]
    unit = find_offset_unit(text, (CODE_POINTS, UTF16_UNITS), lambda unit: all(mark.fits(unit, text) for mark in marks))
    spans = tuple(sorted({_span(mark, unit, text, types[mark.label]) for mark in marks}))
    place_spans(text, spans, Counter())
    said = (
        _message("result", "ignored, because no entity is marked", ignored),
        _message("region", "left out, because the label is not in the config", unknown),
    )
    return MarkedSpans(spans, tuple(one for one in said if one))


def _mark(number: int, item: Mapping[str, Any], config: LabelConfig, ignored: Counter[str]) -> _Mark | None:
    kind = item.get("type")
    mine = kind == "labels" and item.get("from_name") == config.from_name and item.get("to_name") == config.to_name
    value = item.get("value")
    if not mine or not isinstance(value, dict) or not value.get("labels"):
        ignored[kind if isinstance(kind, str) and kind else "without a type"] += 1
        return None
    labels, start, end = value["labels"], value.get("start"), value.get("end")
    if not isinstance(labels, list) or len(labels) != 1 or not isinstance(labels[0], str):
        raise InputError(f"result {number} has several labels; an entity has one type, keep one")
    if type(start) is not int or type(end) is not int:
        raise InputError(f"result {number} has no start and end that count characters of the text")
    shown = value.get("text")
    return _Mark(number, start, end, labels[0], shown if isinstance(shown, str) else None)


def _span(mark: _Mark, unit: OffsetUnit, text: str, type_: str) -> Span:
    where = f"result {mark.number} ({shortened(mark.label)}, {mark.start}-{mark.end})"
    if not unit.holds(mark.start, mark.end):
        raise InputError(f"{where} lies outside the text of the task; did the text change?")
    if not mark.fits(unit, text):
        raise InputError(f"{where} shows other words than the text of the task has there; did the text change?")
    return Span(unit.positions[mark.start], unit.positions[mark.end], type_)


def _message(what: str, became: str, counts: Counter[str]) -> str:
    kinds = ", ".join(quoted(kind) for kind in list(counts)[:_MOST_KINDS])
    return f"{amount(counts.total(), what)} {became}: {kinds}" if counts else ""
