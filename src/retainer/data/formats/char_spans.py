"""Corpora of running text in which entities are marked by character offsets."""

from collections import Counter
from collections.abc import Callable, Sequence

from retainer.data.corpus import Corpus
from retainer.data.formats.records import EMPTY, Record, field, records
from retainer.data.lines import error_location
from retainer.data.spans import Sentence, Span
from retainer.data.words import Offset, word_offsets
from retainer.errors import InputError

LOOSE = "white space at the edge of a span"
INNER = "edge inside a word"


def read_marked(text: str, source: str, format: str, read: Callable[[Record, Counter[str]], Sentence | None]) -> Corpus:
    """Read every record with ``read``, which may pass one over if it counts it as an oddity."""
    seen: Counter[str] = Counter()
    sentences = []
    for where, record in records(text, source):
        with error_location(where):
            sentence = read(record, seen)
        if sentence is not None:
            sentences.append(sentence)
    return Corpus(tuple(sentences), source, format, oddities=dict(+seen))


def span_of(record: Record, start: str = "start", end: str = "end") -> Span:
    """Return the span of characters that a record describes under these keys."""
    span = Span(field(record, start, int), field(record, end, int), field(record, "label", str))
    if not span.type:
        raise InputError(f"span {span.start}-{span.end} has an empty label; name its type")
    return span


def marked(
    text: str, spans: Sequence[Span], seen: Counter[str], offsets: Sequence[Offset] | None = None
) -> Sentence | None:
    """Place spans of characters on the words at ``offsets``, or on words cut to fit them; pass over an empty text."""
    if not spans and not text.strip():
        seen[EMPTY] += 1
        return None
    _refuse_overlaps(spans)
    seen[LOOSE] += sum(text[span.start : span.end].strip() != text[span.start : span.end] for span in spans)
    if offsets:
        return Sentence.from_offsets(text, offsets, spans)
    sentence = Sentence.from_text(text, spans)
    seen[INNER] += len(sentence.words) - len(word_offsets(text))
    return sentence


def running(sentence: Sentence) -> tuple[str, tuple[Offset, ...]]:
    """Return text and offsets to write; a text without a visible character would be passed over when read."""
    text, offsets = sentence.located()
    if not text.strip():
        raise InputError("it has white space only; leave it out")
    return text, offsets


def visible(sentence: Sentence) -> tuple[str, tuple[Span, ...]]:
    """Return text and entities (in characters) to write where there is no place for words."""
    text, _ = running(sentence)
    spans = sentence.character_spans()
    for span in spans:
        if not text[span.start : span.end].strip():
            raise InputError(f"span {span.start}-{span.end} ({span.type}) covers white space only; leave it out")
    return text, spans


def _refuse_overlaps(spans: Sequence[Span]) -> None:
    """Compare characters, not words: these are the numbers that the user can find in the file."""
    ordered = sorted(spans)
    for left, right in zip(ordered, ordered[1:], strict=False):
        if right.start < left.end:
            raise InputError(
                f"span {right.start}-{right.end} ({right.type}) overlaps {left.start}-{left.end} ({left.type}); keep "
                "one of them"
            )
