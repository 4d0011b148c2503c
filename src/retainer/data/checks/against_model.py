"""A corpus against the model that is to learn it: types that clash, and words its tokenizer cannot read."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from retainer.data.checks.finding import EXAMPLES_SHOWN, Finding
from retainer.data.corpus import Corpus
from retainer.data.place import Place, place_in, place_of
from retainer.data.spans import Span
from retainer.errors import shortened

_ENOUGH_WORDS = 20
"""A script is judged only if it has at least so many words."""
_UNREAD_SHARE = 0.05
"""Share of unknown words from which a tokenizer does not fit a script."""
_PIECES_WHEN_SPELLED = 4.0
"""Pieces per word from which a tokenizer only spells words out."""


def type_clashes(
    corpus: Corpus, predicted: Sequence[Sequence[Span]], known: Sequence[str], show: int = EXAMPLES_SHOWN
) -> list[Finding]:
    """Find entities of new types where the model finds an old type: learning will relabel them.

    An entity counts once for each old type, however many entities of it the model finds there.
    """
    clashes: dict[tuple[str, str], list[Place]] = defaultdict(list)
    old = set(known)
    for row, (sentence, guesses) in enumerate(zip(corpus, predicted, strict=True), 1):
        new = [span for span in sentence.spans if span.type not in old]
        for span, seen in dict.fromkeys((span, guess.type) for span, guess in _overlaps(new, sorted(guesses))):
            clashes[span.type, seen].append(place_in(sentence, row, span.start, span.end))
    return [
        Finding(
            f"entities of the new type {shortened(new)} lie where the model sees {shortened(old)}",
            len(places),
            f"make sure that they are meant to become {shortened(new)} "
            f"({_share(len(places), corpus.counts[new])} of them)",
            places[:show],
        )
        for (new, old), places in sorted(clashes.items())
    ]


def _overlaps(spans: Sequence[Span], others: Sequence[Span]) -> Iterator[tuple[Span, Span]]:
    """Yield every pair of spans that share a word; both lists are in order, and none of them overlaps itself."""
    first = 0
    for span in spans:
        while first < len(others) and others[first].end <= span.start:
            first += 1
        at = first
        while at < len(others) and others[at].start < span.end:
            yield span, others[at]
            at += 1


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"


@dataclass
class _ScriptCounts:
    """How a tokenizer fares with the words of one script."""

    words: int = 0
    pieces: int = 0
    unread: int = 0
    first: dict[bool, dict[str, int]] = field(default_factory=lambda: {True: {}, False: {}})
    """Words that can be read, and those that cannot, each with the sentence where it stands first."""

    def places(self, readable: bool, show: int) -> list[Place]:
        """Return the first few different words."""
        return [place_of((row,), 1, word) for word, row in islice(self.first[readable].items(), show)]


def unreadable_scripts(
    corpus: Corpus, pieces: Iterable[Sequence[Sequence[int]]], unknown: int | None, show: int = EXAMPLES_SHOWN
) -> Iterator[Finding]:
    """Find scripts that a tokenizer cannot read or only spells out; ``pieces`` are those of every word and sentence."""
    scripts: dict[str, _ScriptCounts] = defaultdict(_ScriptCounts)
    for row, (sentence, sentence_pieces) in enumerate(zip(corpus, pieces, strict=True), 1):
        for word, word_pieces in zip(sentence.words, sentence_pieces, strict=True):
            counts = scripts[script_of(word)]
            counts.words += 1
            readable = unknown not in word_pieces
            counts.first[readable].setdefault(word, row)
            counts.unread += not readable
            counts.pieces += len(word_pieces) if readable else 0
    for name, counts in sorted(scripts.items()):
        if counts.words >= _ENOUGH_WORDS and name:
            yield from _script_findings(name, counts, show)


def _script_findings(name: str, counts: _ScriptCounts, show: int) -> Iterator[Finding]:
    read = counts.words - counts.unread
    if counts.unread > _UNREAD_SHARE * counts.words:
        yield Finding(
            f"words in {name} letters that the model's tokenizer cannot read",
            counts.unread,
            f"{_share(counts.unread, counts.words)} of these words look alike to the model; choose a multilingual one",
            counts.places(False, show),
            "mend",
        )
    elif read and counts.pieces / read > _PIECES_WHEN_SPELLED:
        yield Finding(
            f"words in {name} letters that the model's tokenizer only spells",
            read,
            f"{counts.pieces / read:.1f} pieces per word; a model that knows the language learns faster",
            counts.places(True, show),
        )


def script_of(word: str) -> str:
    """Name the script of a word by its first letter; digits and marks have none."""
    letter = next((character for character in word if character.isalpha()), "")
    return unicodedata.name(letter, "unknown").split()[0].split("-")[0].capitalize() if letter else ""
