"""Texts whose annotations stand apart from them and count their characters: the documents of I2B2 and brat."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retainer.data.formats.char_spans import SPACE_AT_EDGE, place_spans, text_and_spans_to_write
from retainer.data.lines import error_location
from retainer.data.oddities import Oddities
from retainer.data.spans import Sentence, Span
from retainer.errors import InputError, quoted, shortened

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


def place_tags(text: str, tags: Sequence[StandoffTag], source: str, oddities: Oddities) -> tuple[Sentence, ...]:
    """Make a sentence of every line with a visible character; an entity that spans a line end keeps its lines together.

    Words are cut where a tag begins or ends, so that it is kept to the character.
    """
    visible = _Visible(text)
    checked = [_checked_span(tag, visible, source, oddities) for tag in tags]
    oddities.where = source
    spans = _without_overlaps(checked, oddities)
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
    shorter, longer = sorted((len(shown), len(covered)))
    return shown == covered or (longer <= 1000 + 10 * shorter and shown.split() == covered.split())


def trim_span(span: Span, text: str) -> Span:
    """Leave out the white space at the edges of a span."""
    found = text[span.start : span.end]
    start = span.start + len(found) - len(found.lstrip())
    return Span(start, start + len(found.strip()), span.type)


class _Visible:
    """A text and where it is not white space, so that a tag is trimmed without a look at all that it covers."""

    def __init__(self, text: str) -> None:
        runs = [match.span() for match in re.finditer(r"\S+", text)]
        self.text, self._starts, self._ends = text, [start for start, _ in runs], [end for _, end in runs]

    def trimmed(self, span: Span) -> Span | None:
        """Leave out the white space at the edges of a span; None where there is nothing else."""
        first, last = bisect_right(self._ends, span.start), bisect_left(self._starts, span.end) - 1
        if first > last:
            return None
        return Span(max(span.start, self._starts[first]), min(span.end, self._ends[last]), span.type)


def _checked_span(tag: StandoffTag, visible: _Visible, source: str, oddities: Oddities) -> Span:
    """Check a tag against the text, and leave out the white space at its edges."""
    text = visible.text
    oddities.where = f"{source}:{tag.line}"
    with error_location(f"{oddities.where}: tag {shortened(tag.id)}"):
        where = f"{tag.span.start}-{tag.span.end}"
        if not tag.span.start < tag.span.end <= len(text):
            raise InputError(f"{where} is empty or lies outside the text of {len(text)} characters")
        if tag.text is not None and not same_text(tag.text, found := text[tag.span.start : tag.span.end]):
            raise InputError(
                f"its text is {quoted(tag.text)}, but the text has {quoted(found)} at {where}; correct one of them"
            )
        span = visible.trimmed(tag.span)
        if span is None:
            only = quoted(text[tag.span.start : tag.span.end])
            raise InputError(f"{where} covers no word, only {only}; remove the tag")
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
        at = bisect_left(kept, span)
        if (at == 0 or kept[at - 1].end <= span.start) and (at == len(kept) or span.end <= kept[at].start):
            kept.insert(at, span)
    return kept


def _cut(text: str, spans: Sequence[Span]) -> Iterator[tuple[str, list[Span]]]:
    """Yield the lines that hold a word, and the spans in each; a span across a line end joins its lines."""
    at, number = 0, 0
    while at < len(text):
        end, inside = _line_end(text, at), list[Span]()
        while number < len(spans) and spans[number].start < end:
            span = spans[number]
            inside.append(Span(span.start - at, span.end - at, span.type))
            end, number = end if span.end <= end else _line_end(text, span.end), number + 1
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
