"""Entities that open and close like brackets."""

from collections import Counter

from retainer.data.spans import Span
from retainer.errors import InputError, shortened

NESTED_ENTITIES = "entities inside another"
"""The oddity of an entity that lies in a larger one; it is skipped."""


class Brackets:
    """The entities of one sentence while it is read; of nested ones the outermost is kept, because spans are flat."""

    def __init__(self, oddities: Counter[str]) -> None:
        self._oddities = oddities
        self._open: list[tuple[int, str]] = []
        self._closed: list[Span] = []

    def open(self, type_: str, at: int) -> None:
        """Begin an entity at word ``at``."""
        self._open.append((at, type_))

    def close(self, at: int) -> None:
        """End the entity that began last, before word ``at``."""
        if not self._open:
            raise InputError("an entity ends here, but none has begun; remove the end, or add the beginning")
        start, type_ = self._open.pop()
        if start == at:
            raise InputError(f"an entity of type {shortened(type_)} holds no word; remove it")
        if self._open:
            self._oddities[NESTED_ENTITIES] += 1
        else:
            self._closed.append(Span(start, at, type_))

    def spans(self) -> tuple[Span, ...]:
        """Return the entities of the sentence, which must all have ended."""
        if self._open:
            start, type_ = self._open[-1]
            raise InputError(
                f"the sentence ends, but its {shortened(type_)} that began at word {start + 1} does not; add its end"
            )
        return tuple(self._closed)
