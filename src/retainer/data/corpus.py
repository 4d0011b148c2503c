"""A corpus: sentences, and what was noticed while reading them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from retainer.data.spans import Sentence


@dataclass(frozen=True)
class Corpus:
    """Sentences in file order. ``oddities`` counts what was read but looks odd (``retainer check``)."""

    sentences: tuple[Sentence, ...]
    source: str = "memory"
    format: str = ""
    scheme: str = ""
    oddities: Mapping[str, int] = field(default_factory=dict)
    odd_places: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Where they are: a file and, where it is known, the line."""

    def __len__(self) -> int:
        """Count the sentences."""
        return len(self.sentences)

    def __iter__(self) -> Iterator[Sentence]:
        """Walk through the sentences in file order."""
        return iter(self.sentences)

    def __getitem__(self, index: int) -> Sentence:
        """Return one sentence."""
        return self.sentences[index]

    @cached_property
    def counts(self) -> Counter[str]:
        """Entities per type."""
        return Counter(span.type for sentence in self.sentences for span in sentence.spans)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The entity types, in alphabetical order."""
        return tuple(sorted(self.counts))

    @cached_property
    def complete(self) -> Counter[str] | None:
        """The sentences in which a type is complete, per type; None if no sentence says what is complete in it."""
        said = [sentence.complete for sentence in self.sentences if sentence.complete is not None]
        return Counter(type_ for types in said for type_ in set(types)) if said else None


class Splits(NamedTuple):
    """The three splits of a corpus; a corpus may lack all but the first."""

    train: Corpus
    dev: Corpus | None = None
    test: Corpus | None = None


def fingerprint(sentences: Iterable[Sentence]) -> str:
    """Return the SHA-256 of words, entities and complete types, whatever file and format they came from."""
    digest = hashlib.sha256()
    for sentence in sentences:
        spans = [(span.start, span.end, span.type) for span in sentence.spans]
        complete = [] if sentence.complete is None else [sorted(sentence.complete)]
        digest.update(json.dumps([sentence.words, spans, *complete], separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()
