"""Rehearsal: synthetic sentences drawn from the language models a version keeps instead of its data."""

from __future__ import annotations

from collections.abc import Sequence

from retainer.data.corpus import Corpus
from retainer.data.spans import Sentence
from retainer.model.generator_training import train_generator
from retainer.versions.version import Version


def with_generator(version: Version, corpus: Corpus, types: Sequence[str], seed: int) -> Version:
    """Return the version with one more language model: that of the sentences it has just learned some types from."""
    generator = train_generator(corpus.sentences, types, seed=seed, device=version.tagger.device)
    return Version(version.tagger, version.lineage, (*version.generators, generator))


def synthetic_sentences(version: Version, count: int, seed: int) -> list[Sentence]:
    """Draw sentences of the old types, evenly from all generators, without the tags they were drawn with.

    What the teacher says of a synthetic sentence is worth more than those tags.
    """
    generators = version.generators
    shares = [count // len(generators) + (number < count % len(generators)) for number in range(len(generators))]
    drawn = [generator.sample(share, seed) for generator, share in zip(generators, shares, strict=True)]
    return [Sentence(sentence.words) for sentences in drawn for sentence in sentences]
