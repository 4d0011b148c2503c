"""A corpus beside the model that is to learn it: types that clash, and words its tokenizer cannot read."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from retainer.data.checks.finding import SHOWN, Finding, quoted
from retainer.data.corpus import Corpus
from retainer.data.spans import Span

MANY = 20
"""A script is judged by at least so many words."""
UNREAD = 0.05
"""Share of unknown words from which a tokenizer does not fit a script."""
SHREDS = 4.0
"""Pieces per word from which a tokenizer only spells."""


def clashes(
    corpus: Corpus, predicted: Sequence[Sequence[Span]], known: Sequence[str], show: int = SHOWN
) -> list[Finding]:
    """Find entities of new types where the model sees an old type: they will be relabelled by learning."""
    seen: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row, (sentence, guesses) in enumerate(zip(corpus, predicted, strict=True), 1):
        for span in sentence.spans:
            for guess in guesses:
                if span.type not in known and guess.start < span.end and span.start < guess.end:
                    seen[span.type, guess.type].append(f"sentence {row}: {quoted(sentence, span.start, span.end)}")
    return [
        Finding(
            f"entities of the new type {new} lie where the model sees {old}",
            len(found),
            f"make sure that they are meant to become {new} ({_share(len(found), corpus.counts[new])} of them)",
            found[:show],
        )
        for (new, old), found in sorted(seen.items())
    ]


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"


@dataclass
class _Script:
    """How a tokenizer fares with the words of one script."""

    words: int = 0
    pieces: int = 0
    unread: list[str] = field(default_factory=list)


def splitting(
    corpus: Corpus, pieces: Iterable[Sequence[Sequence[int]]], unknown: int | None, show: int = SHOWN
) -> Iterator[Finding]:
    """Find scripts a tokenizer cannot read or only spells, given the pieces of every word of every sentence."""
    scripts: dict[str, _Script] = defaultdict(_Script)
    for sentence, row in zip(corpus, pieces, strict=True):
        for word, found in zip(sentence.words, row, strict=True):
            seen = scripts[script(word)]
            seen.words += 1
            if unknown in found:
                seen.unread.append(word)
            else:
                seen.pieces += len(found)
    for name, seen in sorted(scripts.items()):
        if seen.words >= MANY and name:
            yield from _judged(name, seen, show)


def _judged(name: str, seen: _Script, show: int) -> Iterator[Finding]:
    read = seen.words - len(seen.unread)
    if len(seen.unread) > UNREAD * seen.words:
        yield Finding(
            f"words in {name} letters that the model's tokenizer cannot read",
            len(seen.unread),
            f"{_share(len(seen.unread), seen.words)} of these words look alike to the model; choose a multilingual one",
            [repr(word) for word in dict.fromkeys(seen.unread)][:show],
            "mend",
        )
    elif read and seen.pieces / read > SHREDS:
        yield Finding(
            f"words in {name} letters that the model's tokenizer only spells",
            read,
            f"{seen.pieces / read:.1f} pieces per word; a model that knows the language learns faster",
            weight="look",
        )


def script(word: str) -> str:
    """Name the script of a word by its first letter; digits and marks have none."""
    letter = next((character for character in word if character.isalpha()), "")
    return unicodedata.name(letter, "unknown").split()[0].split("-")[0].capitalize() if letter else ""
