"""What became of every entity of a text from one version to the next, and the texts that show it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from retainer.data.spans import Span

CHANGE_KINDS = ("kept", "moved", "relabelled", "lost", "gained")
"""All that can happen to an entity: moved has other boundaries and the same type; relabelled has another type, on the
same words or some of them."""

BYTES_IN_MEMORY = 16 * 2**20
"""Bytes of texts that are held in memory; the rest goes to a file."""


@dataclass(frozen=True)
class Change:
    """One entity before and after; a lost one has no after, a gained one no before. Places are characters."""

    kind: str
    old: Span | None
    new: Span | None

    @property
    def types(self) -> tuple[str, ...]:
        """The types it is about: two where it was relabelled."""
        return tuple(dict.fromkeys(span.type for span in (self.old, self.new) if span))

    @property
    def place(self) -> tuple[int, int]:
        """Where it is, before and after taken together."""
        spans = [span for span in (self.old, self.new) if span]
        return min(span.start for span in spans), max(span.end for span in spans)

    def right(self, gold: set[Span], types: Iterable[str]) -> str:
        """Return which version is right by the annotation: old, new, both or neither; empty where it does not say."""
        if not set(self.types) <= set(types):
            return ""
        before = self.old in gold if self.old else self.new not in gold
        after = self.new in gold if self.new else self.old not in gold
        return {(True, True): "both", (True, False): "old", (False, True): "new"}.get((before, after), "neither")


def changes(old: Iterable[Span], new: Iterable[Span]) -> tuple[Change, ...]:
    """Pair the entities two versions find in one text, each with at most one of the other side.

    Equal ones first, then those on the same words, then those of the same type that overlap, then any that overlap;
    among equals those with most in common. Entities of one version never overlap each other.
    """
    before, after = sorted(old), sorted(new)
    taken: dict[Span, Span] = {}
    used: set[Span] = set()
    for a, b in sorted(_touching(before, after), key=_closeness):
        if a not in taken and b not in used:
            taken[a] = b
            used.add(b)
    found = [Change(_kind(a, taken[a]) if a in taken else "lost", a, taken.get(a)) for a in before]
    found += [Change("gained", None, b) for b in after if b not in used]
    return tuple(sorted(found, key=lambda change: change.place))


def _touching(old: Sequence[Span], new: Sequence[Span]) -> Iterator[tuple[Span, Span]]:
    """Iterate over both sides at once, since a long text may have thousands of entities."""
    i = j = 0
    while i < len(old) and j < len(new):
        if old[i].start < new[j].end and new[j].start < old[i].end:
            yield old[i], new[j]
        if old[i].end <= new[j].end:
            i += 1
        else:
            j += 1


def _closeness(pair: tuple[Span, Span]) -> tuple[int, int, Span]:
    a, b = pair
    same_place, same_type = (a.start, a.end) == (b.start, b.end), a.type == b.type
    rank = (0 if same_type else 1) if same_place else (2 if same_type else 3)
    return rank, max(a.start, b.start) - min(a.end, b.end), a


def _kind(old: Span, new: Span) -> str:
    return "kept" if old == new else "moved" if old.type == new.type else "relabelled"


@dataclass(frozen=True)
class Case:
    """A text in which a version finds something."""

    number: int
    """The line of the text, or the number of the sentence where there is annotation; from 1."""
    text: str
    changes: tuple[Change, ...]
    gold: tuple[Span, ...] = ()
    """What is annotated, of the types that can be scored."""

    @property
    def differs(self) -> bool:
        """Whether the versions differ in it."""
        return any(change.kind != "kept" for change in self.changes)

    def as_dict(self, types: Iterable[str] = ()) -> dict[str, Any]:
        """Return it for a result file; for the annotated ``types`` it says which version is right."""
        gold = set(self.gold)
        documents = []
        for change in self.changes:
            sides = {name: self._entity(span) for name, span in (("old", change.old), ("new", change.new))}
            documents.append({"kind": change.kind, **sides, "right": change.right(gold, types) or None})
        return {"number": self.number, "text": self.text, "changes": documents}

    def _entity(self, span: Span | None) -> dict[str, Any] | None:
        if span is None:
            return None
        return {"type": span.type, "word": self.text[span.start : span.end], "start": span.start, "end": span.end}


class Cases:
    """Texts in their order. Many of them lie in a file that only this process can open, and that vanishes with it.

    So the memory a comparison takes does not grow with what is compared.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._file = tempfile.SpooledTemporaryFile(max_size=BYTES_IN_MEMORY)
        self._size = self._count = 0

    def add(self, case: Case) -> None:
        """Append a text."""
        parts = [[change.kind, _plain(change.old), _plain(change.new)] for change in case.changes]
        record = [case.number, case.text, parts, [_plain(span) for span in case.gold]]
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        self._file.seek(self._size)
        self._file.write(line)
        self._size += len(line)
        self._count += 1

    def __len__(self) -> int:
        """Count the texts."""
        return self._count

    def __iter__(self) -> Iterator[Case]:
        """Iterate over the texts; several iterations may run at once."""
        at = 0
        while at < self._size:
            self._file.seek(at)
            line = self._file.readline()
            at += len(line)
            number, text, parts, gold = json.loads(line)
            found = tuple(Change(kind, _span(old), _span(new)) for kind, old, new in parts)
            yield Case(number, text, found, tuple(Span(*span) for span in gold))


def _plain(span: Span | None) -> tuple[int, int, str] | None:
    return None if span is None else (span.start, span.end, span.type)


def _span(parts: tuple[int, int, str] | None) -> Span | None:
    return None if parts is None else Span(*parts)
