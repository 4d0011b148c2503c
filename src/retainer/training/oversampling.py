"""Types that few sentences have, beside others that many have: how rare, and how often to show their sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from retainer.data.spans import Sentence
from retainer.plurals import amount

UNEVEN = 10
"""How many times more sentences the most frequent type must have for the rarest to be called rare."""


def spread(sentences: Sequence[Sentence], types: Collection[str]) -> dict[str, int]:
    """Count the sentences that have each type."""
    found = Counter(type_ for sentence in sentences for type_ in {span.type for span in sentence.spans})
    return {type_: found[type_] for type_ in types if found[type_]}


def times(sentences: Sequence[Sentence], types: Collection[str], most: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Say how often an epoch shows each sentence: by its rarest type, until types are even, but ``most`` at the most.

    The losses stay what they are, so this goes with every method; a sentence shown twice counts twice.
    """
    counts = spread(sentences, types)
    top = max(counts.values(), default=0)
    wanted = {type_: min(most, top // count) for type_, count in counts.items()}
    shown = [max((wanted.get(span.type, 1) for span in one.spans), default=1) for one in sentences]
    return np.array(shown, dtype=np.int64)


def uneven(sentences: Sequence[Sentence], types: Collection[str]) -> str:
    """Name the rarest and the most frequent type where they are far apart; else nothing."""
    counts = spread(sentences, types)
    if len(counts) < 2 or max(counts.values()) < UNEVEN * min(counts.values()):
        return ""
    rare, common = (pick(counts, key=lambda type_: counts[type_]) for pick in (min, max))
    return f"{rare} is in {amount(counts[rare], 'sentence')}, {common} in {counts[common]}"
