"""Too little to learn a type from: how little that is, and what to expect of it."""

from __future__ import annotations

from collections.abc import Iterable

from retainer.data.corpus import Corpus
from retainer.errors import shortened
from retainer.plurals import entities, sentences

FEW_TO_LEARN_FROM = 20
"""Fewer entities than this teach a type badly. Of the cities of `examples/`, F1 on test sentences is 0 after a single
one, 50 after 5 to 20, and 89 after 53 (built-in encoder, rdp, ten epochs, seed 0)."""
FEW_SENTENCES = 10
"""Fewer sentences than this show a type in too few surroundings, however many entities they hold."""

WHAT_TO_EXPECT = "expect much of it to be missed or confused with other words"
ANNOTATE_MORE = f"annotate more; {FEW_TO_LEARN_FROM} entities of a type are few, 200 are comfortable"


def scarcity(corpus: Corpus, types: Iterable[str]) -> str:
    """Return in one sentence that there is too little to learn some types from; nothing where there is enough."""
    few = [type_ for type_ in types if corpus.counts[type_] < FEW_TO_LEARN_FROM]
    if few:
        listed = ", ".join(f"{entities(corpus.counts[type_])} of {shortened(type_)}" for type_ in few)
        there = f"{sentences(len(corpus))} and only {listed}"
    elif len(corpus) < FEW_SENTENCES:
        there = f"only {sentences(len(corpus))}"
    else:
        return ""
    return f"{corpus.source} has {there}: {WHAT_TO_EXPECT}; {ANNOTATE_MORE}"
