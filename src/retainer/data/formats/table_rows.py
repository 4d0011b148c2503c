"""Sentences out of the rows of a table, whatever file it came from: CSV, Parquet or a folder of `datasets`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, NamedTuple

from retainer.data.corpus import Corpus
from retainer.data.formats.cells import list_in, spans_in, tags_in, words_in
from retainer.data.formats.char_spans import place_spans
from retainer.data.formats.columns import Layout, require_layout, text_layout
from retainer.data.formats.completeness import COMPLETE_KEY, complete_types
from retainer.data.formats.records import EMPTY_TEXTS, require_kind
from retainer.data.formats.tagged import TaggedWords, decode_tags
from retainer.data.formats.tokens import require_tag, tagged_words, words_of
from retainer.data.lines import error_location
from retainer.data.oddities import Oddities
from retainer.data.spans import Sentence
from retainer.errors import InputError

Row = tuple[int, Sequence[Any]]
"""The line or number of a row, and its cells; without a cell where a blank line stands."""

_LONGEST_SENTENCE = 300
"""Words in a row that nobody takes for one sentence, unless the table says that they are."""


@dataclass(frozen=True)
class Table:
    """The names of columns, and rows that are read when they are walked through."""

    names: Sequence[str]
    rows: Iterable[Row]
    source: str
    named: Mapping[str, str] = field(default_factory=dict)
    """The columns that the user names, by what they hold."""


def corpus_of_table(table: Table, format: str) -> Corpus:
    """Read the sentences of an annotated table."""
    with error_location(table.source):
        layout = require_layout(table.names, table.named)
    oddities = Oddities(table.source)
    if layout.name != "words":
        return _text_sentences(table, layout, format, oddities)
    corpus = decode_tags(_word_sentences(table, layout), table.source, format, oddities)
    if "sentence" not in layout.places and len(corpus) == 1 and len(corpus[0].words) > _LONGEST_SENTENCE:
        raise InputError(
            f"{table.source}: found {len(corpus[0].words)} words, and nothing says where a sentence ends; name the "
            "column that numbers the sentences (--columns.sentence NAME), or put a blank line after each"
        )
    return corpus


def texts_of_table(table: Table) -> Iterator[tuple[int, Sentence]]:
    """Return the texts of a table with their numbers; annotation is left behind, and an empty cell is an empty text."""
    layout = text_layout(table.names, table.named)
    if layout is None:
        corpus = corpus_of_table(table, "")
        return ((number, one.with_spans(())) for number, one in enumerate(corpus, 1))
    return _bare_texts(table, layout)


def _bare_texts(table: Table, layout: Layout) -> Iterator[tuple[int, Sentence]]:
    rows = ((line, row) for line, row in table.rows if row)
    for number, (line, row) in enumerate(rows, 1):
        with error_location(f"{table.source}:{line}"):
            bare = layout.name == "texts"
            sentence = Sentence.from_text(_text_cell(layout, row)) if bare else Sentence(tuple(_words(layout, row)))
        yield number, sentence


def _words(layout: Layout, row: Sequence[Any]) -> list[str]:
    return words_of({"tokens": words_in(layout.cell(row, "tokens"), "words")})


def _word_sentences(table: Table, layout: Layout) -> Iterator[TaggedWords]:
    """Gather the rows of one word each."""
    for _, rows in groupby(_word_rows(table, layout), key=lambda row: row.sentence):
        found = list(rows)
        yield TaggedWords([row.word for row in found], [row.tag for row in found], found[0].line, spread=True)


class _WordRow(NamedTuple):
    sentence: int
    word: str
    tag: str
    line: int


def _word_rows(table: Table, layout: Layout) -> Iterator[_WordRow]:
    """Give every row its sentence: another value in their column begins one, an empty cell continues it.

    A blank row ends one. Kaggle's table of news names a sentence on its first row alone.
    """
    sentence, current = 0, None
    for line, row in table.rows:
        value = layout.cell(row, "sentence") if row else None
        if not row or (value not in (None, "") and value != current):
            sentence, current = sentence + 1, value
        if row:
            with error_location(f"{table.source}:{line}"):
                yield _WordRow(sentence, _word(layout, row), _tag(layout, row), line)


def _word(layout: Layout, row: Sequence[Any]) -> str:
    with error_location(layout.called("word")):
        word = require_kind(layout.cell(row, "word"), str)
    if not word:
        raise InputError("the word is empty; leave the row out")
    return word


def _tag(layout: Layout, row: Sequence[Any]) -> str:
    with error_location(layout.called("tag")):
        return require_tag(layout.cell(row, "tag"))


def _text_sentences(table: Table, layout: Layout, format: str, oddities: Oddities) -> Corpus:
    """Read rows of one text each; tags are decoded last, since the whole table says what their scheme is."""
    made, complete = list[TaggedWords | Sentence](), list[tuple[str, ...] | None]()
    for line, row in table.rows:
        if row:
            oddities.where = f"{table.source}:{line}"
            with error_location(oddities.where):
                one, said = _annotated(layout, row, line, oddities), _complete(layout, row)
            if one is not None:
                made.append(one)
                complete.append(said)
    tagged = decode_tags((one for one in made if isinstance(one, TaggedWords)), table.source, format, oddities)
    decoded = iter(tagged)
    sentences = (next(decoded) if isinstance(one, TaggedWords) else one for one in made)
    named = tuple(replace(one, complete=types) for one, types in zip(sentences, complete, strict=True))
    return replace(tagged, sentences=named, scheme=tagged.scheme if len(tagged) else "")


def _annotated(layout: Layout, row: Sequence[Any], line: int, oddities: Oddities) -> TaggedWords | Sentence | None:
    """Return the words of a row and their tags, or a sentence; None for a text without a word, which is counted."""
    if layout.name == "tokens":
        tags = words_in(layout.cell(row, "tags"), "tags")
        return _tagged(words_in(layout.cell(row, "tokens"), "words"), tags, line, oddities)
    column = "entities" if layout.name == "spans" else "tags"
    text, cell = _text_cell(layout, row), layout.cell(row, column)
    with error_location(layout.called(column)):
        tags = tags_in(cell, certain=layout.name != "spans")
        spans = [] if tags else spans_in(cell)
    return _tagged(text.split(), tags, line, oddities) if tags else place_spans(text, spans, oddities)


def _tagged(words: list[Any], tags: list[Any], line: int, oddities: Oddities) -> TaggedWords | None:
    oddities[EMPTY_TEXTS] += not words
    row = tagged_words({"tokens": words, "ner_tags": tags}, line)
    return row if words else None


def _text_cell(layout: Layout, row: Sequence[Any]) -> str:
    cell = layout.cell(row, "text")
    with error_location(layout.called("text")):
        return "" if cell is None else require_kind(cell, str)


def _complete(layout: Layout, row: Sequence[Any]) -> tuple[str, ...] | None:
    cell = layout.cell(row, "complete")
    return None if cell in (None, "") else complete_types({COMPLETE_KEY: list_in(cell, "types")})
