"""The table of all checks of a corpus."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from retainer.data.checks.annotation import (
    CUT_WORDS,
    conflicting_annotations,
    duplicate_texts,
    few_sentences,
    missed_mentions,
    no_entities,
    odd_edges,
    picked_types,
    rare_types,
)
from retainer.data.checks.completeness import complete_without_entities, open_everywhere, unsaid
from retainer.data.checks.finding import EXAMPLES_SHOWN, WEIGHT_MEANINGS, Finding
from retainer.data.checks.names import similar_types
from retainer.data.corpus import Corpus
from retainer.data.formats.char_spans import EDGE_INSIDE_WORD
from retainer.data.place import Place, place_in

_LONG_TEXT = 400
"""Texts with more words than this are cut into several windows by most encoders."""


def findings(corpus: Corpus, known: Sequence[str] = (), show: int = EXAMPLES_SHOWN) -> list[Finding]:
    """Check a corpus, for a model that knows some types already; without a finding there is nothing odd in it.

    A finding names at most ``show`` places.
    """
    looks = (rare_types, duplicate_texts, conflicting_annotations, missed_mentions, odd_edges, long_texts, unsaid)
    found = [
        *no_entities(corpus),
        *few_sentences(corpus),
        *(finding for look in looks for finding in look(corpus, show)),
    ]
    found += [*picked_types(corpus, known), *similar_types(corpus, known, show)]
    found += [*open_everywhere(corpus), *complete_without_entities(corpus)]
    found += reading_oddities(corpus, {finding.what for finding in found}, show)
    return sorted(found, key=lambda finding: list(WEIGHT_MEANINGS).index(finding.weight))


def reading_oddities(corpus: Corpus, found: Container[str] = (), show: int = EXAMPLES_SHOWN) -> Iterator[Finding]:
    """Report what the reader noticed, unless it was found, with its sentences, in what was read."""
    for what, count in corpus.oddities.items():
        if what != EDGE_INSIDE_WORD or CUT_WORDS not in found:
            lines = [where for where in corpus.odd_places.get(what, ()) if where != corpus.source]
            places = [Place((), where=where) for where in lines[:show]]
            yield Finding(what, count, "accepted as it stands; look at the file if you did not expect it", places)


def long_texts(corpus: Corpus, show: int = EXAMPLES_SHOWN) -> Iterator[Finding]:
    """Find texts longer than what an encoder reads at once."""
    rows = [row for row, sentence in enumerate(corpus, 1) if len(sentence.words) > _LONG_TEXT]
    if rows:
        long = [(row, corpus[row - 1]) for row in rows[:show]]
        examples = [place_in(sentence, row, remark=f"{len(sentence.words)} words") for row, sentence in long]
        advice = "learned in overlapping windows; nothing is lost"
        yield Finding(f"texts of more than {_LONG_TEXT} words", len(rows), advice, examples, "note")
