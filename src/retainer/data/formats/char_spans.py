"""Corpora of running text in which entities are marked by character offsets."""

from collections import Counter
from collections.abc import Callable, Sequence

from retainer.data.corpus import Corpus
from retainer.data.formats.records import EMPTY_TEXTS, JsonRecord, numbered_records, require_field
from retainer.data.lines import error_location
from retainer.data.oddities import Oddities
from retainer.data.spans import Sentence, Span
from retainer.data.words import Offset, word_offsets
from retainer.errors import InputError, shortened

SPACE_AT_EDGE = "white space at the edge of a span"
EDGE_INSIDE_WORD = "edge inside a word"
"""The oddities of spans that are kept to the character."""


def read_span_records(
    text: str, source: str, format: str, read: Callable[[JsonRecord, Counter[str]], Sentence | None]
) -> Corpus:
    """Read every record with ``read``, which may skip one if it counts it as an oddity."""
    oddities = Oddities(source)
    sentences = []
    for where, record in numbered_records(text, source):
        oddities.where = where
        with error_location(where):
            sentence = read(record, oddities)
        if sentence is not None:
            sentences.append(sentence)
    return Corpus(tuple(sentences), source, format, oddities=dict(+oddities), odd_places=oddities.places)


def span_of_record(record: JsonRecord, start: str = "start", end: str = "end") -> Span:
    """Return the span of characters that a record describes under these keys."""
    span = Span(require_field(record, start, int), require_field(record, end, int), require_field(record, "label", str))
    if not span.type:
        raise InputError(f"span {span.start}-{span.end} has an empty label; name its type")
    return span


def place_spans(
    text: str, spans: Sequence[Span], oddities: Counter[str], offsets: Sequence[Offset] | None = None
) -> Sentence | None:
    """Place spans of characters on the words at ``offsets``, or on words cut to fit them; skip an empty text."""
    if not spans and not text.strip():
        oddities[EMPTY_TEXTS] += 1
        return None
    _refuse_overlaps(spans)
    oddities[SPACE_AT_EDGE] += sum(text[span.start : span.end].strip() != text[span.start : span.end] for span in spans)
    if offsets:
        return Sentence.from_offsets(text, offsets, spans)
    sentence = Sentence.from_text(text, spans)
    oddities[EDGE_INSIDE_WORD] += len(sentence.words) - len(word_offsets(text))
    return sentence


def text_to_write(sentence: Sentence) -> tuple[str, tuple[Offset, ...]]:
    """Return text and offsets to write; a text without a visible character would be skipped when read."""
    text, offsets = sentence.located()
    if not text.strip():
        raise InputError("it has white space only; leave it out")
    return text, offsets


def text_and_spans_to_write(sentence: Sentence) -> tuple[str, tuple[Span, ...]]:
    """Return text and entities (in characters) to write in a format that does not hold words."""
    text, _ = text_to_write(sentence)
    spans = sentence.character_spans()
    for span in spans:
        if not text[span.start : span.end].strip():
            raise InputError(f"span {span.start}-{span.end} ({span.type}) covers white space only; leave it out")
    return text, spans


def _refuse_overlaps(spans: Sequence[Span]) -> None:
    """Compare characters, not words: these are the numbers that a user can find in the file."""
    ordered = sorted(spans)
    for left, right in zip(ordered, ordered[1:], strict=False):
        if right.start < left.end:
            raise InputError(
                f"span {right.start}-{right.end} ({shortened(right.type)}) overlaps {left.start}-{left.end} "
                f"({shortened(left.type)}); keep one of them"
            )
