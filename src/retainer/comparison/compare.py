"""Two versions on the same data: what the new one kept, gained, lost and calls by another name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from retainer.comparison.agreement import Tally, TypeAgreement
from retainer.comparison.changes import KINDS, Case, Cases, changes
from retainer.comparison.scored import ScoredComparison, judge
from retainer.comparison.type_sets import Types
from retainer.data.corpus import Corpus
from retainer.data.spans import Sentence, Span
from retainer.data.texts import Numbered, Texts, texts_or_corpus
from retainer.errors import InputError
from retainer.metrics.significance import Counts, counts
from retainer.plurals import amount
from retainer.versions.version import Version, load

CHUNK, WORDS = 1024, 65536
"""Texts, and words, tagged at once: bounds the memory, however many texts there are and however long."""
TELL = 10_000
"""After so many texts it is told how far we are."""

Data = Corpus | Texts | str | PathLike[str] | Iterable[str]


def _nobody(_: str) -> None:
    """Take no notice."""


@dataclass(frozen=True)
class Difference:
    """What ``retainer.compare`` finds."""

    types: Types
    texts: int
    """How many were compared."""
    judgement: ScoredComparison | None
    """Scores on the annotation; None where no type of either version is annotated."""
    drifts: Mapping[str, TypeAgreement]
    """What became of the old version's entities, by its types: no annotation is needed for that."""
    total: TypeAgreement
    """The same for all types of the old version together."""
    fresh: Mapping[str, int]
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
    def scored(self) -> tuple[str, ...]:
        """The types with annotation."""
        return (*self.types.kept, *self.types.learned)

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the cases for a result file."""
        return {
            "texts": self.texts,
            "gold": self.judgement is not None,
            "types": self.types.as_dict(),
            "scores": self.judgement and self.judgement.as_dict(),
            "agreement": {
                "all": self.total.as_dict(),
                "per_type": {type_: drift.as_dict() for type_, drift in self.drifts.items()},
            },
            "found_of_gained_types": dict(self.fresh),
            "changes": dict(self.kinds),
        }


def compare(
    old: Version | str | Path,
    new: Version | str | Path,
    data: Data,
    *,
    device: str = "auto",
    tell: Callable[[str], None] = _nobody,
) -> Difference:
    """Compare two versions on annotated data, or on texts alone.

    ``data`` is a corpus, the path of an annotated file or of texts (one per line, or JSON lines with a "text"), or
    texts. With annotation both versions are scored; without, the old version's entities take its place. The versions
    may differ in everything: what both see is the same words. ``tell`` hears what is left out, and how far it is.
    """
    given = _given(data)
    before, after = (
        one if isinstance(one, Version) else load(one, device=device, need_head=True) for one in (old, new)
    )
    types = Types.of(before.types, after.types, given)
    for note in types.notes():
        tell(note)
    ledger, worded = _Ledger(types), False
    for chunk in _chunks(_sentences(given)):
        sentences = [sentence for _, sentence in chunk]
        ledger.add(chunk, before.tag(sentences), after.tag(sentences))
        worded = worded or any(sentence.words for sentence in sentences)
        if ledger.texts // TELL > (ledger.texts - len(chunk)) // TELL:
            tell(f"{amount(ledger.texts, 'text')} compared")
    if not worded:
        empty = f", only {amount(ledger.texts, 'empty text')}" if ledger.texts else ""
        raise InputError(f"{given.source}: found no text to compare the versions on{empty}; there must be at least one")
    return ledger.difference()


def compare_found(types: Types, cases: Sequence[Case]) -> Difference:
    """Sum up what became of the entities of texts which both versions have already seen: a server runs them its way."""
    ledger = _Ledger(types)
    ledger.note(cases)
    return ledger.difference()


def _given(data: Data) -> Corpus | Texts:
    if isinstance(data, Corpus | Texts):
        return data
    if isinstance(data, str | PathLike):
        return texts_or_corpus(data)
    return Texts.of(data)


def _sentences(data: Corpus | Texts) -> Iterator[Numbered]:
    return iter(enumerate(data, 1)) if isinstance(data, Corpus) else iter(data)


def _chunks(sentences: Iterable[Numbered]) -> Iterator[list[Numbered]]:
    """Cut a stream into parts that are tagged at once."""
    chunk: list[Numbered] = []
    words = 0
    for one in sentences:
        chunk.append(one)
        words += len(one[1].words)
        if len(chunk) >= CHUNK or words >= WORDS:
            yield chunk
            chunk, words = [], 0
    if chunk:
        yield chunk


class _Ledger:
    """Writes down what two versions find, part by part."""

    def __init__(self, types: Types) -> None:
        self.types, self.texts, self.cases = types, 0, Cases()
        self.tally = Tally((*types.old, *types.gained))
        self.scored = (*types.kept, *types.learned)
        self.tables: tuple[list[Counts], list[Counts]] = ([], [])

    def add(self, chunk: list[Numbered], old: list[tuple[Span, ...]], new: list[tuple[Span, ...]]) -> None:
        """Write down one part."""
        cases = []
        for (number, sentence), before, after in zip(chunk, old, new, strict=True):
            made = changes(_characters(sentence, before), _characters(sentence, after))
            gold = [span for span in sentence.character_spans() if made and span.type in self.scored]
            cases.append(Case(number, sentence.located()[0], made, tuple(gold)))
        self.note(cases)
        if self.scored:
            gold_spans = [sentence.spans for _, sentence in chunk]
            for table, spans in zip(self.tables, (old, new), strict=True):
                table.append(counts(gold_spans, spans, self.scored))

    def note(self, cases: Sequence[Case]) -> None:
        """Write down what became of the entities of some texts."""
        self.texts += len(cases)
        for case in cases:
            if case.changes:
                self.cases.add(case)
        self.tally.add([case.changes for case in cases])

    def difference(self) -> Difference:
        """Draw the sum."""
        drifts = self.tally.drifts()
        judgement = None
        if self.scored:
            before, after = (np.concatenate(table) for table in self.tables)
            judgement = judge(before, after, self.types.kept, self.types.learned)
        return Difference(
            self.types,
            self.texts,
            judgement,
            {type_: drifts[type_] for type_ in self.types.old},
            self.tally.total(self.types.old),
            {type_: drifts[type_].new for type_ in self.types.gained},
            {kind: self.tally.kinds[kind] for kind in KINDS},
            self.cases,
        )


def _characters(sentence: Sentence, spans: tuple[Span, ...]) -> tuple[Span, ...]:
    return sentence.with_spans(spans).character_spans()
