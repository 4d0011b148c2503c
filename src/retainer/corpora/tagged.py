"""Corpora whose words carry tags."""

from collections.abc import Iterable, Mapping, Sequence

from retainer.corpora.corpus import Corpus
from retainer.spans import Sentence, detect_scheme, spans_of

BARE = "I- without B-"

Row = tuple[Sequence[str], Sequence[str]]
"""The words of a sentence and their tags."""


def tagged(rows: Iterable[Row], source: str, format: str, oddities: Mapping[str, int]) -> Corpus:
    """Decode the tags of a whole file: one sentence alone often fits several schemes."""
    rows = list(rows)
    scheme, bare = detect_scheme(tags for _, tags in rows)
    sentences = tuple(Sentence(tuple(words), spans_of(tags)) for words, tags in rows)
    seen = {name: count for name, count in {**oddities, BARE: bare}.items() if count}
    return Corpus(sentences, source, format, scheme, seen)
