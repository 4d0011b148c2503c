"""Texts whose annotations stand apart from them and count their characters: the documents of I2B2 and brat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retainer.data.formats.char_spans import SPACE_AT_EDGE, place_spans, text_and_spans_to_write
from retainer.data.lines import error_location
from retainer.data.spans import Sentence, Span
from retainer.errors import InputError

OVERLAPPING_TAGS = "tags that overlap another"
"""The oddity of a tag that shares characters with a longer one, or with one of its length; it is skipped."""


@dataclass(frozen=True, slots=True)
class StandoffTag:
    """An annotation: where it stands in the file, what it is called there, and what it says."""

    line: int
    id: str
    span: Span
    text: str | None
    """The text it claims to cover, if it says so."""


def place_tags(text: str, tags: Sequence[StandoffTag], source: str, oddities: Counter[str]) -> tuple[Sentence, ...]:
    """Make a sentence of every line with a visible character; an entity that spans a line end keeps its lines together.

    Words are cut where a tag begins or ends, so that it is kept to the character.
    """
    spans = _without_overlaps([_checked_span(tag, text, source, oddities) for tag in tags], oddities)
    return tuple(_sentence(line, inside, oddities) for line, inside in _cut(text, spans))


def line_to_write(sentence: Sentence) -> tuple[str, tuple[Span, ...]]:
    """Return text and entities (in characters) of a sentence to write, if reading would give them back as one line."""
    text, spans = text_and_spans_to_write(sentence)
    lines = [line for line, _ in _cut(text, [trim_span(span, text) for span in spans])]
    if lines != [text]:
        raise InputError("it has a line break outside an entity, where reading would end it; cut it in two there")
    return text, spans


def same_text(shown: str, covered: str) -> bool:
    """Say whether an annotation shows the text it covers; a line end may be shown as a space."""
    return shown == covered or shown.split() == covered.split()


def trim_span(span: Span, text: str) -> Span:
    """Leave out the white space at the edges of a span."""
    found = text[span.start : span.end]
    start = span.start + len(found) - len(found.lstrip())
    return Span(start, start + len(found.strip()), span.type)


def _checked_span(tag: StandoffTag, text: str, source: str, oddities: Counter[str]) -> Span:
    """Check a tag against the text, and leave out the white space at its edges."""
    with error_location(f"{source}:{tag.line}: tag {tag.id}"):
        where = f"{tag.span.start}-{tag.span.end}"
        if not tag.span.start < tag.span.end <= len(text):
            raise InputError(f"{where} is empty or lies outside the text of {len(text)} characters")
        found = text[tag.span.start : tag.span.end]
        if tag.text is not None and not same_text(tag.text, found):
            raise InputError(f"its text is {tag.text!r}, but the text has {found!r} at {where}; correct one of them")
        if not found.strip():
            raise InputError(f"{where} covers no word, only {found!r}; remove the tag")
        span = trim_span(tag.span, text)
        oddities[SPACE_AT_EDGE] += span != tag.span
        return span


def _without_overlaps(spans: Sequence[Span], oddities: Counter[str]) -> list[Span]:
    """Return the spans in order; of those that overlap the longest stay, of equally long ones the first."""
    clusters, reach = list[list[Span]](), 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start < reach:
            clusters[-1].append(span)
        else:
            clusters.append([span])
        reach = max(reach, span.end)
    kept = [span for cluster in clusters for span in _longest(cluster)]
    oddities[OVERLAPPING_TAGS] += len(spans) - len(kept)
    return kept


def _longest(cluster: list[Span]) -> list[Span]:
    kept: list[Span] = []
    for span in sorted(cluster, key=lambda span: span.start - span.end):
        if all(other.end <= span.start or span.end <= other.start for other in kept):
            kept.append(span)
    return sorted(kept)


def _cut(text: str, spans: Sequence[Span]) -> Iterator[tuple[str, list[Span]]]:
    """Yield the lines that hold a word, and the spans in each; a span across a line end joins its lines."""
    at, number = 0, 0
    while at < len(text):
        end, inside = _line_end(text, at), list[Span]()
        while number < len(spans) and spans[number].start < end:
            span = spans[number]
            inside.append(Span(span.start - at, span.end - at, span.type))
            end, number = max(end, _line_end(text, span.end)), number + 1
        line = text[at:end].rstrip("\r")
        if line.strip():
            yield line, inside
        at = end + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _sentence(line: str, spans: list[Span], oddities: Counter[str]) -> Sentence:
    sentence = place_spans(line, spans, oddities) if spans else None
    return sentence or Sentence.from_text(line)
