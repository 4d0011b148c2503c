"""A finding: one odd thing, how heavy it weighs, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from retainer.data.spans import Sentence

Weight = Literal["mend", "look", "note"]

WEIGHTS: dict[Weight, str] = {
    "mend": "mend this first",
    "look": "look at this",
    "note": "good to know",
}
"""How heavy a finding weighs, the heaviest first, and what that asks of a person."""

SHOWN = 3
"""Examples a finding shows, unless more are asked for."""


@dataclass(frozen=True)
class Finding:
    """One odd thing: how often, what to do, and up to a few places (1 is the first sentence)."""

    what: str
    count: int
    advice: str
    examples: list[str] = field(default_factory=list)
    weight: Weight = "look"


def quoted(sentence: Sentence, start: int, end: int) -> str:
    """Write some words of a sentence so that a person finds them again."""
    return repr(" ".join(sentence.words[start:end])[:60])


def places(rows: Sequence[int], show: int) -> str:
    """Write the first few numbers of sentences."""
    return f"{'sentence' if len(rows) == 1 else 'sentences'} {' and '.join(map(str, rows[:show]))}"
