"""A clinical note in the XML of I2B2-2014: its text and its tags, before they are checked against each other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from xml.parsers import expat

from retainer.data.formats.standoff import StandoffTag
from retainer.data.lines import error_location
from retainer.data.spans import Span
from retainer.errors import InputError, quoted, shortened

I2B2_ROOT = "deIdi2b2"
"""The outermost element."""

_DEEPEST = 100
"""Elements inside each other; a note has three."""

_NUMBER = re.compile("[0-9]{1,15}")


@dataclass(frozen=True, slots=True)
class ClinicalNote:
    """A text and the tags that count its characters."""

    text: str
    tags: tuple[StandoffTag, ...]


def parse_note(text: str, source: str) -> ClinicalNote:
    """Parse a note; nothing that it names is fetched, and one with a document type of its own is refused."""
    reader = _Reader(source)
    try:
        reader.parser.Parse(text, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise InputError(f"{source}:{error.lineno}: this is not whole XML ({reason}); is the file damaged?") from error
    for part in ("TEXT", "TAGS"):
        if reader.parts.count(part) != 1:
            raise InputError(
                f"{source}: found {reader.parts.count(part)} elements {part} in {I2B2_ROOT}; there must be one"
            )
    return ClinicalNote("".join(reader.pieces), tuple(reader.tags))


class _Reader:
    """Listens to the parser. Entities need a document type to be declared in, so refusing that refuses them all."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.path: list[str] = []
        self.parts: list[str] = []
        self.pieces: list[str] = []
        self.tags: list[StandoffTag] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters

    def _doctype(self, *_: object) -> None:
        with error_location(self._place()):
            raise InputError("the file has a DOCTYPE, which could fetch or hide anything; remove it")

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        with error_location(self._place()):
            if not self.path and name != I2B2_ROOT:
                raise InputError(
                    f"found <{shortened(name)}> where <{I2B2_ROOT}> must stand; is this a file of I2B2-2014?"
                )
            if len(self.path) == _DEEPEST:
                raise InputError(f"found <{shortened(name)}> below {_DEEPEST} others; no file of I2B2-2014 is so deep")
            if self._in("TEXT"):
                raise InputError(f"found <{shortened(name)}> in TEXT, where only characters may stand")
            if self._in("TAGS"):
                self.tags.append(_tag(self.parser.CurrentLineNumber, name, attributes))
        if len(self.path) == 1:
            self.parts.append(name)
        self.path.append(name)

    def _end(self, _: str) -> None:
        self.path.pop()

    def _characters(self, characters: str) -> None:
        if self._in("TEXT"):
            self.pieces.append(characters)

    def _in(self, part: str) -> bool:
        """Say whether the parser stands directly in a part of the note."""
        return len(self.path) == 2 and self.path[1] == part

    def _place(self) -> str:
        return f"{self.source}:{self.parser.CurrentLineNumber}"


def _tag(line: int, element: str, attributes: Mapping[str, str]) -> StandoffTag:
    id_ = attributes.get("id", element)
    with error_location(f"tag {shortened(id_)}"):
        span = Span(_number(attributes, "start"), _number(attributes, "end"), _attribute(attributes, "TYPE"))
    return StandoffTag(line, id_, span, attributes.get("text"))


def _number(attributes: Mapping[str, str], name: str) -> int:
    value = _attribute(attributes, name)
    if not _NUMBER.fullmatch(value):
        raise InputError(f"the attribute {name} is {quoted(value)}; it must count characters")
    return int(value)


def _attribute(attributes: Mapping[str, str], name: str) -> str:
    if not attributes.get(name):
        raise InputError(f"the attribute {name} is missing or empty; a tag needs start, end and TYPE")
    return attributes[name]
