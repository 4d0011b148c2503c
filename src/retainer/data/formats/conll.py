"""CoNLL columns: a word and its tag on every line, a blank line after every sentence."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from retainer.data.corpus import Corpus
from retainer.data.foreign_files import csv_columns
from retainer.data.formats.records import sniff_json
from retainer.data.formats.tagged import TaggedWords, decode_tags
from retainer.data.lines import error_location, first_lines, is_blank, numbered_lines, write_sentences
from retainer.data.oddities import Oddities
from retainer.data.spans import Sentence
from retainer.data.tags import split_tag, tags_of
from retainer.errors import InputError, quoted, shortened

_ROWS_BY_CHANCE = 10
"""A text whose lines end in a tag by chance has at most one such line in so many."""
_USUAL_COLUMNS = 4
"""Lines that all have more words than this are not columns, however similar they are."""
HEADER_ROWS = "line that names the columns"
"""The oddity of a header, which holds no word."""
_WORD_NAMES = frozenset(("word", "words", "token", "tokens", "form", "text"))
_TAG_NAMES = frozenset(
    ("tag", "tags", "ner", "ner_tag", "ner_tags", "ner-tag", "nertag", "label", "labels", "entity", "bio", "iob")
)
"""What the first and the last column are called in a header; none of it is a tag."""
_INSTEAD_OF_CSV = (
    "a table is read by the names of its columns, such as word and tag, or text and entities; rename them, or name "
    "them with --columns (docs/formats.md)"
)
_TAB = re.compile("\t")
_SPACES = re.compile(" +")
_DOCSTART = re.compile(r"-DOCSTART-(?![^ \t])")
_BREAK = re.compile(r"[\t\n\r]")
_TAGGED = re.compile(r"[^\t]\t(?:O|[BIESLU]-[^\t\"{}\[\]<>]+)$")


def sniff_conll(line: str) -> bool:
    """Recognise a line that ends in a tab and a tag of letters that close no JSON: its word may look like anything."""
    return _TAGGED.search(line.rstrip(" ")) is not None


def read_conll(text: str, source: str = "memory") -> Corpus:
    """Read two or more columns, the word first and the tag last, in any of the tag schemes.

    A tab in the first line of data means that tabs separate the columns, so words may hold spaces; otherwise spaces do.
    Lines that begin with ``-DOCSTART-`` separate documents and hold no word. A first line that names the columns holds
    none either.
    """
    header, oddities = _header(text), Oddities(source)
    if header:
        oddities.where = f"{source}:{header}"
        oddities[HEADER_ROWS] += 1
    try:
        return decode_tags(_sentences(text, source, header), source, "conll", oddities)
    except InputError as error:
        if names := csv_columns(first_lines(line for _, line in numbered_lines(text))):
            found = f"{source} looks like CSV with the columns {shortened(', '.join(names), 200)}"
            raise InputError(f"{found}; {_INSTEAD_OF_CSV} ({error})") from None
        if not _is_plain(text):
            raise
        raise InputError(f"{source} looks like plain text without annotation ({error})") from None


def _header(text: str) -> int:
    """Return the number of the line that names the columns, the first that is not blank; 0 where there is none."""
    number, line = next(((number, line) for number, line in numbered_lines(text) if not is_blank(line)), (0, ""))
    return number if names_columns(line) else 0


def names_columns(line: str) -> bool:
    """Say whether a line names the columns: that of the words first and that of the tags last."""
    cells = (_TAB if "\t" in line else _SPACES).split(line.strip(" #").casefold())
    return len(cells) > 1 and cells[0] in _WORD_NAMES and cells[-1] in _TAG_NAMES


def _is_plain(text: str) -> bool:
    """Say whether these are texts: lines of several lengths, of which hardly any ends in a tag (the B-52), and no JSON.

    Where all lines have as many columns, or tabs separate them, columns are meant, and the tags are what is wrong.
    """
    lines = [line for _, line in numbered_lines(text) if not is_blank(line)]
    if not lines or "\t" in lines[0] or sniff_json(lines[0]):
        return False
    widths = {len(_SPACES.split(line.strip(" "))) for line in lines}
    return (len(widths) > 1 or max(widths) > _USUAL_COLUMNS) and _ROWS_BY_CHANCE * sum(map(_is_row, lines)) < len(lines)


def write_conll(sentences: Iterable[Sentence]) -> str:
    """Write word, tab and IOB2 tag on a line; what reading would change is refused."""
    return write_sentences(sentences, _block)


def is_columns(lines: Sequence[str]) -> bool:
    """Say whether most of some lines are rows of columns.

    A text may end in what looks like a tag (the B-52), so a single row proves something only if it has a tab.
    """
    rows = sum(map(_is_row, lines))
    return 2 * rows > len(lines) and (rows > 1 or sniff_conll(lines[0]))


def _is_row(line: str) -> bool:
    """Say whether a line alone could be a row of columns: a word, and at the end a tag."""
    cells = (_TAB if "\t" in line else _SPACES).split(line.strip(" "))
    try:
        split_tag(cells[-1])
    except InputError:
        return _DOCSTART.match(line) is not None
    return len(cells) > 1


def _sentences(text: str, source: str, header: int) -> Iterator[TaggedWords]:
    """Yield the sentences; the words of one stand on lines that follow each other."""
    for inside, rows in groupby(_rows(text, source, header), key=bool):
        if inside:
            cells = [row for row in rows if row]
            yield TaggedWords([word for word, _, _ in cells], [tag for _, tag, _ in cells], cells[0][2], spread=True)


def _rows(text: str, source: str, header: int) -> Iterator[tuple[str, str, int] | None]:
    """Yield word, tag and number of every line, and None where a sentence ends."""
    separator, width = None, 0
    for number, line in numbered_lines(text):
        if is_blank(line) or number == header or _DOCSTART.match(line):
            yield None
            continue
        separator = separator or (_TAB if "\t" in line else _SPACES)
        cells = separator.split(line.rstrip(" "))
        with error_location(f"{source}:{number}"):
            _check_width(len(cells), width)
            _check_cells(cells)
        width = len(cells)
        yield cells[0], cells[-1], number


def _check_width(found: int, before: int) -> None:
    columns = "1 column" if found == 1 else f"{found} columns"
    if before and found != before:
        raise InputError(
            f"found {columns} where the lines before have {before}; give every line the same columns, separated "
            "by tabs or by spaces as in the first line"
        )
    if found < 2:
        raise InputError(f"found {columns}; a line needs a word and, separated by a tab or a space, its tag")


def _check_cells(cells: Sequence[str]) -> None:
    if not cells[0]:
        raise InputError("the first column is empty; it must hold the word")
    for cell in cells:
        if _BREAK.search(cell):
            raise InputError(f"{quoted(cell)} contains a tab or a line break, which a column cannot hold; replace it")
    split_tag(cells[-1])


def _block(sentence: Sentence) -> str:
    return "".join(map(_line, sentence.words, tags_of(sentence))) + "\n"


def _line(word: str, tag: str) -> str:
    _check_cells((word, tag))
    if _DOCSTART.match(word):
        raise InputError(f"the word {quoted(word)} would read back as the beginning of a document; replace it")
    return f"{word}\t{tag}\n"
