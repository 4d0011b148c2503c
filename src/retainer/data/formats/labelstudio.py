"""The JSON of Label Studio: a list of tasks, each with a text and with annotations or predictions of its regions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from retainer.data.corpus import Corpus
from retainer.data.formats.char_spans import marked, visible
from retainer.data.formats.offset_units import POINTS, UTF16, OffsetUnit, offset_unit_for
from retainer.data.formats.records import Record, checked, dump, each, field, listed, sniff_list
from retainer.data.lines import error_location, written
from retainer.data.spans import Sentence, Span
from retainer.data.suggested import Suggested
from retainer.errors import InputError

FURTHER = "further annotations of a task, of which the first counts"
CANCELLED = "tasks whose annotation was cancelled"
BARE = "tasks that nobody annotated"
GUESSED = "tasks with predictions only, taken as they are"
OTHER = "results that mark no entity"

_MADE = ("annotations", "completions")
"""Where the annotations of a task stand; the second is the name of releases before 1.0."""
_MIN = {"annotator", "annotation_id"}
"""Keys by which the rows of a JSON-MIN export are known, for a row without a region has no other."""
_CONTROL, _OBJECT = "label", "text"
"""The names of the tags in the labelling configuration of Label Studio's template for named entities."""
_SPACE = re.compile(r"\s|\\n")
"""What the shown text of a region lacks or spells otherwise: it is what the browser displayed."""


@dataclass(frozen=True, slots=True)
class _Region:
    """A marked part of a text."""

    start: int
    end: int
    label: str
    text: str | None

    def fits(self, ruler: OffsetUnit, text: str) -> bool:
        """Say whether it shows what it covers, white space aside."""
        covered = ruler.covered(text, self.start, self.end)
        return self.text is None or (covered is not None and _bare(covered) == _bare(self.text))


def sniff_labelstudio(line: str) -> bool:
    """Recognise a list of objects; other tools write one object per line."""
    return sniff_list(line)


def read_labelstudio(text: str, source: str = "memory") -> Corpus:
    """Read an export as JSON or JSON-MIN, or a file of predictions.

    Of several annotations the first that was not cancelled counts. Predictions count only in a file in which no task
    was annotated: among corrected tasks those that nobody has looked at are passed over.
    """
    seen: Counter[str] = Counter()
    tasks = list(numbered_tasks(text, source))
    rows = _Rows(_corrected(tasks), seen)
    sentences = []
    for where, task in tasks:
        with error_location(where):
            regions = rows.regions(task)
            if regions is not None:
                sentences.append(_sentence(text_of(task), regions, seen))
    found = tuple(sentence for sentence in sentences if sentence is not None)
    return Corpus(found, source, "labelstudio", oddities=dict(+seen))


def write_labelstudio(sentences: Iterable[Sentence]) -> str:
    """Write tasks with an annotation each; there is no place for words, so reading cuts the text anew."""
    return _list(written(sentences, lambda sentence: dump(_task(sentence, "annotations", {}, []))))


def suggest_labelstudio(sentences: Iterable[Suggested], model: str) -> str:
    """Write tasks with a prediction each; the least certain entity gives the score of its task, to sort by."""
    return _list(written(sentences, lambda sentence: dump(_prediction(sentence, model))))


def numbered_tasks(text: str, source: str) -> Iterator[tuple[str, Record]]:
    """Yield every task with its place; a whole export is often one line, so tasks are counted too."""
    for number, (where, task) in enumerate(listed(text, source), 1):
        yield f"{where}: task {number}", task


def text_of(task: Record) -> str:
    """Return the text of a task: under the key ``text``, or the only string it has."""
    if "data" not in task:
        return field(task, "text", str)
    data = field(task, "data", dict)
    strings = [value for value in data.values() if isinstance(value, str)]
    if "text" not in data and len(strings) == 1:
        return strings[0]
    with error_location("data"):
        return field(data, "text", str)


# ------------------------------------------------------------------------------------------------------- reading


class _Rows:
    """Chooses the annotation of every task that counts."""

    def __init__(self, corrected: bool, seen: Counter[str]) -> None:
        self._corrected, self._seen = corrected, seen
        self._ids: set[Any] = set()

    def regions(self, task: Record) -> list[_Region] | None:
        """Return the regions of a task, or None where it is passed over."""
        if "data" not in task:
            return self._row(task)
        chosen = self._chosen(task)
        if chosen is None:
            return None
        regions = each(chosen, "result", lambda item: self._region(checked(item, dict)))
        return [region for region in regions if region is not None]

    def _row(self, task: Record) -> list[_Region] | None:
        """Take a row of a JSON-MIN export: lists of regions by the names of their tags, a row per annotation."""
        marks = {key: value for key, value in task.items() if _marks(value)}
        if not marks and _MIN.isdisjoint(task):
            raise InputError(
                f"found the keys {', '.join(task) or '(none)'}; a list must hold tasks of Label Studio (data and "
                "annotations); write records of other tools as one JSON object per line"
            )
        if task.get("id") is not None and task["id"] in self._ids:
            self._seen[FURTHER] += 1
            return None
        self._ids.add(task.get("id"))
        found = [each(task, key, lambda item: self._value(checked(item, dict))) for key in marks]
        return [region for part in found for region in part if region is not None]

    def _chosen(self, task: Record) -> Record | None:
        made = _made(task)
        kept = [one for one in made if not (one.get("was_cancelled") or one.get("skipped"))]
        if made and not kept:
            self._seen[CANCELLED] += 1
            return None
        guesses = [] if self._corrected else _objects(task, "predictions")
        self._seen[GUESSED] += bool(guesses)
        kept = kept or guesses
        self._seen[FURTHER if kept else BARE] += len(kept) - 1 if kept else 1
        return kept[0] if kept else None

    def _region(self, item: Record) -> _Region | None:
        type_ = item.get("type")
        if type_ == "labels":
            value = field(item, "value", dict)
            with error_location("value"):
                return self._value(value)
        if isinstance(type_, str) and type_.endswith("labels"):
            raise InputError(f"the type is {type_!r}; only labels of plain text can be read")
        self._seen[OTHER] += 1
        return None

    def _value(self, value: Record) -> _Region | None:
        labels = [checked(label, str) for label in field(value, "labels", list)]
        if len(labels) > 1:
            raise InputError(f"found the labels {', '.join(labels)} on one region; an entity has one type, keep one")
        if not labels or not labels[0]:
            self._seen[OTHER] += 1
            return None
        shown = value.get("text")
        return _Region(
            field(value, "start", int), field(value, "end", int), labels[0], shown if isinstance(shown, str) else None
        )


def _corrected(tasks: Iterable[tuple[str, Record]]) -> bool:
    """Say whether somebody has annotated a task of the file."""
    for where, task in tasks:
        with error_location(where):
            if _made(task):
                return True
    return False


def _made(task: Record) -> list[Record]:
    return [one for key in _MADE for one in _objects(task, key)]


def _objects(task: Record, key: str) -> list[Record]:
    return each(task, key, lambda item: checked(item, dict)) if task.get(key) else []


def _marks(value: Any) -> bool:
    """Say whether a value of a JSON-MIN row is a list of regions."""
    return (
        isinstance(value, list) and bool(value) and all(isinstance(item, dict) and "labels" in item for item in value)
    )


def _sentence(text: str, regions: list[_Region], seen: Counter[str]) -> Sentence | None:
    ruler = offset_unit_for(text, (POINTS, UTF16), lambda ruler: all(region.fits(ruler, text) for region in regions))
    seen.update(ruler.oddities)
    return marked(text, [_span(region, ruler, text) for region in regions], seen)


def _span(region: _Region, ruler: OffsetUnit, text: str) -> Span:
    where = f"{region.start}-{region.end}"
    if ruler.covered(text, region.start, region.end) is None:
        raise InputError(f"span {where} ({region.label}) is empty or lies outside the text of {len(text)} characters")
    if not region.fits(ruler, text):
        found = text[region.start : region.end]
        raise InputError(f"the text of a region is {region.text!r}, but the task has {found!r} at {where}")
    return Span(ruler.positions[region.start], ruler.positions[region.end], region.label)


def _bare(text: str) -> str:
    return _SPACE.sub("", text)


# ------------------------------------------------------------------------------------------------------- writing


def _list(lines: str) -> str:
    """Make a JSON list of lines with an object each: a task stays on its line, where people and diffs find it."""
    return "[\n" + lines[:-1].replace("\n", ",\n") + "\n]\n" if lines else ""


def _prediction(sentence: Suggested, model: str) -> Record:
    score = {"score": min(sentence.scores)} if sentence.scores else {}
    return _task(sentence, "predictions", {"model_version": model, **score}, [{"score": s} for s in sentence.scores])


def _task(sentence: Sentence, key: str, about: Record, more: list[Record]) -> Record:
    """Return a task with one annotation or prediction; ``more`` holds what else is known of every region."""
    text, spans = visible(sentence)
    more = more or [{} for _ in spans]
    result = [_result(n, span, text) | extra for n, (span, extra) in enumerate(zip(spans, more, strict=True), 1)]
    return {"data": {"text": text}, key: [{**about, "result": result}]}


def _result(number: int, span: Span, text: str) -> Record:
    place = {"start": span.start, "end": span.end, "text": text[span.start : span.end], "labels": [span.type]}
    return {"id": f"e{number}", "from_name": _CONTROL, "to_name": _OBJECT, "type": "labels", "value": place}
