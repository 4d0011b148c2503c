"""The units in which other tools count the characters of a text.

retainer counts code points. Where an annotation shows the text it covers, that decides which unit is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

CODE_POINTS = ""
UTF16_UNITS = "UTF-16 units"
WINDOWS_LINE_ENDS = "the line ends of Windows as one character"
BYTE_ORDER_MARK = "a byte order mark"
"""What is counted differently: browsers and Java count UTF-16 units; brat's server reads a Windows line end as one
character, and a byte order mark as a character of the text."""


@dataclass(frozen=True, slots=True)
class OffsetUnit:
    """What offsets count, and for every offset the position in the text, or -1 inside a character."""

    counted: str
    positions: Sequence[int]

    @property
    def oddities(self) -> list[str]:
        """What to note of a text whose offsets count this."""
        return [f"texts whose offsets count {self.counted}"] if self.counted else []

    def covered(self, text: str, start: int, end: int) -> str | None:
        """Return the text between two offsets, or None where they lie outside the text."""
        return text[self.positions[start] : self.positions[end]] if self.holds(start, end) else None

    def holds(self, start: int, end: int) -> bool:
        """Say whether there is text between two offsets."""
        return 0 <= start < end < len(self.positions) and min(self.positions[start], self.positions[end]) >= 0


def find_offset_unit(text: str, candidates: Sequence[str], fits: Callable[[OffsetUnit], bool]) -> OffsetUnit:
    """Return the first unit in which every annotation covers what it shows, or code points where there is none."""
    return next(filter(fits, (_offset_unit(text, counted) for counted in candidates)), _offset_unit(text, CODE_POINTS))


def _offset_unit(text: str, counted: str) -> OffsetUnit:
    positions: dict[str, Callable[[], Sequence[int]]] = {
        CODE_POINTS: lambda: range(len(text) + 1),
        UTF16_UNITS: lambda: [*_utf16(text), len(text)],
        WINDOWS_LINE_ENDS: lambda: [*_line_ends(text), len(text)],
        BYTE_ORDER_MARK: lambda: range(-1, len(text) + 1),
    }
    return OffsetUnit(counted, positions[counted]())


def _utf16(text: str) -> Iterator[int]:
    for at, character in enumerate(text):
        yield at
        if character > "\uffff":
            yield -1


def _line_ends(text: str) -> Iterator[int]:
    """Leave out the line feed after a carriage return, so that both count once."""
    return (at for at, character in enumerate(text) if character != "\n" or text[at - 1 : at] != "\r")
