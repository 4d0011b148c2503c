"""From predicted labels to entities: everything that reads the labels of a tagger as spans goes through here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from retainer.data.labels import Labels
from retainer.metrics.f1 import Array, Spans


def predicted_spans(ids: Array, labels: Labels, sentence_starts: Array, types: Sequence[str]) -> Spans:
    """Read the entities out of predicted labels, the lenient way, without joining across sentences.

    An entity starts at a B or S, after an E or S, at a change of type, after O, and at the first word of a sentence.
    """
    number = {type_: i for i, type_ in enumerate(types)}
    type_of = np.array([number.get(type_, len(types)) if type_ else -1 for _, type_ in labels.parts])
    kind_of = np.array([kind in "BS" for kind, _ in labels.parts])
    closes = np.array([kind in "ES" for kind, _ in labels.parts])
    type_ = type_of[ids]
    inside = type_ >= 0
    fresh = np.ones(len(ids), dtype=bool)
    fresh[1:] = kind_of[ids[1:]] | (type_[1:] != type_[:-1]) | closes[ids[:-1]]
    fresh[sentence_starts[:-1][sentence_starts[:-1] < len(ids)]] = True
    start = np.flatnonzero(inside & fresh)
    goes_on = np.append(inside[1:] & ~fresh[1:], False)
    end = np.flatnonzero(inside & ~goes_on) + 1
    known = type_[start] < len(types)
    return Spans(start[known], end[known], type_[start[known]])


def flat_spans(ids: Array, labels: Labels, gold: Spans, types: Sequence[str]) -> Spans:
    """Read the entities as released code does: across sentences, and labels the annotation never uses become O."""
    begins, goes_on = set(gold.type.tolist()), set(gold.type[gold.end - gold.start > 1].tolist())
    used = [
        type_ in types and list(types).index(type_) in (begins if kind in "BS" else goes_on) if type_ else True
        for kind, type_ in labels.parts
    ]
    rewritten = np.where(np.array(used)[ids], ids, labels.outside)
    return predicted_spans(rewritten, labels, np.array([0, len(ids)]), types)
