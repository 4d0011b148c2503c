"""The prior correction: how often a type is expected, fitted on a dev set once training is over.

The sentences of a task are mostly picked for its new types, so the model learns to expect them more often than they
occur, and finds too many. Old types fare the other way: a teacher is never sure of what it says, a student less so, and
after a few tasks the rarest are hardly found any more, though their scores still tell them apart. One number per type,
added to the bias of its rows, mends most of both and costs nothing at prediction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from retainer.model.heads import LinearHead, Rows
from retainer.model.tagger import Tagger
from retainer.training.evidence import Evidence, Measured

COARSE = tuple(range(-6, 5))
"""The offsets that are tried first: from -6 to 4."""
FINE = (-0.75, -0.5, -0.25, 0.25, 0.5, 0.75)
"""What is tried around the best of them."""
ROUNDS = 2
"""How often every type has its turn, while the offsets of the others stand still."""

Offsets = dict[str, float]
"""By type, what is added to the bias of its rows."""


def fit_offsets(evidence: Evidence, types: Sequence[str] | None = None, uncorrected: Measured | None = None) -> Offsets:
    """Return the offset of every judged type, or of some: 0 unless another one is better beyond what chance explains.

    First one offset for all taught types, which those with few entities can share; then one for each type, old ones
    too, the frequent ones first. Old types may not lose what the student had without any offset: ``uncorrected``,
    where the evidence has offsets already.
    """
    start = evidence.as_it_is
    floor = uncorrected or start
    offsets = dict.fromkeys(evidence.judged if types is None else types, 0.0)
    if len(evidence.taught) > 1:
        offsets = _best(evidence, start, floor, offsets, evidence.taught)
    for _ in range(ROUNDS):
        for type_ in sorted(offsets, key=lambda one: -evidence.support[one]):
            offsets = _best(evidence, start, floor, offsets, (type_,))
    return offsets


def _best(evidence: Evidence, start: Measured, floor: Measured, offsets: Offsets, types: Sequence[str]) -> Offsets:
    """Return the offsets with the best one for some types, while the others stand still.

    A gain counts from ``start``; what old types may not lose, from ``floor``.
    """
    rows = evidence.labels.of(types)
    logits = evidence.shifted({type_: offset for type_, offset in offsets.items() if type_ not in types}).logits.copy()
    own, own_label = logits[:, rows].max(1), np.array(rows)[logits[:, rows].argmax(1)]
    logits[:, rows] = -np.inf
    rest, rest_label = logits.max(1), logits.argmax(1)
    best, bound = offsets, 0.0
    for around in (COARSE, FINE):
        middle = best[types[0]] if around is FINE else 0.0
        for offset in sorted((middle + step for step in around), key=abs):
            tried = {**offsets, **dict.fromkeys(types, offset)}
            now = evidence.measured(np.where(own + offset > rest, own_label, rest_label))
            reached = evidence.lower_bound(now, start, [type_ for type_, moved in tried.items() if moved])
            if reached > bound and evidence.keeps_old(now, floor):
                best, bound = tried, reached
    return best


def corrected(tagger: Tagger, offsets: Mapping[str, float]) -> Tagger:
    """Return the tagger with the offsets folded into the bias of its head."""
    weight, bias = tagger.head.folded()
    moved = bias.clone()
    for type_, offset in offsets.items():
        moved[tagger.labels.of([type_])] += offset
    return tagger.like(tagger.network, LinearHead(Rows(weight, moved)).to(tagger.device), tagger.labels)
