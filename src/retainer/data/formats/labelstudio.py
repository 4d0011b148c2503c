"""The JSON of Label Studio: a list of tasks, each with a text and with annotations or predictions of its regions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from retainer.data.corpus import Corpus
from retainer.data.formats.char_spans import place_spans, text_and_spans_to_write
from retainer.data.formats.offset_units import CODE_POINTS, UTF16_UNITS, OffsetUnit, find_offset_unit
from retainer.data.formats.records import (
    JsonRecord,
    each_member,
    numbered_members,
    record_line,
    require_field,
    require_kind,
    sniff_list,
)
from retainer.data.lines import error_location, write_sentences
from retainer.data.oddities import Oddities
from retainer.data.spans import Sentence, Span
from retainer.data.suggested import Suggested
from retainer.errors import InputError, quoted, shortened

FURTHER_ANNOTATIONS = "further annotations of a task, of which the first counts"
CANCELLED_TASKS = "tasks whose annotation was cancelled"
TASKS_WITHOUT_ANNOTATION = "tasks without annotation"
TASKS_WITH_PREDICTIONS = "tasks with predictions only, taken as they are"
OTHER_RESULTS = "results that mark no entity"

_ANNOTATION_KEYS = ("annotations", "completions")
"""Where the annotations of a task stand; the second is the name of releases before 1.0."""
_JSON_MIN_KEYS = {"annotator", "annotation_id"}
"""Keys by which the rows of a JSON-MIN export are known, since a row without a region has no others."""
_CONTROL, _OBJECT = "label", "text"
"""The names of the tags in the labelling configuration of Label Studio's template for named entities."""
_SPACE = re.compile(r"\s|\\n")
"""What the shown text of a region lacks or writes differently: it is what the browser displayed."""


@dataclass(frozen=True, slots=True)
class _Region:
    """A marked part of a text."""

    start: int
    end: int
    label: str
    text: str | None

    def fits(self, unit: OffsetUnit, text: str) -> bool:
        """Say whether it shows what it covers, white space aside."""
        if self.text is None:
            return True
        covered = unit.covered(text, self.start, self.end)
        return covered is not None and without_space(covered) == without_space(self.text)


def sniff_labelstudio(line: str) -> bool:
    """Recognise a list of objects; other tools write one object per line."""
    return sniff_list(line)


def read_labelstudio(text: str, source: str = "memory") -> Corpus:
    """Read an export as JSON or JSON-MIN, or a file of predictions.

    Of several annotations the first that was not cancelled counts. Predictions count only in a file in which no task
    is annotated: among corrected tasks those without annotation are skipped.
    """
    oddities = Oddities(source)
    tasks = list(numbered_tasks(text, source))
    chooser = _AnnotationChooser(_corrected(tasks), oddities)
    sentences = []
    for where, task in tasks:
        oddities.where = where
        with error_location(where):
            regions = chooser.regions(task)
            if regions is not None:
                sentences.append(_sentence(text_of_task(task), regions, oddities))
    found = tuple(sentence for sentence in sentences if sentence is not None)
    return Corpus(found, source, "labelstudio", oddities=dict(+oddities), odd_places=oddities.places)


def write_labelstudio(sentences: Iterable[Sentence]) -> str:
    """Write tasks with an annotation each; the format does not hold words, so reading cuts the text anew."""
    return _list(write_sentences(sentences, lambda sentence: record_line(_task(sentence, "annotations", {}, []))))


def suggest_labelstudio(sentences: Iterable[Suggested], model: str) -> str:
    """Write tasks with a prediction each; the least certain entity gives the score of its task, to sort by."""
    return _list(write_sentences(sentences, lambda sentence: record_line(_prediction(sentence, model))))


def numbered_tasks(text: str, source: str) -> Iterator[tuple[str, JsonRecord]]:
    """Yield every task with its place; a whole export is often one line, so tasks are counted too."""
    for number, (where, task) in enumerate(numbered_members(text, source), 1):
        yield f"{where}: task {number}", task


def text_of_task(task: JsonRecord) -> str:
    """Return the text of a task: under the key ``text``, or the only string it has."""
    if "data" not in task:
        return require_field(task, "text", str)
    data = require_field(task, "data", dict)
    strings = [value for value in data.values() if isinstance(value, str)]
    if "text" not in data and len(strings) == 1:
        return strings[0]
    with error_location("data"):
        return require_field(data, "text", str)


# ------------------------------------------------------------------------------------------------------- reading


class _AnnotationChooser:
    """Chooses the annotation that counts for every task."""

    def __init__(self, corrected: bool, oddities: Counter[str]) -> None:
        self._corrected, self._oddities = corrected, oddities
        self._ids: set[str] = set()

    def regions(self, task: JsonRecord) -> list[_Region] | None:
        """Return the regions of a task, or None where it is skipped."""
        if "data" not in task:
            return self._row(task)
        chosen = self._chosen(task)
        if chosen is None:
            return None
        regions = each_member(chosen, "result", lambda item: self._region(require_kind(item, dict)))
        return [region for region in regions if region is not None]

    def _row(self, task: JsonRecord) -> list[_Region] | None:
        """Take a row of a JSON-MIN export: lists of regions by the names of their tags, a row per annotation."""
        keys = [key for key, value in task.items() if _is_region_list(value)]
        if not keys and _JSON_MIN_KEYS.isdisjoint(task):
            found = shortened(", ".join(task)) or "(none)"
            raise InputError(
                f"found the keys {found}; a list must hold tasks of Label Studio (data "
                "and annotations); write records of other tools as one JSON object per line"
            )
        id_ = repr(task.get("id"))  # a damaged file may have a list there
        if task.get("id") is not None and id_ in self._ids:
            self._oddities[FURTHER_ANNOTATIONS] += 1
            return None
        self._ids.add(id_)
        parts = [each_member(task, key, lambda item: self._value(require_kind(item, dict))) for key in keys]
        return [region for part in parts for region in part if region is not None]

    def _chosen(self, task: JsonRecord) -> JsonRecord | None:
        annotations = _annotations(task)
        kept = [one for one in annotations if not (one.get("was_cancelled") or one.get("skipped"))]
        if annotations and not kept:
            self._oddities[CANCELLED_TASKS] += 1
            return None
        predictions = [] if self._corrected else _objects(task, "predictions")
        self._oddities[TASKS_WITH_PREDICTIONS] += bool(predictions)
        kept = kept or predictions
        self._oddities[FURTHER_ANNOTATIONS if kept else TASKS_WITHOUT_ANNOTATION] += len(kept) - 1 if kept else 1
        return kept[0] if kept else None

    def _region(self, item: JsonRecord) -> _Region | None:
        type_ = item.get("type")
        if type_ == "labels":
            value = require_field(item, "value", dict)
            with error_location("value"):
                return self._value(value)
        if isinstance(type_, str) and type_.endswith("labels"):
            raise InputError(f"the type is {quoted(type_)}; only labels of plain text can be read")
        self._oddities[OTHER_RESULTS] += 1
        return None

    def _value(self, value: JsonRecord) -> _Region | None:
        labels = [require_kind(label, str) for label in require_field(value, "labels", list)]
        if len(labels) > 1:
            raise InputError(
                f"found the labels {shortened(', '.join(labels))} on one region; an entity has one type, keep one"
            )
        if not labels or not labels[0]:
            self._oddities[OTHER_RESULTS] += 1
            return None
        shown = value.get("text")
        return _Region(
            require_field(value, "start", int),
            require_field(value, "end", int),
            labels[0],
            shown if isinstance(shown, str) else None,
        )


def _corrected(tasks: Iterable[tuple[str, JsonRecord]]) -> bool:
    """Say whether a task of the file is annotated."""
    for where, task in tasks:
        with error_location(where):
            if _annotations(task):
                return True
    return False


def _annotations(task: JsonRecord) -> list[JsonRecord]:
    return [one for key in _ANNOTATION_KEYS for one in _objects(task, key)]


def _objects(task: JsonRecord, key: str) -> list[JsonRecord]:
    return each_member(task, key, lambda item: require_kind(item, dict)) if task.get(key) else []


def _is_region_list(value: Any) -> bool:
    """Say whether a value of a JSON-MIN row is a list of regions."""
    return (
        isinstance(value, list) and bool(value) and all(isinstance(item, dict) and "labels" in item for item in value)
    )


def _sentence(text: str, regions: list[_Region], oddities: Counter[str]) -> Sentence | None:
    unit = find_offset_unit(
        text, (CODE_POINTS, UTF16_UNITS), lambda unit: all(region.fits(unit, text) for region in regions)
    )
    oddities.update(unit.oddities)
    return place_spans(text, [_span(region, unit, text) for region in regions], oddities)


def _span(region: _Region, unit: OffsetUnit, text: str) -> Span:
    where = f"{region.start}-{region.end}"
    if not unit.holds(region.start, region.end):
        raise InputError(
            f"span {where} ({shortened(region.label)}) is empty or lies outside the text of {len(text)} characters"
        )
    if not region.fits(unit, text):
        found = text[region.start : region.end]
        raise InputError(
            f"the text of a region is {quoted(str(region.text))}, but the task has {quoted(found)} at {where}"
        )
    return Span(unit.positions[region.start], unit.positions[region.end], region.label)


def without_space(text: str) -> str:
    """Return a text as it can be compared with what a browser displayed."""
    return _SPACE.sub("", text)


# ------------------------------------------------------------------------------------------------------- writing


def _list(lines: str) -> str:
    """Make a JSON list of lines with an object each: a task keeps its line, which people and diffs can read."""
    return "[\n" + lines[:-1].replace("\n", ",\n") + "\n]\n" if lines else ""


def _prediction(sentence: Suggested, model: str) -> JsonRecord:
    score = {"score": min(sentence.scores)} if sentence.scores else {}
    return _task(sentence, "predictions", {"model_version": model, **score}, [{"score": s} for s in sentence.scores])


def _task(sentence: Sentence, key: str, about: JsonRecord, more: list[JsonRecord]) -> JsonRecord:
    """Return a task with one annotation or prediction; ``more`` holds what else is known of every region."""
    text, spans = text_and_spans_to_write(sentence)
    more = more or [{} for _ in spans]
    result = [_result(n, span, text) | extra for n, (span, extra) in enumerate(zip(spans, more, strict=True), 1)]
    return {"data": {"text": text}, key: [{**about, "result": result}]}


def _result(number: int, span: Span, text: str) -> JsonRecord:
    place = {"start": span.start, "end": span.end, "text": text[span.start : span.end], "labels": [span.type]}
    return {"id": f"e{number}", "from_name": _CONTROL, "to_name": _OBJECT, "type": "labels", "value": place}
