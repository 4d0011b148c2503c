"""What a dev set says about a student, once training is over: F1 type by type, and how sure one can be of a change.

Types that are annotated there are judged by their annotation. Old types that are not are judged by what the parent
finds, which is worth less.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

import numpy as np

from retainer.data.corpus import Corpus
from retainer.data.labels import Labels
from retainer.metrics.calibration import Floats
from retainer.metrics.f1 import Array, Spans, gold_spans
from retainer.model.decode import predicted_spans
from retainer.model.predict import find, run_tagger
from retainer.model.tagger import Tagger

SURENESS = 1.0
"""How many standard errors a gain must be above 0."""
AGREED = 0.5
"""What an old type weighs that is judged by what the parent finds, where an annotated one weighs 1."""
TOLERANCE = 0.5
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
        starts, types = encoded.sentence_starts, student.labels.types
        annotated = tuple(type_ for type_ in types if type_ in (*dev.types, *taught))
        gold = gold_spans(dev, starts, types)
        if others := [type_ for type_ in parent.labels.types if type_ not in annotated]:
            gold = _with_parent(gold, find(parent, dev.sentences, types)[0], types, others)
        counts = np.bincount(gold.type, minlength=len(types)).tolist()
        heard = [type_ for type_, count in zip(types, counts, strict=True) if type_ in annotated or count >= FEW]
        logits = run_tagger(student, encoded).logits.cpu().numpy()
        return cls(logits, student.labels, starts, tuple(taught), tuple(heard), gold, annotated)

    def seen_by(self, student: Tagger, dev: Corpus) -> Evidence:
        """Return the same with the scores of another student."""
        encoded = student.tokenize(dev.sentences, student.device)
        return replace(self, logits=run_tagger(student, encoded).logits.cpu().numpy())

    def shifted(self, offsets: Mapping[str, float]) -> Evidence:
        """Return the same with an offset on the scores of some types."""
        logits = self.logits.copy()
        for type_, offset in offsets.items():
            logits[:, self.labels.of([type_])] += offset
        return replace(self, logits=logits)

    @cached_property
    def support(self) -> dict[str, int]:
        """How many entities of every judged type there should be."""
        counts = np.bincount(self.gold.type, minlength=len(self.labels.types)).tolist()
        return {type_: counts[self.labels.types.index(type_)] for type_ in self.judged}

    @cached_property
    def weights(self) -> Floats:
        """What every judged type weighs in a mean."""
        weights = np.array([1.0 if type_ in self.annotated else AGREED for type_ in self.judged])
        return np.asarray(weights / weights.sum())

    @property
    def as_it_is(self) -> Measured:
        """How the student scores."""
        return self.measured(self.logits.argmax(1))

    @cached_property
    def _wanted(self) -> tuple[Array, Floats]:
        """The keys of all entities there should be, sorted, and their number by judged type and sentence."""
        return np.sort(self.gold.keys()), self._counts(self.gold)

    def measured(self, ids: Array) -> Measured:
        """Compare the entities in some labels with those there should be."""
        wanted, support = self._wanted
        found = predicted_spans(ids, self.labels, self.sentence_starts, self.labels.types)
        keys = found.keys()
        at = np.searchsorted(wanted, keys).clip(max=max(len(wanted) - 1, 0))
        hit = wanted[at] == keys if len(wanted) else np.zeros(len(keys), dtype=bool)
        right = Spans(found.start[hit], found.end[hit], found.type[hit])
        return Measured(self._counts(right), self._counts(found), support)

    def _counts(self, spans: Spans) -> Floats:
        """Count entities by judged type and sentence."""
        types, sentences = len(self.labels.types), len(self.sentence_starts) - 1
        owners = np.searchsorted(self.sentence_starts, spans.start, side="right") - 1
        counts = np.bincount(spans.type * sentences + owners, minlength=types * sentences)
        rows = [self.labels.types.index(type_) for type_ in self.judged]
        return counts.reshape(types, sentences)[rows].astype(np.float64)

    def lower_bound(self, now: Measured, before: Measured, moved: Collection[str] = ()) -> float:
        """Return the gain in the weighted mean of F1 over all judged types, less its standard error.

        The error is that of a sum over sentences, and of one more entity that could have gone the other way for every
        type that was ``moved``: few sentences change where a type is rare, and those that do may all agree by chance.
        """
        gain = self.weights @ (now.f1 - before.f1)
        by_sentence = self.weights @ (now.influence - before.influence)
        share = dict(zip(self.judged, self.weights.tolist(), strict=True))
        one_more = [100 * share[type_] / max(self.support[type_], 1) for type_ in moved]
        return float(gain - SURENESS * np.sqrt((by_sentence**2).sum() + sum(part**2 for part in one_more)))

    def changes(self, now: Measured, before: Measured, types: Collection[str]) -> list[float]:
        """Return how F1 of some of the judged types changes."""
        both = zip(self.judged, (now.f1 - before.f1).tolist(), strict=True)
        return [change for type_, change in both if type_ in types]

    def keeps_old(self, now: Measured, before: Measured) -> bool:
        """Refuse what lowers F1 of an annotated old type, or agreement with the parent by more than a little."""
        old = [type_ for type_ in self.judged if type_ not in self.taught]
        annotated = self.changes(now, before, [type_ for type_ in old if type_ in self.annotated])
        agreement = self.changes(now, before, [type_ for type_ in old if type_ not in self.annotated])
        return min(annotated, default=0.0) >= 0 and (not agreement or fmean(agreement) >= -TOLERANCE)


def _with_parent(gold: Spans, found: Spans, types: Sequence[str], wanted: Sequence[str]) -> Spans:
    """Add what the parent finds of some types where nothing is annotated."""
    chosen = np.isin(found.type, [types.index(type_) for type_ in wanted])
    size = int(max([0, *gold.end.tolist(), *found.end.tolist()]))
    taken = np.zeros(size + 1, dtype=np.int64)
    np.add.at(taken, gold.start, 1)
    np.add.at(taken, gold.end, -1)
    inside = np.concatenate([[0], (taken.cumsum() > 0).cumsum()])
    free = chosen & (inside[found.end] == inside[found.start])
    parts = zip((gold.start, gold.end, gold.type), (found.start, found.end, found.type), strict=True)
    return Spans(*(np.concatenate([own, more[free]]) for own, more in parts))
