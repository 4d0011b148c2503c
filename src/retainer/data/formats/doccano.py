"""The records of doccano: a text and spans of characters, in the shapes of its older and newer releases."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from retainer.data.corpus import Corpus
from retainer.data.formats.char_spans import marked, read_marked, span_of, visible
from retainer.data.formats.records import Record, checked, dump, each, field, keys_of
from retainer.data.lines import written
from retainer.data.spans import Sentence, Span
from retainer.errors import InputError

SPAN_KEYS = ("label", "labels", "entities")
"""The keys under which the releases of doccano write spans."""

_PARTS = ("start_offset", "end_offset", "label")


def sniff_doccano(line: str) -> bool:
    """Recognise a record by its text and spans; one with tokens is not doccano's."""
    keys = keys_of(line)
    return "text" in keys and "tokens" not in keys and not keys.isdisjoint(SPAN_KEYS)


def read_doccano(text: str, source: str = "memory") -> Corpus:
    """Read texts with ``label`` or ``labels`` as ``[start, end, type]``, or with ``entities`` as objects."""
    return read_marked(text, source, "doccano", _sentence)


def write_doccano(sentences: Iterable[Sentence]) -> str:
    """Write text and ``label``; doccano has no place for words, so reading cuts the text anew."""
    return written(sentences, lambda sentence: dump(_record(sentence)))


def _sentence(record: Record, seen: Counter[str]) -> Sentence | None:
    text = field(record, "text", str)
    keys = [key for key in SPAN_KEYS if key in record]
    if not keys:
        raise InputError(f"the spans are missing; expected one of the keys {', '.join(SPAN_KEYS)}")
    return marked(text, [span for key in keys for span in each(record, key, _span)], seen)


def _span(item: Any) -> Span:
    if isinstance(item, list):
        if len(item) != len(_PARTS):
            raise InputError(f"found {len(item)} values where start, end and type must stand")
        item = dict(zip(_PARTS, item, strict=True))
    return span_of(checked(item, dict), "start_offset", "end_offset")


def _record(sentence: Sentence) -> Record:
    text, spans = visible(sentence)
    return {"text": text, "label": [[span.start, span.end, span.type] for span in spans]}
