"""Two versions on the same data: what the new one kept, gained, lost and relabelled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from retainer.comparison.agreement import AgreementCounter, TypeAgreement
from retainer.comparison.changes import CHANGE_KINDS, Case, Cases, changes
from retainer.comparison.scored import ScoredComparison, score_versions
from retainer.comparison.type_sets import TypeSets
from retainer.data.corpus import Corpus
from retainer.data.spans import Sentence, Span
from retainer.data.texts import Numbered, Texts, texts_or_corpus
from retainer.errors import InputError
from retainer.metrics.significance import Counts, count_entities
from retainer.plurals import amount
from retainer.versions.version import Version, load

CHUNK_TEXTS, CHUNK_WORDS = 1024, 65536
"""Texts, and words, tagged at once: bounds the memory, however many texts there are and however long."""
PROGRESS_EVERY = 10_000
"""Progress is reported each time so many texts are compared."""

ComparisonData = Corpus | Texts | str | PathLike[str] | Iterable[str]


def _ignore(_: str) -> None:
    """Drop the message."""


@dataclass(frozen=True)
class Difference:
    """What ``retainer.compare`` finds."""

    types: TypeSets
    texts: int
    """How many were compared."""
    scored: ScoredComparison | None
    """Scores on the annotation; None where no type of either version is annotated."""
    agreements: Mapping[str, TypeAgreement]
    """What became of the old version's entities, by its types; this needs no annotation."""
    total: TypeAgreement
    """The same for all types of the old version together."""
    found_of_gained_types: Mapping[str, int]
    """How many entities of the gained types the new version finds."""
    kinds: Mapping[str, int]
    """How many entities of any type are kept, moved, relabelled, lost and gained."""
    cases: Cases
    """The texts in which a version finds something, in their order, with every change."""

    @property
    def agreement(self) -> float | None:
        """Agreement on the old types together, in percent; None where neither version finds any."""
        return self.total.agreement

    @property
    def scored_types(self) -> tuple[str, ...]:
        """The types with annotation."""
        return (*self.types.kept, *self.types.learned)

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the cases for a result file."""
        return {
            "texts": self.texts,
            "gold": self.scored is not None,
            "types": self.types.as_dict(),
            "scores": self.scored and self.scored.as_dict(),
            "agreement": {
                "all": self.total.as_dict(),
                "per_type": {type_: one.as_dict() for type_, one in self.agreements.items()},
            },
            "found_of_gained_types": dict(self.found_of_gained_types),
            "changes": dict(self.kinds),
        }


def compare(
    old: Version | str | Path,
    new: Version | str | Path,
    data: ComparisonData,
    *,
    device: str = "auto",
    tell: Callable[[str], None] = _ignore,
) -> Difference:
    """Compare two versions on annotated data, or on texts alone.

    ``data`` is a corpus, the path of an annotated file or of texts (one per line, or JSON lines with a "text"), or
    texts. With annotation both versions are scored; without, the old version's entities take its place. The versions
    may differ in everything: both see the same words. ``tell`` is called with what is left out, and with the progress.
    """
    given = _given(data)
    before, after = (
        one if isinstance(one, Version) else load(one, device=device, need_head=True) for one in (old, new)
    )
    types = TypeSets.of(before.types, after.types, given)
    for note in types.notes():
        tell(note)
    builder, worded = _DifferenceBuilder(types), False
    for chunk in _chunks(_sentences(given)):
        sentences = [sentence for _, sentence in chunk]
        builder.add(chunk, before.tag(sentences), after.tag(sentences))
        worded = worded or any(sentence.words for sentence in sentences)
        if builder.texts // PROGRESS_EVERY > (builder.texts - len(chunk)) // PROGRESS_EVERY:
            tell(f"{amount(builder.texts, 'text')} compared")
    if not worded:
        empty = f", only {amount(builder.texts, 'empty text')}" if builder.texts else ""
        raise InputError(f"{given.source}: found no text to compare the versions on{empty}; there must be at least one")
    return builder.difference()


def compare_predictions(types: TypeSets, cases: Sequence[Case]) -> Difference:
    """Compare what both versions have already found in some texts: a server runs the versions its own way."""
    builder = _DifferenceBuilder(types)
    builder.add_cases(cases)
    return builder.difference()


def _given(data: ComparisonData) -> Corpus | Texts:
    if isinstance(data, Corpus | Texts):
        return data
    if isinstance(data, str | PathLike):
        return texts_or_corpus(data)
    return Texts.of(data)


def _sentences(data: Corpus | Texts) -> Iterator[Numbered]:
    return iter(enumerate(data, 1)) if isinstance(data, Corpus) else iter(data)


def _chunks(sentences: Iterable[Numbered]) -> Iterator[list[Numbered]]:
    """Cut a stream into chunks that are tagged at once."""
    chunk: list[Numbered] = []
    words = 0
    for one in sentences:
        chunk.append(one)
        words += len(one[1].words)
        if len(chunk) >= CHUNK_TEXTS or words >= CHUNK_WORDS:
            yield chunk
            chunk, words = [], 0
    if chunk:
        yield chunk


class _DifferenceBuilder:
    """Collects what two versions find, chunk by chunk, and sums it up."""

    def __init__(self, types: TypeSets) -> None:
        self.types, self.texts, self.cases = types, 0, Cases()
        self.counter = AgreementCounter((*types.old, *types.gained))
        self.scored_types = (*types.kept, *types.learned)
        self.tables: tuple[list[Counts], list[Counts]] = ([], [])

    def add(self, chunk: list[Numbered], old: list[tuple[Span, ...]], new: list[tuple[Span, ...]]) -> None:
        """Add one chunk of texts with what both versions find in it."""
        cases = []
        for (number, sentence), before, after in zip(chunk, old, new, strict=True):
            changed = changes(_characters(sentence, before), _characters(sentence, after))
            gold = [span for span in sentence.character_spans() if changed and span.type in self.scored_types]
            cases.append(Case(number, sentence.located()[0], changed, tuple(gold)))
        self.add_cases(cases)
        if self.scored_types:
            gold_spans = [sentence.spans for _, sentence in chunk]
            for table, spans in zip(self.tables, (old, new), strict=True):
                table.append(count_entities(gold_spans, spans, self.scored_types))

    def add_cases(self, cases: Sequence[Case]) -> None:
        """Add what became of the entities of some texts."""
        self.texts += len(cases)
        for case in cases:
            if case.changes:
                self.cases.add(case)
        self.counter.add([case.changes for case in cases])

    def difference(self) -> Difference:
        """Return the sum of all that was added."""
        agreements = self.counter.by_type()
        scored = None
        if self.scored_types:
            before, after = (np.concatenate(table) for table in self.tables)
            scored = score_versions(before, after, self.types.kept, self.types.learned)
        return Difference(
            self.types,
            self.texts,
            scored,
            {type_: agreements[type_] for type_ in self.types.old},
            self.counter.total(self.types.old),
            {type_: agreements[type_].new for type_ in self.types.gained},
            {kind: self.counter.kinds[kind] for kind in CHANGE_KINDS},
            self.cases,
        )


def _characters(sentence: Sentence, spans: tuple[Span, ...]) -> tuple[Span, ...]:
    return sentence.with_spans(spans).character_spans()
