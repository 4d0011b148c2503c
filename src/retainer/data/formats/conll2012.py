"""CoNLL-2012 columns, in which OntoNotes is split for experiments: a word on every line, entities in brackets."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from retainer.data.corpus import Corpus
from retainer.data.formats.brackets import Brackets
from retainer.data.formats.ptb_escapes import escape_word, unescape_word
from retainer.data.lines import error_location, is_blank, numbered_lines, write_sentences
from retainer.data.oddities import Oddities
from retainer.data.spans import Sentence, Span
from retainer.errors import InputError, quoted

UNANNOTATED_GENRE = "sentences of the genre pt, in which names are not annotated"
"""The oddity of OntoNotes' New Testament: all its words carry ``*``, which would teach that nothing is an entity."""

_UNENDED = "documents without #end document"

_WORD, _NAME = 3, 10
"""The columns of the word and of the entity, from 0."""

_BEGIN, _END = "#begin document", "#end document"
_PT = re.compile(rf"{_BEGIN} \(pt/")
_SPACES = re.compile(r"[ \t]+")
_CELL = re.compile(r"((?:\([^()* \t\r\n]+)*)(?:(\*)|(?=\)))(\)*)")
_TYPE = re.compile(r"[^()* \t\r\n]+")

_NumberedLine = tuple[int, str]
"""A line and its number."""


def sniff_conll2012(line: str) -> bool:
    """Recognise a file by the line that begins its first document; with a tab in it, it is a word and its tag."""
    return line.startswith(f"{_BEGIN} (") and "\t" not in line


def read_conll2012(text: str, source: str = "memory") -> Corpus:
    """Read the word (column 4) and the named entity (column 11: ``(ORG*``, ``*``, ``*)`` or ``(ORG)``) of every line.

    A blank line or the edge of a document ends a sentence. There may be any number of other columns, the same
    for all words of a sentence.
    """
    oddities = Oddities(source)
    sentences: list[Sentence] = []
    for document, blocks in groupby(_blocks(text), key=lambda pair: pair[0]):
        found = [_sentence(rows, source, oddities) for _, rows in blocks]
        oddities.where = source
        if _PT.match(document) and not any(sentence.spans for sentence in found):
            oddities[UNANNOTATED_GENRE] += len(found)
        else:
            sentences += found
    begun, ended = (f"\n{text}".count(f"\n{mark}") for mark in (_BEGIN, _END))
    oddities[_UNENDED] = max(0, begun - ended)
    return Corpus(tuple(sentences), source, "conll2012", oddities=dict(+oddities), odd_places=oddities.places)


def write_conll2012(sentences: Iterable[Sentence]) -> str:
    """Write one document; columns that retainer does not know are empty, and what reading would change is refused."""
    text = write_sentences(sentences, _block)
    return f"{_BEGIN} (retainer); part 000\n{text}{_END}\n" if text else ""


def _blocks(text: str) -> Iterator[tuple[str, list[_NumberedLine]]]:
    """Yield the lines of every sentence, with the line that began its document."""
    document, rows = "", list[_NumberedLine]()
    for number, line in (*numbered_lines(text), (0, "")):
        mark = line.startswith((_BEGIN, _END))
        if not mark and not is_blank(line):
            rows.append((number, line))
            continue
        if rows:
            yield document, rows
            rows = []
        document = line if mark else document


def _sentence(rows: Sequence[_NumberedLine], source: str, oddities: Oddities) -> Sentence:
    words, brackets, width = list[str](), Brackets(oddities), 0
    for at, (number, line) in enumerate(rows):
        oddities.where = f"{source}:{number}"
        with error_location(oddities.where):
            cells = _SPACES.split(line.strip(" \t"))
            width = _checked_width(len(cells), width)
            words.append(unescape_word(cells[_WORD]))
            if cells[_NAME] != "*":
                _read_cell(cells[_NAME], at, brackets)
    with error_location(f"{source}:{rows[-1][0]}"):
        return Sentence(tuple(words), brackets.spans())


def _checked_width(found: int, before: int) -> int:
    if before and found != before:
        raise InputError(
            f"found {found} columns where the lines before have {before}; give all words of a sentence the same columns"
        )
    if found <= _NAME:
        raise InputError(f"found {found} columns; the named entity is column {_NAME + 1}, so there must be as many")
    return found


def _read_cell(cell: str, at: int, brackets: Brackets) -> None:
    """Open and close the entities of one cell."""
    match = _CELL.fullmatch(cell)
    if match is None:
        raise InputError(f"column {_NAME + 1} holds {quoted(cell)}; expected an entity such as (ORG*, *, *) or (ORG)")
    for type_ in _TYPE.findall(match[1]):
        brackets.open(type_, at)
    for _ in match[3]:
        brackets.close(at + 1)


def _block(sentence: Sentence) -> str:
    cells = ["*"] * len(sentence.words)
    for span in sentence.spans:
        cells[span.start] = f"({_checked_type(span)}*"
        cells[span.end - 1] += ")"
    rows = enumerate(zip(sentence.words, cells, strict=True))
    return "".join(f"retainer 0 {at} {escape_word(word)} - * - - - - {cell} -\n" for at, (word, cell) in rows) + "\n"


def _checked_type(span: Span) -> str:
    if not _TYPE.fullmatch(span.type):
        raise InputError(
            f"the type {quoted(span.type)} has a space, a bracket or a star, which separate cells here; rename it"
        )
    return span.type
