"""Overlapping windows of a long sentence, in which every word is counted once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """Words ``start`` to ``end`` of a long sentence, of which it owns the ones it sees with most context."""

    start: int
    end: int
    own_start: int
    own_end: int


def windows(lengths: Sequence[int], room: int) -> list[Window]:
    """Cut words of the given piece lengths into windows of at most ``room`` pieces that overlap by a quarter.

    Two neighbours share words; the middle of what they share is the border of what each owns.
    """
    sizes = [min(length, room) for length in lengths]
    edges = [(0, _reach(sizes, 0, room))]
    while edges[-1][1] < len(sizes):
        end = edges[-1][1]
        start = _step_back(sizes, edges[-1][0] + 1, end, room)
        edges.append((start, _reach(sizes, start, room)))
    borders = [0, *((b + e) // 2 for (_, e), (b, _) in zip(edges, edges[1:], strict=False)), len(sizes)]
    return [Window(s, e, a, b) for (s, e), a, b in zip(edges, borders, borders[1:], strict=False)]


def _reach(sizes: Sequence[int], start: int, room: int) -> int:
    end, used = start, 0
    while end < len(sizes) and used + sizes[end] <= room:
        used += sizes[end]
        end += 1
    return end


def _step_back(sizes: Sequence[int], least: int, end: int, room: int) -> int:
    """Begin the next window up to a quarter of a window before ``end``, but so that it gets beyond it."""
    allowed = min(room // 4, room - sizes[end])
    start, used = end, 0
    while start > least and used + sizes[start - 1] <= allowed:
        start -= 1
        used += sizes[start]
    return start
