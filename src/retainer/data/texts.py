"""Texts to find entities in: one reader for every verb, whatever the file holds.

- **One text per line.** An empty line is a text without words, among JSON records too: the n-th result is that of the
  n-th line. Only a line feed ends a line.
- **JSON lines** give the field "text" of every record, or its "tokens" where there is no text.
- **A table** (CSV, Parquet, `datasets`) gives its column of texts, or of tokens.
- **Any other file or folder in a known format** is read by that format, which says what a text is in it.
- **Annotation is ignored**, unless the caller asks for an annotated corpus where there is one.

The format is recognised by what a file holds, never by its name (``formats.table.recognise``). Stdin, and what else can
be read only once, holds lines: the first that is not blank decides between JSON records and plain text, and every text
is handed on before waiting for more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from retainer.data.corpus import Corpus
from retainer.data.documents import (
    document_files,
    holds_tables,
    is_split_in_pieces,
    read_corpus_file,
    read_document_folder,
)
from retainer.data.foreign_files import refuse_csv
from retainer.data.formats.binary import binary_table, recognise_file
from retainer.data.formats.columns import BARE_LAYOUTS, find_layout
from retainer.data.formats.csv_table import csv_table, header_names
from retainer.data.formats.jsonl import ANNOTATION_KEYS, without_annotation
from retainer.data.formats.labelstudio import numbered_tasks, text_of_task
from retainer.data.formats.records import JsonRecord, keys_of, parse_record
from retainer.data.formats.table import TABLE_FORMATS, recognise
from retainer.data.formats.table_rows import Table, texts_of_table
from retainer.data.io import read
from retainer.data.line_stream import STDIN, arriving_lines
from retainer.data.lines import error_location, first_lines, is_blank
from retainer.data.spans import Sentence
from retainer.data.text_files import read_text_file
from retainer.errors import InputError

Numbered = tuple[int, Sentence]
"""A text and its number: of its line, or of its place among the sentences of a corpus."""

PLAIN_TEXT = "plain text"
"""The format of a file with a text on every line."""

_RECORDS = ("prodigy", "doccano", "jsonl")
"""The formats with one JSON record per line, which are all read alike where annotation does not matter."""
_TABLE_ENDINGS = tuple(f".{name}{more}" for name in ("csv", "tsv") for more in ("", ".gz"))
"""How the names of files end that are taken for tables even if their header tells little."""
_LIST = "labelstudio"
"""The format of a JSON list."""


@dataclass(frozen=True)
class Texts:
    """Texts that are read when they are walked through. ``arriving`` yields None where it would wait for more."""

    arriving: Iterable[Numbered | None]
    source: str = "memory"
    format: str = PLAIN_TEXT
    oddities: Mapping[str, int] = field(default_factory=dict)
    """What the reader of a format skipped or noticed, and how often."""

    @classmethod
    def of(cls, texts: Iterable[str], source: str = "memory") -> Texts:
        """Take texts that are strings already."""
        return cls(_sentences(texts, source), source)

    def __iter__(self) -> Iterator[Numbered]:
        """Yield every text with its number."""
        return (numbered for numbered in self.arriving if numbered is not None)

    def chunks(self, count: int, characters: int) -> Iterator[list[Sentence]]:
        """Gather texts up to so many of them or so many characters, but wait for none while others could be served."""
        chunk: list[Sentence] = []
        size = 0
        for numbered in self.arriving:
            if numbered is not None:
                chunk.append(numbered[1])
                size += len(numbered[1].located()[0])
            if chunk and (numbered is None or len(chunk) == count or size >= characters):
                yield chunk
                chunk, size = [], 0
        if chunk:
            yield chunk


def read_texts(path: str | os.PathLike[str], columns: Mapping[str, str] | None = None) -> Texts:
    """Read texts alone; where they are annotated, the annotation is left behind. ``columns`` are those of a table."""
    source = os.fspath(path)
    tables = _tables(source, columns)
    return _read(source, without_annotation) if tables is None else _from_tables(tables, source)


class RawText(NamedTuple):
    """A text as cheaply as it can be had; a line is not looked at until its sentence is asked for."""

    number: int
    content: str | Sentence
    is_record: bool = False

    def sentence(self, source: str) -> Sentence:
        """Return the text as a sentence; a line that holds none is refused with its place."""
        if isinstance(self.content, Sentence):
            return self.content
        with error_location(f"{source}:{self.number}"):
            return (
                without_annotation(parse_record(self.content)) if self.is_record else Sentence.from_text(self.content)
            )


def raw_texts(
    path: str | os.PathLike[str],
    columns: Mapping[str, str] | None = None,
    watch: Callable[[int], object] | None = None,
) -> Iterator[RawText]:
    """Yield the texts that ``read_texts`` reads, but leave the work of reading lines to the one who wants them.

    ``watch`` is called with the bytes of a file of lines as they are read.
    """
    source = os.fspath(path)
    lines = None if columns or recognise_file(source) or _is_csv(source) else _first_lines(source)
    format = None if lines is None else recognise(lines)
    if lines is None or not (format is None or format in _RECORDS):
        return (RawText(*numbered) for numbered in read_texts(source, columns))
    if format is None:
        refuse_csv(lines, source)
    are_records = bool(lines) and recognise(lines[:1]) in (*_RECORDS, _LIST)
    arrived = (line for line in arriving_lines(source, watch) if line is not None)
    return (RawText(number, line, are_records and not is_blank(line)) for number, line in arrived)


def texts_or_corpus(path: str | os.PathLike[str], columns: Mapping[str, str] | None = None) -> Texts | Corpus:
    """Read an annotated corpus, or else texts, of which none may be annotated: half an annotation is not gold."""
    source = os.fspath(path)
    tables = _tables(source, columns)
    if tables is not None:
        layout = find_layout(tables[0].names, columns)
        bare = layout is not None and layout.name in BARE_LAYOUTS
        return _from_tables(tables, source) if bare else read(source, columns=columns)
    return read(source) if _is_annotated(source) else _read(source, _not_annotated)


def names_columns_of(path: str | os.PathLike[str], columns: Mapping[str, str]) -> bool:
    """Say whether columns are named of this file: it is a table by its content, its name or its header."""
    source = os.fspath(path)
    if not columns or _can_be_read_once(source):
        return False
    if os.path.isdir(source) or is_split_in_pieces(Path(source)):
        return holds_tables(Path(source))
    if recognise_file(source):
        return binary_table(source) is not None
    lines = _first_lines(source)
    named = bool(lines) and not set(columns.values()).isdisjoint(header_names(lines[0]))
    return named or source.lower().endswith(_TABLE_ENDINGS) or _is_csv(source)


def _tables(source: str, columns: Mapping[str, str] | None) -> list[Table] | None:
    """Return the tables of a file or folder; None where it holds none. A named column means that there is one."""
    folder = Path(source)
    if folder.is_dir() or is_split_in_pieces(folder):
        files = document_files(folder) if columns or holds_tables(folder) else []
        found = [binary_table(os.fspath(file), columns) for file in files]
        return [table for table in found if table is not None] or None
    if table := binary_table(source, columns):
        return [table]
    if _can_be_read_once(source):
        if columns:
            raise InputError(f"{source}: a stream holds lines, and no columns to name; write the table to a file first")
        return None
    if recognise_file(source):
        return None
    return [csv_table(read_text_file(source), source, columns)] if columns or _is_csv(source) else None


def _is_csv(source: str) -> bool:
    """Say whether a file is a table with a header; one with a single column must be called .csv."""
    lines = _first_lines(source)
    alone = source.lower().endswith(_TABLE_ENDINGS) and lines and find_layout(header_names(lines[0])) is not None
    return bool(alone) or recognise(lines) in TABLE_FORMATS


def _from_tables(tables: list[Table], source: str) -> Texts:
    """Join the texts of all tables of a corpus, numbered from 1."""
    texts = (sentence for table in tables for _, sentence in texts_of_table(table))
    return Texts(enumerate(texts, 1), source, TABLE_FORMATS[0])


def _is_annotated(source: str) -> bool:
    """Say whether a file or folder is annotated, by its format and by the keys of its first record."""
    if _can_be_read_once(source) or os.path.isdir(source):
        return os.path.isdir(source)
    if recognise_file(source):
        return True
    lines = _first_lines(source)
    format = recognise(lines)
    if format not in _RECORDS:
        return format is not None
    keys = keys_of(lines[0])
    return keys.isdisjoint(("text", "tokens")) or not keys.isdisjoint(ANNOTATION_KEYS)


def _read(source: str, of_record: Callable[[JsonRecord], Sentence]) -> Texts:
    if _can_be_read_once(source):
        return Texts(_lines(source, of_record), source, "stream")
    if os.path.isdir(source):
        return _from_corpus(read_document_folder(Path(source)))
    if recognise_file(source):
        return _from_corpus(read_corpus_file(source))
    lines = _first_lines(source)
    format = recognise(lines)
    if format is None:
        refuse_csv(lines, source)
    if format is None or format in _RECORDS:
        return Texts(_lines(source, of_record), source, "jsonl" if format else PLAIN_TEXT)
    if format == _LIST:
        return Texts(_tasks(source), source, format)
    return _from_corpus(read_corpus_file(source, format))


def _can_be_read_once(source: str) -> bool:
    return source == STDIN or (os.path.exists(source) and not os.path.isfile(source) and not os.path.isdir(source))


def _first_lines(source: str) -> list[str]:
    return first_lines(line[1] for line in arriving_lines(source) if line is not None)


def _lines(source: str, of_record: Callable[[JsonRecord], Sentence]) -> Iterator[Numbered | None]:
    """Make a text of every line; the first that is not blank decides between records and plain text."""
    records: bool | None = None
    for numbered in arriving_lines(source):
        if numbered is None:
            yield None
            continue
        number, line = numbered
        blank = is_blank(line)
        if records is None and not blank:
            records = recognise([line]) in (*_RECORDS, _LIST)
        with error_location(f"{source}:{number}"):
            sentence = of_record(parse_record(line)) if records and not blank else Sentence.from_text(line)
        yield number, sentence


def _not_annotated(record: JsonRecord) -> Sentence:
    if found := sorted(ANNOTATION_KEYS & record.keys()):
        raise InputError(
            f"found {found[0]!r}, which is annotation, among texts without; annotate every record and give them as a "
            "file, or none"
        )
    return without_annotation(record)


def _tasks(source: str) -> Iterator[Numbered]:
    """Make a text of every task of Label Studio, whether it was annotated, cancelled or never looked at."""
    for number, (where, task) in enumerate(numbered_tasks(read_text_file(source), source), 1):
        with error_location(where):
            sentence = Sentence.from_text(text_of_task(task))
        yield number, sentence


def _from_corpus(corpus: Corpus) -> Texts:
    sentences = (sentence.with_spans(()) for sentence in corpus)
    return Texts(enumerate(sentences, 1), corpus.source, corpus.format, corpus.oddities)


def _sentences(texts: Iterable[str], source: str) -> Iterator[Numbered]:
    for number, text in enumerate(texts, 1):
        with error_location(f"{source}:{number}"):
            _require_whole(text)
        yield number, Sentence.from_text(text)


def _require_whole(text: str) -> None:
    """Refuse what only looks like text: bytes that were not UTF-8 leave halves of characters behind."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"the text {text[:40]!a} is not valid Unicode; was it read as UTF-8?") from None
