"""The labels of a tagger's head: its outputs in order, and how entities become labels."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import cached_property

from retainer.data.spans import Sentence, Span
from retainer.data.tags import KINDS_OF_LETTERS, OUTSIDE, split_prefix
from retainer.errors import InputError, quoted


def require_names(types: Iterable[str]) -> None:
    """Refuse names that no type can have, each with its own reason."""
    for type_ in types:
        if reason := _why_no_name(type_):
            raise InputError(f"no type can be called {quoted(type_)}: {reason}")


def _why_no_name(type_: str) -> str:
    if type_ == OUTSIDE:
        return f"{OUTSIDE} marks the words that belong to no entity"
    if not type_:
        return "a name needs a letter"
    return "" if type_ == type_.strip() else "spaces at the edges of a name get lost"


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
        letters = {parts[0] for name in self.names if (parts := split_prefix(name))}
        if not letters and len(self.names) == 1:
            return "BI"
        return "".join(letter for letter in "BIELSU" if letter in letters)

    @cached_property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """Kind and type of every label; a label that names no entity, such as X or [CLS], counts as O."""
        return tuple(self._part(name) for name in self.names)

    def _part(self, name: str) -> tuple[str, str]:
        if parts := split_prefix(name):
            return KINDS_OF_LETTERS[parts[0]], parts[1]
        return (OUTSIDE, "") if self.prefixes or name == OUTSIDE else ("I", name)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The entity types, in the order of their first label."""
        return tuple(dict.fromkeys(type_ for _, type_ in self.parts if type_))

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.types)

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
        parts = split_prefix(self.names[index])
        return f"{parts[0]}-{type_}" if parts else type_

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
            if span.type in self._known:
                ids[span.start : span.end] = self._span_ids(span)
        return ids

    def _span_ids(self, span: Span) -> list[int]:
        length = span.end - span.start
        if length == 1:
            return [self.index("S", span.type)]
        inner = [self.index("I", span.type)] * (length - 2)
        return [self.index("B", span.type), *inner, self.index("E", span.type)]
