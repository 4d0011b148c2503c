"""The standoff files of brat: a text (.txt) and beside it annotations that count its characters (.ann)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from retainer.data.corpus import Corpus
from retainer.data.formats.offset_units import (
    BYTE_ORDER_MARK,
    CODE_POINTS,
    UTF16_UNITS,
    WINDOWS_LINE_ENDS,
    OffsetUnit,
    find_offset_unit,
)
from retainer.data.formats.standoff import StandoffTag, line_to_write, place_tags, same_text
from retainer.data.gzip_blocks import GZIP_SUFFIX, without_gzip_suffix
from retainer.data.lines import error_location, is_blank, numbered_lines, write_sentences
from retainer.data.oddities import Oddities
from retainer.data.spans import Sentence, Span
from retainer.data.text_files import read_text_file
from retainer.data.words import Offset
from retainer.errors import InputError, quoted, shortened

DISCONTINUOUS_ENTITIES = "entities in several pieces"
"""The oddity of an entity with other words between its pieces; no span can hold that, so it is skipped."""

_KINDS = {
    "R": "relations",
    "*": "relations",
    "E": "events",
    "A": "attributes",
    "M": "attributes",
    "N": "normalizations",
    "#": "notes",
}
"""The annotations that mark no text, by how their lines begin; they are counted and skipped."""

_BOUND = re.compile(r"(T[^ \t]*)\t([^ \t]+) ([0-9]{1,15} [0-9]{1,15}(?:;[0-9]{1,15} [0-9]{1,15})*) *(?:\t(.*))?", re.S)
_OTHER = re.compile(r"([REAMN#][0-9][^ \t]*|\*)\t[^ \t]")
_WHITE_SPACE = re.compile(r"[ \t\r\n]")
_CONFIGURED = re.compile(r"[A-Za-z0-9_-]+")

_UNITS = (WINDOWS_LINE_ENDS, CODE_POINTS, UTF16_UNITS, BYTE_ORDER_MARK)
"""The offset units in use, the likeliest first: brat's own, where a text has the line ends of Windows."""

_SENTENCES_PER_DOCUMENT = 100
"""Sentences in a written document: brat shows a document on one page."""


@dataclass(frozen=True, slots=True)
class _TextBound:
    """A line that marks text (brat calls it text-bound): its number, its name, its type and what it covers."""

    line: int
    id: str
    type: str
    pieces: tuple[Offset, ...]
    text: str | None


def sniff_brat(line: str) -> bool:
    """Recognise a file of annotations by a first line that marks text and shows it."""
    match = _BOUND.fullmatch(line)
    return match is not None and match[4] is not None


def read_brat(text: str, source: str = "memory") -> Corpus:
    """Read a document, whichever of its two files is given; the other one must lie beside it."""
    base, ending = os.path.splitext(without_gzip_suffix(source))
    given_text = ending == ".txt"
    other = f"{base}.ann" if given_text else f"{base}.txt"
    other += GZIP_SUFFIX * (not os.path.isfile(other) and os.path.isfile(other + GZIP_SUFFIX))
    if not os.path.isfile(other):
        raise InputError(f"{source}: there is no {Path(other).name} beside it; brat keeps text and annotations apart")
    pair = (text, read_text_file(other), other) if given_text else (read_text_file(other), text, source)
    return read_brat_pair(*pair, source)


def read_brat_pair(text: str, annotations: str, place: str, source: str) -> Corpus:
    """Read a text and its annotations from the file ``place``; a line with a visible character is a sentence."""
    oddities = Oddities(place)
    bounds = _text_bounds(annotations, place, oddities)
    candidates = _UNITS if "\r\n" in text else _UNITS[1:]
    unit = find_offset_unit(text, candidates, lambda unit: all(_fits(bound, unit, text) for bound in bounds))
    oddities.where = place
    oddities.update(unit.oddities if bounds else [])
    tags = [tag for bound in bounds if (tag := _tag(bound, unit, text, place, oddities))]
    sentences = place_tags(text, tags, place, oddities)
    return Corpus(sentences, source, "brat", oddities=dict(+oddities), odd_places=oddities.places)


def write_brat(sentences: Iterable[Sentence]) -> dict[str, str]:
    """Write documents of a hundred sentences, one per line, and the list of types that brat wants beside them.

    The format does not hold words, so reading cuts the text anew.
    """
    writer = _Writer()
    write_sentences(sentences, writer.line)
    return writer.files()


# ------------------------------------------------------------------------------------------------------- reading


def _text_bounds(annotations: str, place: str, oddities: Oddities) -> list[_TextBound]:
    """Return the lines that mark text, and count those that do not."""
    found = []
    for number, line in numbered_lines(annotations):
        if not is_blank(line):
            oddities.where = f"{place}:{number}"
            with error_location(oddities.where):
                if line.startswith("T"):
                    found.append(_text_bound(number, line))
                else:
                    oddities[_kind(line)] += 1
    return found


def _text_bound(number: int, line: str) -> _TextBound:
    match = _BOUND.fullmatch(line)
    if match is None:
        raise InputError(f"found {line[:60]!r}; expected a name such as T1, a tab, TYPE START END, a tab and the text")
    pieces = [piece.split(" ") for piece in match[3].split(";")]
    ordered = sorted((int(start), int(end)) for start, end in pieces)
    return _TextBound(number, match[1], match[2], tuple(ordered), match[4])


def _kind(line: str) -> str:
    if not _OTHER.match(line):
        raise InputError(f"found {line[:60]!r}; expected a name such as T1, R1, E1, A1, N1 or #1, a tab and more")
    return f"{_KINDS[line[0]]} beside the entities"


def _fits(bound: _TextBound, unit: OffsetUnit, text: str) -> bool:
    """Say whether a line shows what it covers; after the text a tab and a comment may follow."""
    if not all(unit.holds(*piece) for piece in bound.pieces):
        return False
    if bound.text is None:
        return True
    covered = " ".join(unit.covered(text, *piece) or "" for piece in bound.pieces)
    return any(same_text(part, covered) for part in (bound.text, bound.text.partition("\t")[0]))


def _tag(bound: _TextBound, unit: OffsetUnit, text: str, place: str, oddities: Oddities) -> StandoffTag | None:
    """Make one span of a line; pieces with only white space between them are one entity that spans a line end."""
    oddities.where = f"{place}:{bound.line}"
    with error_location(f"{oddities.where}: tag {shortened(bound.id)}"):
        if not _fits(bound, unit, text):
            raise InputError(_misfit(bound, text))
    pieces = [(unit.positions[start], unit.positions[end]) for start, end in bound.pieces]
    between = [text[left[1] : right[0]] for left, right in zip(pieces, pieces[1:], strict=False)]
    if "".join(between).strip():
        oddities[DISCONTINUOUS_ENTITIES] += 1
        return None
    return StandoffTag(bound.line, bound.id, Span(pieces[0][0], pieces[-1][1], bound.type), None)


def _misfit(bound: _TextBound, text: str) -> str:
    """Say what is wrong with a line, in the offsets that it has."""
    for start, end in bound.pieces:
        if not start < end <= len(text):
            return f"{start}-{end} is empty or lies outside the text of {len(text)} characters"
    where = ";".join(f"{start}-{end}" for start, end in bound.pieces)
    found = " ".join(text[start:end] for start, end in bound.pieces)
    shown = quoted(str(bound.text))
    return f"its text is {shown}, but the text has {quoted(found)} at {shortened(where)}; correct one of them"


# ------------------------------------------------------------------------------------------------------- writing


class _Writer:
    """Collects the two files of every document."""

    def __init__(self) -> None:
        self._texts: list[list[str]] = []
        self._annotations: list[list[str]] = []
        self._types: set[str] = set()
        self._at = 0

    def line(self, sentence: Sentence) -> str:
        """Add the line of a sentence, if reading would give it back as one."""
        text, spans = line_to_write(sentence)
        if "\r" in text:
            raise InputError("it has a carriage return, which brat takes for a line end and may not count; remove it")
        for span in spans:
            if _WHITE_SPACE.search(span.type):
                raise InputError(
                    f"the type {quoted(span.type)} has a space, a tab or a line break, which end it; rename it"
                )
        if not self._texts or len(self._texts[-1]) == _SENTENCES_PER_DOCUMENT:
            self._texts.append([])
            self._annotations.append([])
            self._at = 0
        for span in spans:
            number = len(self._annotations[-1]) + 1
            self._annotations[-1].append(self._annotation(number, span, text))
            self._types.add(span.type)
        self._texts[-1].append(text + "\n")
        self._at += len(text) + 1
        return text

    def _annotation(self, number: int, span: Span, text: str) -> str:
        """Return the line of an entity; as in brat, in pieces where it spans a line end."""
        pieces = _pieces(text, span)
        places = ";".join(f"{self._at + start} {self._at + end}" for start, end in pieces)
        shown = " ".join(text[start:end] for start, end in pieces)
        return f"T{number}\t{span.type} {places}\t{shown}\n"

    def files(self) -> dict[str, str]:
        """Return the texts of all files by their names."""
        if not self._texts:
            return {}
        files = {"annotation.conf": _configuration(self._types)}
        width = max(4, len(str(len(self._texts))))
        for number, (lines, marks) in enumerate(zip(self._texts, self._annotations, strict=True), 1):
            files[f"{number:0{width}}.txt"] = "".join(lines)
            files[f"{number:0{width}}.ann"] = "".join(marks)
        return files


def _pieces(text: str, span: Span) -> Sequence[Offset]:
    pieces, at = [], span.start
    for part in text[span.start : span.end].split("\n"):
        if part.strip():
            start = at + len(part) - len(part.lstrip())
            pieces.append((start, start + len(part.strip())))
        at += len(part) + 1
    return pieces


def _configuration(types: Iterable[str]) -> str:
    """Name the types for brat's menus; names that it could not read are left out."""
    entities = "".join(f"{type_}\n" for type_ in sorted(types) if _CONFIGURED.fullmatch(type_))
    return f"[entities]\n{entities}\n[relations]\n\n[events]\n\n[attributes]\n"
