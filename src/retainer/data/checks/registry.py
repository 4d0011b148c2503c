"""The table of everything a corpus is looked over for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retainer.data.checks.annotation import conflicts, duplicates, edges, few, missed, unannotated
from retainer.data.checks.finding import SHOWN, WEIGHTS, Finding
from retainer.data.checks.names import alike
from retainer.data.corpus import Corpus

LONG = 400
"""Texts with more words than this are cut into several windows by most encoders."""


def findings(corpus: Corpus, known: Sequence[str] = (), show: int = SHOWN) -> list[Finding]:
    """Look a corpus over, for a model that knows some types already; no finding means nothing odd was seen.

    A finding names ``show`` places at most.
    """
    found = [finding for look in (reading, few, unannotated) for finding in look(corpus)]
    found += [finding for look in (duplicates, conflicts, missed, edges, long) for finding in look(corpus, show)]
    return sorted([*found, *alike(corpus, known)], key=lambda finding: list(WEIGHTS).index(finding.weight))


def reading(corpus: Corpus) -> Iterator[Finding]:
    """Pass on what was noticed while reading."""
    for what, count in corpus.oddities.items():
        yield Finding(what, count, "accepted as it stands; look at the file if you did not expect it")


def long(corpus: Corpus, show: int = SHOWN) -> Iterator[Finding]:
    """Find texts longer than an encoder looks at once."""
    rows = [row for row, sentence in enumerate(corpus, 1) if len(sentence.words) > LONG]
    if rows:
        examples = [f"sentence {row}: {len(corpus[row - 1].words)} words" for row in rows[:show]]
        advice = "learned in overlapping windows; nothing is lost"
        yield Finding(f"texts of more than {LONG} words", len(rows), advice, examples, "note")
