"""What data say about their own completeness, where they say it: an O that stays open teaches nothing."""

from __future__ import annotations

from collections.abc import Iterator

from retainer.data.checks.finding import EXAMPLES_SHOWN, Finding
from retainer.data.corpus import Corpus
from retainer.data.place import place_of
from retainer.errors import shortened


def open_everywhere(corpus: Corpus) -> Iterator[Finding]:
    """Find types with entities that are complete in no sentence: nothing says what is not of the type."""
    said = corpus.complete
    for type_, count in sorted(corpus.counts.items()):
        if said is not None and not said[type_]:
            advice = "nothing says what is not of this type; name it under complete where every entity is annotated"
            yield Finding(
                f"entities of {shortened(type_)}, which is complete in no sentence", count, advice, [], "mend"
            )


def complete_without_entities(corpus: Corpus) -> Iterator[Finding]:
    """Find types that are complete somewhere and annotated nowhere: the name may be misspelt."""
    for type_, count in sorted((corpus.complete or {}).items()):
        if type_ not in corpus.counts:
            advice = "fine if there are none; if not, is it spelt as its entities are?"
            yield Finding(f"sentences complete for {shortened(type_)}, of which there is no entity", count, advice)


def unsaid(corpus: Corpus, show: int = EXAMPLES_SHOWN) -> Iterator[Finding]:
    """Find sentences that do not say what is complete in them, among others that do."""
    rows = [row for row, sentence in enumerate(corpus, 1) if sentence.complete is None]
    if corpus.complete is not None and rows:
        advice = "learn takes nothing in them for complete, because others say it"
        yield Finding("sentences without complete, among others with it", len(rows), advice, [place_of(rows, show)])
