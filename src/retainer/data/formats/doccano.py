"""The records of doccano: a text and spans of characters, in the shapes of its older and newer releases."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from retainer.data.corpus import Corpus
from retainer.data.formats.char_spans import place_spans, read_span_records, span_of_record, text_and_spans_to_write
from retainer.data.formats.completeness import complete_field, with_complete
from retainer.data.formats.records import JsonRecord, each_member, keys_of, record_line, require_field, require_kind
from retainer.data.lines import write_sentences
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
    return read_span_records(text, source, "doccano", _sentence)


def write_doccano(sentences: Iterable[Sentence]) -> str:
    """Write text and ``label``; doccano does not hold words, so reading cuts the text anew."""
    return write_sentences(sentences, lambda sentence: record_line(_record(sentence)))


def _sentence(record: JsonRecord, oddities: Counter[str]) -> Sentence | None:
    text = require_field(record, "text", str)
    keys = [key for key in SPAN_KEYS if key in record]
    if not keys:
        raise InputError(f"the spans are missing; expected one of the keys {', '.join(SPAN_KEYS)}")
    spans = [span for key in keys for span in each_member(record, key, _span)]
    return with_complete(place_spans(text, spans, oddities), record)


def _span(item: Any) -> Span:
    if isinstance(item, list):
        if len(item) != len(_PARTS):
            raise InputError(f"found {len(item)} values where start, end and type must stand")
        item = dict(zip(_PARTS, item, strict=True))
    return span_of_record(require_kind(item, dict), "start_offset", "end_offset")


def _record(sentence: Sentence) -> JsonRecord:
    text, spans = text_and_spans_to_write(sentence)
    return {"text": text, "label": [[span.start, span.end, span.type] for span in spans], **complete_field(sentence)}
