"""Sentences made up for a review: drawn from the language models a version keeps instead of its data."""

from __future__ import annotations

from collections.abc import Sequence

from retainer.data.corpus import Corpus
from retainer.data.spans import Sentence
from retainer.model.sentence_generator import train
from retainer.versions.version import Version


def with_generator(version: Version, corpus: Corpus, types: Sequence[str], seed: int) -> Version:
    """Return the version with one more language model: that of the sentences it has just learned some types from."""
    model = train(corpus.sentences, types, seed=seed, device=version.tagger.device)
    return Version(version.tagger, version.lineage, (*version.generators, model))


def synthetic_sentences(version: Version, count: int, seed: int) -> list[Sentence]:
    """Draw sentences of the old types, evenly from all models; who learns from them is not told where entities are.

    What the teacher says of a made-up sentence is worth more than the tags it was drawn with.
    """
    models = version.generators
    shares = [count // len(models) + (number < count % len(models)) for number in range(len(models))]
    drawn = [model.sample(share, seed) for model, share in zip(models, shares, strict=True)]
    return [Sentence(sentence.words) for sentences in drawn for sentence in sentences]
