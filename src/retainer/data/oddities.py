"""What a reader notices in a file and accepts: how often, and where."""

from __future__ import annotations

from collections import Counter, defaultdict


class Oddities(Counter[str]):
    """Counts what looks odd, and keeps the places of it, so that code that counts need not know where it is."""

    def __init__(self, source: str) -> None:
        """Begin with a file; who reads it moves ``where`` along, to a line of it if the line is known."""
        super().__init__()
        self.where = source
        self.places: defaultdict[str, list[str]] = defaultdict(list)

    def __setitem__(self, what: str, count: int) -> None:
        """Count, and note the place once, however many are there."""
        if count > self[what] and self.places[what][-1:] != [self.where]:
            self.places[what].append(self.where)
        super().__setitem__(what, count)
