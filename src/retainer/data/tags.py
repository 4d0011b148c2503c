"""The tags in which other tools write entities, word by word. Nothing else in the package knows tags."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from retainer.data.spans import Sentence, Span
from retainer.errors import InputError, quoted

OUTSIDE = "O"
"""The tag of a word that belongs to no entity."""

KINDS_OF_LETTERS = {"B": "B", "I": "I", "E": "E", "L": "E", "S": "S", "U": "S"}
"""What the letter before a type means: begins, inside, ends or single; BILOU has its own for the last two."""

_TAG = re.compile(r"([BIESLU])-(.+)", re.DOTALL)


def split_prefix(tag: str) -> tuple[str, str] | None:
    """Return the letter and the type of a tag such as B-PER, or None where a string is not one."""
    match = _TAG.fullmatch(tag)
    return (match[1], match[2]) if match else None


def split_tag(tag: str) -> tuple[str, str]:
    """Return the kind (O, B, I, E or S) and the type of a tag; the type is all after the first hyphen."""
    if tag == OUTSIDE:
        return OUTSIDE, ""
    parts = split_prefix(tag)
    if parts is None:
        raise InputError(
            f"tag {quoted(tag)} fits no scheme; expected O, or B-, I-, E-, S-, L- or U- followed by a type "
            "(IOB1, IOB2, BIOES, BILOU)"
        )
    return KINDS_OF_LETTERS[parts[0]], parts[1]


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


def bare_insides(tags: Sequence[str]) -> Iterator[int]:
    """Yield the words of a sentence whose I- (or E-) continues no entity; outside of IOB1, where it begins one."""
    previous = ""
    for at, tag in enumerate(tags):
        kind, type_ = split_tag(tag)
        if kind in "IE" and type_ != previous:
            yield at
        previous = "" if kind in "ES" else type_


def _scheme(letters: set[str], seen: Counter[str]) -> str:
    if letters & set("ES"):
        return "BIOES"
    if letters & set("LU"):
        return "BILOU"
    return "IOB1" if seen["bare I"] and not seen["fresh B"] else "IOB2"
