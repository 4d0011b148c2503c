"""Corpora whose words carry tags."""

from collections.abc import Iterable, Mapping, Sequence

from retainer.data.corpus import Corpus
from retainer.data.spans import Sentence
from retainer.data.tags import detect_scheme, spans_of

INSIDE_WITHOUT_BEGIN = "I- without B-"
MIXED_SCHEMES = "entities that do not end as the rest of the file ends them (two tag schemes)"

TaggedWords = tuple[Sequence[str], Sequence[str]]
"""The words of a sentence and their tags."""


def decode_tags(rows: Iterable[TaggedWords], source: str, format: str, oddities: Mapping[str, int]) -> Corpus:
    """Decode the tags of a whole file: one sentence alone often fits several schemes."""
    rows = list(rows)
    scheme, without_begin = detect_scheme(tags for _, tags in rows)
    sentences = tuple(Sentence(tuple(words), spans_of(tags)) for words, tags in rows)
    mixed = sum(_ends_differently(sentence, tags, scheme) for sentence, (_, tags) in zip(sentences, rows, strict=True))
    counts = {**oddities, INSIDE_WITHOUT_BEGIN: without_begin, MIXED_SCHEMES: mixed}
    return Corpus(sentences, source, format, scheme, {name: count for name, count in counts.items() if count})


def _ends_differently(sentence: Sentence, tags: Sequence[str], scheme: str) -> int:
    """Count the entities of a sentence whose last tag is not one that ends an entity in its scheme."""
    ends = {"BIOES": "ES", "BILOU": "LU"}.get(scheme)
    return sum(tags[span.end - 1][0] not in ends for span in sentence.spans) if ends else 0
