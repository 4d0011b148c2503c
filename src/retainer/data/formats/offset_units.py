"""How others count the characters of a text. We count code points; where an annotation shows its text, it tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

POINTS = ""
UTF16 = "UTF-16 units"
BREAKS = "the line ends of Windows as one character"
MARK = "a byte order mark"
"""What is counted otherwise than by us: browsers and Java count UTF-16 units; brat's server reads a Windows line end as
one character, and a byte order mark as a character of the text."""


@dataclass(frozen=True, slots=True)
class OffsetUnit:
    """A way to count: for every offset the position in the text, or -1 where the offset is inside a character."""

    way: str
    positions: Sequence[int]

    @property
    def oddities(self) -> list[str]:
        """What to note of a text that was counted this way."""
        return [f"texts whose offsets count {self.way}"] if self.way else []

    def covered(self, text: str, start: int, end: int) -> str | None:
        """Return the text between two offsets, or None where they are no offsets of the text."""
        if not 0 <= start < end < len(self.positions) or min(self.positions[start], self.positions[end]) < 0:
            return None
        return text[self.positions[start] : self.positions[end]]


def offset_unit_for(text: str, ways: Sequence[str], fits: Callable[[OffsetUnit], bool]) -> OffsetUnit:
    """Return the first ruler under which every annotation covers what it shows, or ours where none does."""
    return next(filter(fits, (_ruler(text, way) for way in ways)), _ruler(text, POINTS))


def _ruler(text: str, way: str) -> OffsetUnit:
    positions: dict[str, Callable[[], Sequence[int]]] = {
        POINTS: lambda: range(len(text) + 1),
        UTF16: lambda: [*_utf16(text), len(text)],
        BREAKS: lambda: [*_breaks(text), len(text)],
        MARK: lambda: range(-1, len(text) + 1),
    }
    return OffsetUnit(way, positions[way]())


def _utf16(text: str) -> Iterator[int]:
    for at, character in enumerate(text):
        yield at
        if character > "\uffff":
            yield -1


def _breaks(text: str) -> Iterator[int]:
    """Leave out the line feed after a carriage return, so that both count once."""
    return (at for at, character in enumerate(text) if character != "\n" or text[at - 1 : at] != "\r")
