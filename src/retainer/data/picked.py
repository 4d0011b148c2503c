"""Sentences that somebody picked for a type, as distinct from those drawn as they came.

In sentences picked for a type it occurs far more often than where a model is used. So a model learns to expect it too
often, and precision measured there flatters: where the type is rare, the same slips outnumber what is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from retainer.data.spans import Sentence

PICKED = 0.5
"""Sentences are picked for some types if a larger share of them has one."""


def share_having(sentences: Sequence[Sentence], types: Collection[str]) -> float:
    """Return which share of some annotated sentences has an entity of some types; of none, 0."""
    having = sum(any(span.type in types for span in sentence.spans) for sentence in sentences)
    return having / max(len(sentences), 1)


def picked_for(sentences: Collection[Sentence]) -> dict[str, int]:
    """Return the types for which sentences are picked, each with the sentences that have it, in one pass over all."""
    having = Counter(type_ for sentence in sentences for type_ in {span.type for span in sentence.spans})
    return {type_: count for type_, count in sorted(having.items()) if count > PICKED * len(sentences)}


def are_picked(sentences: Sequence[Sentence], types: Collection[str]) -> bool:
    """Return whether so many sentences have one of the types that somebody must have picked them."""
    return share_having(sentences, types) > PICKED
