"""The prior correction: how often a type is expected, fitted on a dev set once training is over.

The sentences of a task are mostly picked for its new types, so the model learns to expect them more often than they
occur, finds too many, and takes them from the rarest old types. One number per taught type, added to the bias of its
rows, mends most of it and costs nothing at prediction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from retainer.data.corpus import Corpus
from retainer.data.labels import Labels
from retainer.metrics.calibration import Floats
from retainer.metrics.f1 import Array, Spans, gold_spans
from retainer.model.decode import predicted_spans
from retainer.model.heads import LinearHead, Rows
from retainer.model.predict import find, run_tagger
from retainer.model.tagger import Tagger

GRID = np.arange(-24, 17) / 4
"""The offsets that are tried: from -6 to 4 in quarters."""
ROUNDS = 2
"""How often every type has its turn, while the offsets of the others stand still."""
SURENESS = 1.0
"""How many standard errors its gain must be above 0."""
AGREED = 0.5
"""What an old type weighs that is judged by what the parent finds, where an annotated one weighs 1."""
AGREEMENT = 0.5
"""How many points agreement with the parent on old types may fall."""
FEW = 5
"""An old type of which the parent finds fewer entities in the dev set says nothing about agreement."""


@dataclass(frozen=True)
class Measured:
    """How a set of labels scores, sentence by sentence: what gains and their standard errors are made of."""

    correct: Floats
    """By type and sentence."""
    found: Floats
    support: Floats

    @cached_property
    def f1(self) -> Floats:
        """F1 of every type in percent; of a type that neither occurs nor is found, 100."""
        correct, total = self.correct.sum(1), (self.found + self.support).sum(1)
        return np.asarray(np.where(total > 0, 200 * correct / np.maximum(total, 1), 100.0))

    @cached_property
    def influence(self) -> Floats:
        """How much each sentence moves the F1 of each type: its derivative by the weight of the sentence."""
        total = np.maximum((self.found + self.support).sum(1, keepdims=True), 1)
        share = self.correct.sum(1, keepdims=True) / total
        return np.asarray(200 * (self.correct - share * (self.found + self.support)) / total)


@dataclass(frozen=True)
class Evidence:
    """What an offset is judged by: a student's scores on a dev set, and the entities it should find there."""

    logits: Floats
    labels: Labels
    sentence_starts: Array
    taught: tuple[str, ...]
    judged: tuple[str, ...]
    """The types that have a say: those annotated in the dev set, and old ones the parent finds."""
    gold: Spans
    """Annotated entities; of old types that are not annotated, those the parent finds outside of them."""
    annotated: tuple[str, ...]

    @classmethod
    def of(cls, student: Tagger, parent: Tagger, dev: Corpus, taught: Sequence[str]) -> Evidence:
        """Look at a dev set with both versions."""
        encoded = student.tokenize(dev.sentences, student.device)
        starts = encoded.sentence_starts
        annotated = tuple(type_ for type_ in student.labels.types if type_ in (*dev.types, *taught))
        gold = gold_spans(dev, starts, student.labels.types)
        others = [type_ for type_ in parent.labels.types if type_ not in annotated]
        if others:
            gold = _with_parent(gold, find(parent, dev.sentences, student.labels.types)[0], student.labels, others)
        counts = np.bincount(gold.type, minlength=len(student.labels.types))
        spoken = [type_ for type_, count in zip(student.labels.types, counts, strict=True) if count >= FEW]
        judged = tuple(type_ for type_ in student.labels.types if type_ in annotated or type_ in spoken)
        logits = run_tagger(student, encoded).logits.cpu().numpy()
        return cls(logits, student.labels, starts, tuple(taught), judged, gold, annotated)

    def measured(self, ids: Array) -> Measured:
        """Compare the entities in some labels with those there should be."""
        types, starts = self.labels.types, self.sentence_starts
        found = predicted_spans(ids, self.labels, starts, types)
        hit = np.isin(found.keys(), self.gold.keys())
        rows = [types.index(type_) for type_ in self.judged]
        return Measured(
            *(
                _counts(part, starts, len(types))[rows]
                for part in (Spans(found.start[hit], found.end[hit], found.type[hit]), found, self.gold)
            )
        )


def _with_parent(gold: Spans, found: Spans, labels: Labels, types: Sequence[str]) -> Spans:
    """Add what the parent finds of some types where nothing is annotated."""
    wanted = np.isin(found.type, [labels.types.index(type_) for type_ in types])
    size = int(max([0, *gold.end.tolist(), *found.end.tolist()]))
    taken = np.zeros(size + 1, dtype=np.int64)
    np.add.at(taken, gold.start, 1)
    np.add.at(taken, gold.end, -1)
    inside = np.concatenate([[0], (taken.cumsum() > 0).cumsum()])
    free = wanted & (inside[found.end] == inside[found.start])
    parts = zip((gold.start, gold.end, gold.type), (found.start, found.end, found.type), strict=True)
    return Spans(*(np.concatenate([own, more[free]]) for own, more in parts))


def _counts(spans: Spans, sentence_starts: Array, types: int) -> Floats:
    """Count the entities by type and sentence."""
    owners = np.searchsorted(sentence_starts, spans.start, side="right") - 1
    sentences = len(sentence_starts) - 1
    counts = np.bincount(spans.type * sentences + owners, minlength=types * sentences)
    return counts.reshape(types, sentences).astype(np.float64)


def fit_offsets(evidence: Evidence) -> dict[str, float]:
    """Return the offset of every taught type: 0 unless another one is better beyond what chance explains.

    First one offset for all, which types with few entities can share; then one for each, the frequent ones first.
    """
    fit = _Fit(evidence)
    offsets = dict.fromkeys(evidence.taught, 0.0)
    if len(offsets) > 1:
        offsets = fit.best(offsets, evidence.taught)
    for _ in range(ROUNDS):
        for type_ in sorted(offsets, key=lambda one: -fit.support[one]):
            offsets = fit.best(offsets, (type_,))
    return offsets


class _Fit:
    """A search for offsets, each judged by the lower bound of its gain over none."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.start = evidence.measured(evidence.logits.argmax(1))
        self.support = dict(zip(evidence.judged, self.start.support.sum(1).tolist(), strict=True))
        weights = np.array([1.0 if type_ in evidence.annotated else AGREED for type_ in evidence.judged])
        self.weights = weights / weights.sum()

    def best(self, offsets: dict[str, float], types: Sequence[str]) -> dict[str, float]:
        """Return the offsets with the best one for some types, while the others stand still."""
        rows = self.evidence.labels.of(types)
        logits = self.evidence.logits.copy()
        for type_ in offsets.keys() - set(types):
            logits[:, self.evidence.labels.of([type_])] += offsets[type_]
        own, own_label = logits[:, rows].max(1), np.array(rows)[logits[:, rows].argmax(1)]
        logits[:, rows] = -np.inf
        rest, rest_label = logits.max(1), logits.argmax(1)
        best, bound = offsets, 0.0
        for offset in sorted(GRID.tolist(), key=abs):
            tried = {**offsets, **dict.fromkeys(types, offset)}
            now = self.evidence.measured(np.where(own + offset > rest, own_label, rest_label))
            if self._allowed(now) and (reached := self._lower_bound(now, tried)) > bound:
                best, bound = tried, reached
        return best

    def _lower_bound(self, now: Measured, offsets: Mapping[str, float]) -> float:
        """Return the gain in the weighted mean of F1 over all judged types, less its standard error.

        The error is that of a sum over sentences, and of one more entity per type that could have gone the other way:
        few sentences change where a type is rare, and those that do may all agree by chance.
        """
        gain = self.weights @ (now.f1 - self.start.f1)
        by_sentence = self.weights @ (now.influence - self.start.influence)
        share = dict(zip(self.evidence.judged, self.weights, strict=True))
        one_more = [100 * share[type_] / max(self.support[type_], 1) for type_, offset in offsets.items() if offset]
        error = np.sqrt((by_sentence**2).sum() + sum(part**2 for part in one_more))
        return float(gain - SURENESS * error)

    def _allowed(self, now: Measured) -> bool:
        """Refuse what lowers F1 of an annotated old type, or agreement with the parent by more than a little."""
        evidence = self.evidence
        change = dict(zip(evidence.judged, now.f1 - self.start.f1, strict=True))
        old = [type_ for type_ in evidence.judged if type_ not in evidence.taught]
        agreement = [change[type_] for type_ in old if type_ not in evidence.annotated]
        kept = all(change[type_] >= 0 for type_ in old if type_ in evidence.annotated)
        return kept and (not agreement or sum(agreement) / len(agreement) >= -AGREEMENT)


def corrected(tagger: Tagger, offsets: Mapping[str, float]) -> Tagger:
    """Return the tagger with the offsets folded into the bias of its head."""
    weight, bias = tagger.head.folded()
    moved = bias.clone()
    for type_, offset in offsets.items():
        moved[tagger.labels.of([type_])] += offset
    return tagger.like(tagger.network, LinearHead(Rows(weight, moved)).to(tagger.device), tagger.labels)
