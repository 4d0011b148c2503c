"""Entities as spans of words, and the tags other people write them in. Nothing else in the package knows tags."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from retainer.data.words import Offset, word_offsets
from retainer.errors import InputError

OUTSIDE = "O"
"""The tag of a word that belongs to no entity."""

_TAG = re.compile(r"([BIESLU])-(.+)", re.DOTALL)
_KIND = {"B": "B", "I": "I", "E": "E", "L": "E", "S": "S", "U": "S"}


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
    joined by blanks.
    """

    words: tuple[str, ...]
    spans: tuple[Span, ...] = ()
    text: str | None = None
    offsets: tuple[Offset, ...] | None = None

    def __post_init__(self) -> None:
        """Sort the spans and refuse those that overlap or leave the sentence."""
        spans = tuple(sorted(self.spans))
        object.__setattr__(self, "spans", spans)
        for span in spans:
            if not 0 <= span.start < span.end <= len(self.words):
                raise InputError(
                    f"span {span.start}-{span.end} ({span.type}) lies outside a sentence of {len(self.words)} words"
                )
        for left, right in zip(spans, spans[1:], strict=False):
            if right.start < left.end:
                raise InputError(
                    f"span {right.start}-{right.end} ({right.type}) overlaps {left.start}-{left.end} ({left.type}); "
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
        return Sentence(self.words, tuple(spans), self.text, self.offsets)


def _place(span: Span, text: str, offsets: Sequence[Offset]) -> Span:
    """Turn a span of characters into a span of words."""
    name = f"span {span.start}-{span.end} ({span.type})"
    if not 0 <= span.start < span.end <= len(text):
        raise InputError(f"{name} is empty or lies outside the text of {len(text)} characters")
    first = bisect_right(offsets, span.start, key=lambda offset: offset[1])
    behind = bisect_left(offsets, span.end, key=lambda offset: offset[0])
    if first >= behind:
        raise InputError(f"{name} covers no word, only {text[span.start : span.end]!r}")
    if offsets[first][0] < span.start or offsets[behind - 1][1] > span.end:
        raise InputError(f"{name} begins or ends inside a token; its edges must be edges of tokens")
    return Span(first, behind, span.type)


# ---------------------------------------------------------------------------------------------------------- tags


def split_tag(tag: str) -> tuple[str, str]:
    """Return the kind (O, B, I, E or S) and the type of a tag; the type is all after the first hyphen."""
    if tag == OUTSIDE:
        return OUTSIDE, ""
    match = _TAG.fullmatch(tag)
    if match is None:
        raise InputError(
            f"tag {tag!r} fits no scheme; expected O, or B-, I-, E-, S-, L- or U- followed by a type (IOB1, IOB2, "
            "BIOES, BILOU)"
        )
    return _KIND[match[1]], match[2]


def spans_of(tags: Sequence[str]) -> tuple[Span, ...]:
    """Decode the tags of one sentence, whatever the scheme, the lenient way: an I- without B- starts an entity."""
    spans: list[Span] = []
    start, previous, kind = 0, "", OUTSIDE
    for at, tag in enumerate([*tags, OUTSIDE]):
        now, type_ = split_tag(tag)
        begins = now in "BS" or type_ != previous or kind in "ES"
        if previous and (begins or now == OUTSIDE):
            spans.append(Span(start, at, previous))
        if now != OUTSIDE and begins:
            start = at
        previous, kind = type_, now
    return tuple(spans)


def tags_of(sentence: Sentence, scheme: str = "IOB2") -> list[str]:
    """Write the entities of a sentence as tags."""
    inside, last, single = {"IOB2": ("I", "I", "B"), "BIOES": ("I", "E", "S"), "BILOU": ("I", "L", "U")}[scheme]
    tags = [OUTSIDE] * len(sentence.words)
    for span in sentence.spans:
        tags[span.start : span.end] = [f"{inside}-{span.type}"] * (span.end - span.start)
        tags[span.end - 1] = f"{last}-{span.type}"
        tags[span.start] = f"{single if span.end - span.start == 1 else 'B'}-{span.type}"
    return tags


def detect_scheme(sequences: Iterable[Sequence[str]]) -> tuple[str, int]:
    """Name the scheme of a corpus and count the I- tags that lack a B- under it.

    B- where no entity of that type went before is what IOB2 does and IOB1 never does; E-/S- mean BIOES, L-/U- BILOU.
    """
    letters: set[str] = set()
    seen = Counter[str]()
    for tags in sequences:
        previous = ""
        for tag in tags:
            kind, type_ = split_tag(tag)
            letters.add(tag[0])
            if kind == "B":
                seen["fresh B" if type_ != previous else "inner B"] += 1
            elif kind in "IE" and type_ != previous:
                seen["bare I"] += 1
            previous = "" if kind in "ES" else type_
    scheme = _scheme(letters, seen)
    return scheme, 0 if scheme == "IOB1" else seen["bare I"]


def _scheme(letters: set[str], seen: Counter[str]) -> str:
    if letters & set("ES"):
        return "BIOES"
    if letters & set("LU"):
        return "BILOU"
    return "IOB1" if seen["bare I"] and not seen["fresh B"] else "IOB2"


# -------------------------------------------------------------------------------------------------- labels of a head


def require_names(types: Iterable[str]) -> None:
    """Refuse names no type can have."""
    if bad := [type_ for type_ in types if type_ in ("", OUTSIDE) or type_ != type_.strip()]:
        raise InputError(f"no type can be called {bad[0]!r}: O means no entity, and blanks at the edges get lost")


@dataclass(frozen=True)
class Labels:
    """The outputs of a tagger's head, in order, whatever scheme its maker used.

    Foreign checkpoints come with IOB, BIOES or bare type names, in any order; we keep their rows where they are and
    append the new types in the same style, so old outputs never move. Several rows may share a label (types that were
    merged or dropped); the first of them is the one that learns.
    """

    names: tuple[str, ...] = (OUTSIDE,)

    def __post_init__(self) -> None:
        """Refuse label sets from which no entity can be read."""
        if OUTSIDE not in self.names:
            raise InputError(
                f"the model's labels ({', '.join(self.names[:6])}, …) have no {OUTSIDE!r}, so its entities cannot be "
                "read; name the labels in the config.json of the checkpoint (id2label)"
            )

    @cached_property
    def outside(self) -> int:
        """The index of O."""
        return self.names.index(OUTSIDE)

    @cached_property
    def prefixes(self) -> str:
        """The letters this head puts before a type, such as BI; empty when types stand bare."""
        letters = {match[1] for name in self.names if (match := _TAG.fullmatch(name))}
        if not letters and len(self.names) == 1:
            return "BI"
        return "".join(letter for letter in "BIELSU" if letter in letters)

    @cached_property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """Kind and type of every label; a label that names no entity, such as X or [CLS], counts as O."""
        return tuple(self._part(name) for name in self.names)

    def _part(self, name: str) -> tuple[str, str]:
        match = _TAG.fullmatch(name)
        if match:
            return _KIND[match[1]], match[2]
        return (OUTSIDE, "") if self.prefixes or name == OUTSIDE else ("I", name)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The entity types, in the order of their first label."""
        return tuple(dict.fromkeys(type_ for _, type_ in self.parts if type_))

    def grow(self, types: Iterable[str]) -> Labels:
        """Append labels for new types in this head's own style."""
        types = list(types)
        require_names(types)
        names = [f"{letter}-{type_}" for type_ in types for letter in self.prefixes] if self.prefixes else list(types)
        return Labels((*self.names, *names))

    def paired(self) -> Labels:
        """Return the same rows under B- and I- alone, which is all that transformers' pipeline reads.

        An entity of one word (S-) begins, the end of one (E-) goes on, and a label that names no entity is O.
        """
        letters = {"B": "B", "S": "B", "I": "I", "E": "I"}
        return Labels(tuple(f"{letters[kind]}-{type_}" if type_ else OUTSIDE for kind, type_ in self.parts))

    def renamed(self, index: int, type_: str) -> str:
        """Return the label of a row as it would be called if its type had another name."""
        match = _TAG.fullmatch(self.names[index])
        return f"{match[1]}-{type_}" if match else type_

    def of(self, types: Container[str]) -> list[int]:
        """Return the rows of some types."""
        return [index for index, (_, type_) in enumerate(self.parts) if type_ and type_ in types]

    @cached_property
    def _index(self) -> dict[tuple[str, str], int]:
        return {part: i for i, part in reversed(list(enumerate(self.parts))) if part[1]}

    def index(self, kind: str, type_: str) -> int:
        """Return the label of a kind and type, or the nearest one this head has (I- for a missing B-)."""
        wanted = {"B": "BISE", "I": "IBES", "E": "EIBS", "S": "SBIE"}[kind]
        return next(self._index[k, type_] for k in wanted if (k, type_) in self._index)

    def ids(self, sentence: Sentence) -> list[int]:
        """Return the label of every word; entities of types this head lacks become O."""
        ids = [self.outside] * len(sentence.words)
        for span in sentence.spans:
            if span.type in self.types:
                ids[span.start : span.end] = self._span_ids(span)
        return ids

    def _span_ids(self, span: Span) -> list[int]:
        length = span.end - span.start
        if length == 1:
            return [self.index("S", span.type)]
        inner = [self.index("I", span.type)] * (length - 2)
        return [self.index("B", span.type), *inner, self.index("E", span.type)]
