"""Entity precision, recall and F1. All scores are in percent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from retainer.data.spans import Sentence, Span

Array = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Spans:
    """Entities of a whole corpus as arrays; positions are word numbers that run through the corpus."""

    start: Array
    end: Array
    type: Array

    def keys(self) -> Array:
        """Return one number per entity, equal for equal entities (a start, an end and a type)."""
        return ((self.start << 36) + ((self.end - self.start) << 14) + self.type).astype(np.int64)


def gold_spans(sentences: Iterable[Sentence], sentence_starts: Array, types: Sequence[str]) -> Spans:
    """Lay the annotated entities of the given types out as arrays."""
    number = {type_: i for i, type_ in enumerate(types)}
    rows = [
        (base + span.start, base + span.end, number[span.type])
        for base, sentence in zip(sentence_starts[:-1].tolist(), sentences, strict=True)
        for span in sentence.spans
        if span.type in number
    ]
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return Spans(table[:, 0], table[:, 1], table[:, 2])


def spans_by_sentence(spans: Spans, sentence_starts: Array, types: Sequence[str]) -> list[tuple[Span, ...]]:
    """Give the entities back to their sentences."""
    found: list[list[Span]] = [[] for _ in range(len(sentence_starts) - 1)]
    owners = np.searchsorted(sentence_starts, spans.start, side="right") - 1
    for row, start, end, type_ in zip(owners.tolist(), spans.start, spans.end, spans.type, strict=True):
        base = int(sentence_starts[row])
        found[row].append(Span(int(start) - base, int(end) - base, types[type_]))
    return [tuple(spans_) for spans_ in found]


class TypeScores(TypedDict):
    """Precision, recall and F1 in percent, and the number of annotated entities, as result files hold them."""

    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True)
class Score:
    """How well one type, or several counted together, were found."""

    correct: int
    predicted: int
    support: int

    @property
    def precision(self) -> float:
        """Share of the predicted entities that are right."""
        return 100 * self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the annotated entities that were found."""
        return 100 * self.correct / self.support if self.support else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of the two."""
        return 200 * self.correct / (self.predicted + self.support) if self.correct else 0.0

    def as_dict(self) -> TypeScores:
        """Return precision, recall, F1 and support for a result file."""
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1, "support": self.support}


@dataclass(frozen=True)
class Scores:
    """The scores of a corpus, type by type."""

    per_type: Mapping[str, Score]

    @property
    def micro(self) -> float:
        """F1 over all entities counted together."""
        return self.micro_of(self.per_type)

    @property
    def macro(self) -> float:
        """Mean F1 over the types that occur in the gold annotation."""
        return self.macro_of(self.per_type) or 0.0

    @property
    def total(self) -> Score:
        """All entities counted together."""
        return _together(self.per_type.values())

    def micro_of(self, types: Iterable[str]) -> float:
        """Micro F1 of some types."""
        return _together(self.per_type[type_] for type_ in types).f1

    def macro_of(self, types: Iterable[str]) -> float | None:
        """Mean F1 of some types (old, new), or None if none of them occurs in the gold annotation."""
        values = [self.per_type[type_].f1 for type_ in types if self.per_type[type_].support]
        return sum(values) / len(values) if values else None

    def only(self, types: Iterable[str]) -> Scores:
        """Leave out all types but these: an entity of a type that is not annotated may be found and is not an error."""
        chosen = set(types)
        return Scores({type_: score for type_, score in self.per_type.items() if type_ in chosen})

    def as_dict(self) -> dict[str, Any]:
        """Return everything for a result file."""
        per_type = {type_: score.as_dict() for type_, score in self.per_type.items()}
        return {"micro": self.micro, "macro": self.macro, "per_type": per_type}


def _together(scores: Iterable[Score]) -> Score:
    parts = [(score.correct, score.predicted, score.support) for score in scores]
    return Score(*(sum(column) for column in zip(*parts, strict=True))) if parts else Score(0, 0, 0)


def score(gold: Spans, predicted: Spans, types: Sequence[str]) -> Scores:
    """Compare two sets of entities; one counts as found if start, end and type are all right."""
    correct = predicted.type[np.isin(predicted.keys(), gold.keys())]
    tables = [np.bincount(part, minlength=len(types)).tolist() for part in (correct, predicted.type, gold.type)]
    return Scores({type_: Score(*row) for type_, *row in zip(types, *tables, strict=True)})
