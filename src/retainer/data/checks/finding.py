"""A finding: one odd thing, how serious it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from retainer.data.spans import Sentence

Weight = Literal["mend", "look", "note"]

WEIGHT_MEANINGS: dict[Weight, str] = {
    "mend": "fix this first",
    "look": "look at this",
    "note": "good to know",
}
"""How serious a finding is, the most serious first, and what that asks of a person; the names are fields of JSON."""

EXAMPLES_SHOWN = 3
"""Examples of a finding that are shown by default."""

_QUOTED = 60
"""Characters of a text that are quoted."""


@dataclass(frozen=True)
class Finding:
    """One odd thing: how often, what to do, and up to a few places (1 is the first sentence)."""

    what: str
    count: int
    advice: str
    examples: list[str] = field(default_factory=list)
    weight: Weight = "look"


def quote_words(sentence: Sentence, start: int, end: int) -> str:
    """Write some words of a sentence so that a person can search for them."""
    return repr(" ".join(sentence.words[start : min(end, start + _QUOTED)])[:_QUOTED])


def name_sentences(rows: Sequence[int], show: int) -> str:
    """Write the first few numbers of sentences."""
    return f"{'sentence' if len(rows) == 1 else 'sentences'} {' and '.join(map(str, rows[:show]))}"
