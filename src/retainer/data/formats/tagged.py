"""Corpora whose words carry tags."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from retainer.data.corpus import Corpus
from retainer.data.oddities import Oddities
from retainer.data.spans import Sentence
from retainer.data.tags import bare_insides, detect_scheme, spans_of

INSIDE_WITHOUT_BEGIN = "I- without B-"
MIXED_SCHEMES = "entities that do not end as the rest of the file ends them (two tag schemes)"


class TaggedWords(NamedTuple):
    """The words of a sentence and their tags."""

    words: Sequence[str]
    tags: Sequence[str]
    line: int
    """The line of the file on which the sentence begins."""
    spread: bool = False
    """Whether every word has a line of its own."""

    def line_of(self, word: int) -> int:
        """Return the line on which a word stands."""
        return self.line + word * self.spread


def decode_tags(rows: Iterable[TaggedWords], source: str, format: str, oddities: Oddities) -> Corpus:
    """Decode the tags of a whole file: one sentence alone often fits several schemes."""
    rows = list(rows)
    scheme, without_begin = detect_scheme(row.tags for row in rows)
    sentences = tuple(Sentence(tuple(row.words), spans_of(row.tags)) for row in rows)
    for row, sentence in zip(rows, sentences, strict=True):
        if without_begin:
            _count(INSIDE_WITHOUT_BEGIN, bare_insides(row.tags), row, source, oddities)
        _count(MIXED_SCHEMES, _ends_that_differ(sentence, row.tags, scheme), row, source, oddities)
    return Corpus(sentences, source, format, scheme, dict(+oddities), oddities.places)


def _count(what: str, words: Iterable[int], row: TaggedWords, source: str, oddities: Oddities) -> None:
    """Count what is odd about some words of a sentence, each on its line."""
    for word in words:
        oddities.where = f"{source}:{row.line_of(word)}"
        oddities[what] += 1


def _ends_that_differ(sentence: Sentence, tags: Sequence[str], scheme: str) -> Iterator[int]:
    """Yield the last words of entities whose tag is not one that ends an entity in its scheme."""
    if ends := {"BIOES": "ES", "BILOU": "LU"}.get(scheme):
        yield from (span.end - 1 for span in sentence.spans if tags[span.end - 1][0] not in ends)
