"""Which types two versions know, and which the data annotate that they are compared on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from retainer.data.corpus import Corpus
from retainer.data.texts import Texts


@dataclass(frozen=True)
class TypeSets:
    """Which version knows which types; all in the order in which their version learned them."""

    old: tuple[str, ...]
    gained: tuple[str, ...]
    """Only the new version knows them."""
    dropped: tuple[str, ...]
    """Only the old version knows them."""
    annotated: tuple[str, ...] | None
    """What the data annotate; None for texts without annotation."""

    @classmethod
    def of(cls, old: Sequence[str], new: Sequence[str], data: Corpus | Texts) -> TypeSets:
        """Sort the types of two versions and of the data."""
        gained = tuple(type_ for type_ in new if type_ not in old)
        dropped = tuple(type_ for type_ in old if type_ not in new)
        return cls(tuple(old), gained, dropped, data.types if isinstance(data, Corpus) else None)

    @property
    def kept(self) -> tuple[str, ...]:
        """Types of the old version that can be scored."""
        return tuple(type_ for type_ in self.old if type_ in (self.annotated or ()))

    @property
    def learned(self) -> tuple[str, ...]:
        """Gained types that can be scored."""
        return tuple(type_ for type_ in self.gained if type_ in (self.annotated or ()))

    @property
    def unscored(self) -> tuple[str, ...]:
        """Types of either version that are not annotated: to find them there is not an error."""
        known = () if self.annotated is None else (*self.old, *self.gained)
        return tuple(type_ for type_ in known if type_ not in (self.annotated or ()))

    @property
    def unknown(self) -> tuple[str, ...]:
        """Types only the data have."""
        return tuple(type_ for type_ in self.annotated or () if type_ not in (*self.old, *self.gained))

    def notes(self) -> list[str]:
        """Return what is left out of the scores, and why."""
        by_agreement = [type_ for type_ in self.unscored if type_ in self.old]
        reasons = {
            "types neither version knows are left out": self.unknown,
            "types the new version does not know, so all their entities are lost": self.dropped,
            "types of the old version without gold in the data, compared by agreement instead": by_agreement,
            "types only the new version knows, without gold in the data, so not scored": [
                type_ for type_ in self.unscored if type_ in self.gained
            ],
        }
        return [f"{what}: {', '.join(types)}" for what, types in reasons.items() if types]

    def as_dict(self) -> dict[str, Any]:
        """Return everything for a result file."""
        names = ("old", "gained", "dropped", "unscored", "unknown")
        return {name: list(getattr(self, name)) for name in names}
