"""Entities as spans of words: the shape in which everything here holds annotation."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from retainer.data.words import Offset, word_offsets
from retainer.errors import InputError, quoted, shortened


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """An entity: words ``start`` to ``end`` (exclusive) of a sentence, and its type."""

    start: int
    end: int
    type: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words and the entities among them; spans are sorted, inside the sentence and never overlap.

    ``text`` and ``offsets`` hold the original running text where there was one. Without them the text is the words
    joined by spaces. ``complete`` names the types of which every entity in the sentence is annotated: there O means
    "not of this type"; for any other type O leaves it open. None leaves the choice to whoever uses the sentence.
    """

    words: tuple[str, ...]
    spans: tuple[Span, ...] = ()
    text: str | None = None
    offsets: tuple[Offset, ...] | None = None
    complete: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Sort the spans and refuse those that overlap or leave the sentence."""
        spans = tuple(sorted(self.spans))
        object.__setattr__(self, "spans", spans)
        for span in spans:
            if not 0 <= span.start < span.end <= len(self.words):
                raise InputError(
                    f"span {span.start}-{span.end} ({shortened(span.type)}) lies outside a sentence of "
                    f"{len(self.words)} words"
                )
        for left, right in zip(spans, spans[1:], strict=False):
            if right.start < left.end:
                raise InputError(
                    f"span {right.start}-{right.end} ({shortened(right.type)}) overlaps {left.start}-{left.end} "
                    f"({shortened(left.type)}); "
                    "a sentence holds flat entities only"
                )

    @classmethod
    def from_text(cls, text: str, spans: Iterable[Span] = ()) -> Sentence:
        """Cut ``text`` into words; ``spans`` count CHARACTERS here, and words are cut at their edges."""
        spans = list(spans)
        offsets = word_offsets(text, {edge for span in spans for edge in (span.start, span.end)})
        return cls.from_offsets(text, offsets, spans)

    @classmethod
    def from_offsets(cls, text: str, offsets: Sequence[Offset], spans: Iterable[Span]) -> Sentence:
        """Place character spans on words whose offsets are given, in order; a span must cover whole words."""
        placed = [_place(span, text, offsets) for span in spans]
        words = tuple(text[start:end] for start, end in offsets)
        return cls(words, tuple(placed), text, tuple(offsets))

    def located(self) -> tuple[str, tuple[Offset, ...]]:
        """Return the running text and the character offsets of the words in it."""
        if self.text is not None and self.offsets is not None:
            return self.text, self.offsets
        offsets, at = [], 0
        for word in self.words:
            offsets.append((at, at + len(word)))
            at += len(word) + 1
        return " ".join(self.words), tuple(offsets)

    def character_spans(self) -> tuple[Span, ...]:
        """Return the entities as spans of characters of the running text."""
        _, offsets = self.located()
        return tuple(Span(offsets[s.start][0], offsets[s.end - 1][1], s.type) for s in self.spans)

    def with_spans(self, spans: Iterable[Span]) -> Sentence:
        """Return the same text with other entities."""
        return Sentence(self.words, tuple(spans), self.text, self.offsets, self.complete)

    def completed(self, types: Iterable[str]) -> Sentence:
        """Return the same sentence, in which every entity of these types is annotated."""
        return Sentence(self.words, self.spans, self.text, self.offsets, tuple(types))


def _place(span: Span, text: str, offsets: Sequence[Offset]) -> Span:
    """Turn a span of characters into a span of words."""
    name = f"span {span.start}-{span.end} ({shortened(span.type)})"
    if not 0 <= span.start < span.end <= len(text):
        raise InputError(f"{name} is empty or lies outside the text of {len(text)} characters")
    first = bisect_right(offsets, span.start, key=lambda offset: offset[1])
    behind = bisect_left(offsets, span.end, key=lambda offset: offset[0])
    if first >= behind:
        raise InputError(f"{name} covers no word, only {quoted(text[span.start : span.end])}")
    if offsets[first][0] < span.start or offsets[behind - 1][1] > span.end:
        raise InputError(f"{name} begins or ends inside a token; its edges must be edges of tokens")
    return Span(first, behind, span.type)
