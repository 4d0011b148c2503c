"""What is odd in a corpus, found before anyone trains on it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from retainer.corpora import Corpus
from retainer.spans import Span

FEW = 20
"""Fewer entities than this teach a type badly."""
LONG = 400
"""Texts with more words than this are cut into several windows by most encoders."""


@dataclass(frozen=True)
class Finding:
    """One odd thing: how often, what it means, and up to a few places (1 is the first sentence)."""

    what: str
    count: int
    advice: str
    examples: list[str] = field(default_factory=list)


def findings(corpus: Corpus) -> list[Finding]:
    """Look a corpus over; no finding means nothing odd was seen."""
    looks = (_reading, _few, _unannotated, _duplicates, _conflicts, _long)
    return [finding for look in looks for finding in look(corpus)]


def clashes(corpus: Corpus, predicted: list[tuple[Span, ...]], known: tuple[str, ...]) -> list[Finding]:
    """Find entities of new types where the model sees an old type: they will be relabelled by learning."""
    seen: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row, (sentence, guesses) in enumerate(zip(corpus, predicted, strict=True), 1):
        for span in sentence.spans:
            for guess in guesses:
                if span.type not in known and guess.start < span.end and span.start < guess.end:
                    text = " ".join(sentence.words[span.start : span.end])
                    seen[span.type, guess.type].append(f"sentence {row}: {text!r}")
    return [
        Finding(
            f"entities of the new type {new} lie where the model sees {old}",
            len(places),
            f"make sure that they are meant to become {new}",
            places[:3],
        )
        for (new, old), places in sorted(seen.items())
    ]


def _reading(corpus: Corpus) -> Iterator[Finding]:
    for what, count in corpus.oddities.items():
        yield Finding(what, count, "accepted as it stands; look at the file if you did not expect it")


def _few(corpus: Corpus) -> Iterator[Finding]:
    for type_, count in sorted(corpus.counts.items()):
        if count < FEW:
            yield Finding(f"few entities of type {type_}", count, f"annotate more; {FEW} is little, 200 is comfortable")


def _unannotated(corpus: Corpus) -> Iterator[Finding]:
    if not corpus.counts:
        yield Finding("no entity at all", 0, "is the tag the last column, and are the spans under the expected key?")


def _duplicates(corpus: Corpus) -> Iterator[Finding]:
    texts = Counter(sentence.words for sentence in corpus)
    again = sum(count - 1 for count in texts.values())
    if again:
        common = [f"{count} times: {' '.join(words)[:60]!r}" for words, count in texts.most_common(3) if count > 1]
        yield Finding(
            "sentences that repeat an earlier one", again, "harmless, unless they are also in your test set", common
        )


def _conflicts(corpus: Corpus) -> Iterator[Finding]:
    """Find texts annotated in two ways."""
    rows: dict[tuple[str, ...], dict[tuple[Span, ...], int]] = defaultdict(dict)
    for row, sentence in enumerate(corpus, 1):
        rows[sentence.words].setdefault(sentence.spans, row)
    odd = [list(ways.values()) for ways in rows.values() if len(ways) > 1]
    if odd:
        places = [f"sentences {' and '.join(map(str, where[:3]))}" for where in odd[:3]]
        yield Finding("texts annotated in different ways", len(odd), "decide which one is right", places)


def _long(corpus: Corpus) -> Iterator[Finding]:
    rows = [row for row, sentence in enumerate(corpus, 1) if len(sentence.words) > LONG]
    if rows:
        places = [f"sentence {row}: {len(corpus[row - 1].words)} words" for row in rows[:3]]
        yield Finding(
            f"texts of more than {LONG} words", len(rows), "learned in overlapping windows; nothing is lost", places
        )
