"""The table of all checks of a corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retainer.data.checks.annotation import (
    conflicting_annotations,
    duplicate_texts,
    missed_mentions,
    no_entities,
    odd_edges,
    rare_types,
)
from retainer.data.checks.completeness import complete_without_entities, open_everywhere, unsaid
from retainer.data.checks.finding import EXAMPLES_SHOWN, WEIGHT_MEANINGS, Finding
from retainer.data.checks.names import similar_types
from retainer.data.corpus import Corpus

_LONG_TEXT = 400
"""Texts with more words than this are cut into several windows by most encoders."""


def findings(corpus: Corpus, known: Sequence[str] = (), show: int = EXAMPLES_SHOWN) -> list[Finding]:
    """Check a corpus, for a model that knows some types already; without a finding there is nothing odd in it.

    A finding names at most ``show`` places.
    """
    found = [
        finding
        for look in (reading_oddities, rare_types, no_entities, open_everywhere, complete_without_entities)
        for finding in look(corpus)
    ]
    found += [
        finding
        for look in (duplicate_texts, conflicting_annotations, missed_mentions, odd_edges, long_texts, unsaid)
        for finding in look(corpus, show)
    ]
    return sorted(
        [*found, *similar_types(corpus, known)], key=lambda finding: list(WEIGHT_MEANINGS).index(finding.weight)
    )


def reading_oddities(corpus: Corpus) -> Iterator[Finding]:
    """Report what the reader noticed."""
    for what, count in corpus.oddities.items():
        yield Finding(what, count, "accepted as it stands; look at the file if you did not expect it")


def long_texts(corpus: Corpus, show: int = EXAMPLES_SHOWN) -> Iterator[Finding]:
    """Find texts longer than what an encoder reads at once."""
    rows = [row for row, sentence in enumerate(corpus, 1) if len(sentence.words) > _LONG_TEXT]
    if rows:
        examples = [f"sentence {row}: {len(corpus[row - 1].words)} words" for row in rows[:show]]
        advice = "learned in overlapping windows; nothing is lost"
        yield Finding(f"texts of more than {_LONG_TEXT} words", len(rows), advice, examples, "note")
