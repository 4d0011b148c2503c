"""CSV and TSV: rows of cells below a header that names the columns; commas, semicolons or tabs separate them."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from retainer.data.corpus import Corpus
from retainer.data.formats.char_spans import text_and_spans_to_write
from retainer.data.formats.columns import find_layout
from retainer.data.formats.completeness import COMPLETE_KEY, complete_field
from retainer.data.formats.table_rows import Row, Table, corpus_of_table
from retainer.data.lines import is_blank, write_sentences
from retainer.data.spans import Sentence
from retainer.errors import InputError, shortened

_SEPARATORS = "\t,;"
_NAME = re.compile(r"\w[\w .:#()/-]{0,60}|")
"""What a column may be called; one without a name is an index that pandas wrote."""
_SPACED = re.compile(r"[,;] ")
"""What stands between the words of a text, and hardly ever between the names of columns."""


def sniff_csv(line: str) -> bool:
    """Recognise a header: short names with a separator between, and among them those of a known layout."""
    names = header_names(line)
    plain = len(names) > 1 and all(map(_NAME.fullmatch, names)) and not _SPACED.search(line)
    return plain and find_layout(names) is not None


def sniff_tsv(line: str) -> bool:
    """Recognise such a header whose names are separated by tabs."""
    return sniff_csv(line) and _separator(line) == "\t"


def header_names(line: str) -> list[str]:
    """Return the cells of a header."""
    return _cells(line, _separator(line))


def read_csv(text: str, source: str = "memory") -> Corpus:
    """Read a table of words, of texts with entities, or of texts with tags, as its header tells."""
    return corpus_of_table(csv_table(text, source), "csv")


def read_tsv(text: str, source: str = "memory") -> Corpus:
    """Read the same with tabs; as with CSV, the header tells what separates the cells."""
    return corpus_of_table(csv_table(text, source), "tsv")


def csv_table(text: str, source: str, named: Mapping[str, str] | None = None) -> Table:
    """Take the text of a CSV file as a table."""
    lines = io.StringIO(text, newline="\n")
    before, header = 0, ""
    for before, header in enumerate(lines, 1):  # noqa: B007 (the last one counts)
        if not is_blank(header.rstrip("\n")):
            break
    names, separator = header_names(header.rstrip("\r\n")), _separator(header)
    return Table(names, _rows(lines, before, len(names), separator, source), source, named or {})


def write_csv(sentences: Iterable[Sentence]) -> str:
    """Write text and entities, and which types are complete where a sentence says so; reading cuts the text anew."""
    return _table(sentences, ",")


def write_tsv(sentences: Iterable[Sentence]) -> str:
    """Write the same with tabs."""
    return _table(sentences, "\t")


def _table(sentences: Iterable[Sentence], separator: str) -> str:
    sentences = list(sentences)
    told = any(sentence.complete is not None for sentence in sentences)
    rows = write_sentences(sentences, lambda sentence: _line(_written(sentence, told), separator))
    return rows and _line(["text", "entities", *([COMPLETE_KEY] if told else [])], separator) + rows


def _written(sentence: Sentence, told: bool) -> list[str]:
    text, spans = text_and_spans_to_write(sentence)
    entities = json.dumps([[span.start, span.end, span.type] for span in spans], ensure_ascii=False)
    said = complete_field(sentence)
    complete = json.dumps(said[COMPLETE_KEY], ensure_ascii=False) if said else ""
    return [text, entities, *([complete] if told else [])]


def _line(cells: Sequence[str], separator: str) -> str:
    return separator.join(_quoted(cell, separator) for cell in cells) + "\n"


def _quoted(cell: str, separator: str) -> str:
    """Quote a cell that holds a separator, a quote or a line end; Python's writer forgets a carriage return."""
    return '"' + cell.replace('"', '""') + '"' if any(odd in cell for odd in (separator, '"', "\r", "\n")) else cell


def _separator(line: str) -> str:
    """Return what separates most cells of a header."""
    return max(_SEPARATORS, key=lambda separator: len(_cells(line, separator)))


def _cells(line: str, separator: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])]
    except csv.Error:
        return []


def _rows(lines: Iterable[str], before: int, width: int, separator: str, source: str) -> Iterator[Row]:
    """Yield rows with the lines they begin on; a row with more or fewer cells than the header is refused."""
    csv.field_size_limit(sys.maxsize >> 32)
    reader, line = csv.reader(lines, delimiter=separator, strict=True), before + 1
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise InputError(f"{source}:{line}: this is not CSV ({_reason(error)})") from None
        if row is None:
            return
        if any(row) and len(row) != width:
            raise InputError(
                f"{source}:{line}: found {len(row)} cells where the header names {width} columns (the first is "
                f"{shortened(row[0], 40)!r}); quote cells that hold a {_WORDS[separator]} or a line break"
            )
        yield line, row if any(row) else ()
        line = before + reader.line_num + 1


_WORDS = {"\t": "tab", ",": "comma", ";": "semicolon"}


def _reason(error: csv.Error) -> str:
    """Say in our words what Python's reader found."""
    found = str(error)
    if "unexpected end of data" in found:
        return "a quote that opens here is never closed; write a quote inside a cell twice"
    if "expected after" in found:
        return "text follows a closing quote; write a quote inside a cell twice"
    return found.split(" - ")[0]
