"""A finding: one odd thing, how serious it is, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from retainer.data.place import Place

Weight = Literal["mend", "look", "note"]

WEIGHT_MEANINGS: dict[Weight, str] = {
    "mend": "fix this first",
    "look": "look at this",
    "note": "good to know",
}
"""How serious a finding is, the most serious first, and what that asks of a person; the names are fields of JSON."""

EXAMPLES_SHOWN = 3
"""Examples of a finding that are shown by default."""


@dataclass(frozen=True)
class Finding:
    """One odd thing: how often, what to do, and up to a few places."""

    what: str
    count: int
    advice: str
    examples: list[Place] = field(default_factory=list)
    weight: Weight = "look"

    def as_dict(self) -> dict[str, Any]:
        """Return it for a JSON document."""
        return {**vars(self), "examples": [example.as_dict() for example in self.examples]}
