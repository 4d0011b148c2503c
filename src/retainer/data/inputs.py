"""Files of texts that nobody has annotated yet, or whose annotations do not matter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from retainer.data.corpus import Corpus
from retainer.data.formats.conll import is_row
from retainer.data.formats.labelstudio import numbered_tasks, text_of
from retainer.data.formats.prodigy import offsets_of
from retainer.data.formats.records import EMPTY, Record, field, keys_of, records, sniff_list
from retainer.data.formats.table import FORMATS, sniffed
from retainer.data.formats.tokens import sniff_tokens
from retainer.data.lines import error_location, is_blank, numbered, opening
from retainer.data.spans import Sentence

PLAIN = "plain text"
"""The format of a file with a text on every line."""

_LOOK = 20
"""Lines that are looked at to tell columns from plain text, in which a line may end in O as well."""


def loose_texts(text: str, source: str) -> Corpus:
    """Read the texts of a file: tasks of Label Studio, records with a text, plain lines, or any annotated corpus."""
    line = opening(text)
    if sniff_list(line):
        return _corpus(_tasks(text, source), source, "labelstudio")
    if "text" in keys_of(line) and not sniff_tokens(line):
        return _corpus(_records(text, source), source, "jsonl")
    if sniffed(text) is FORMATS["conll"] and not _columns(text):
        return _corpus(_lines(text), source, PLAIN)
    return sniffed(text).read(text, source)


def _corpus(sentences: Iterable[Sentence], source: str, format: str) -> Corpus:
    """Leave out and count the texts without a word."""
    found = list(sentences)
    filled = tuple(sentence for sentence in found if sentence.words)
    empty = len(found) - len(filled)
    return Corpus(filled, source, format, oddities={EMPTY: empty} if empty else {})


def _tasks(text: str, source: str) -> Iterator[Sentence]:
    for where, task in numbered_tasks(text, source):
        with error_location(where):
            yield Sentence.from_text(text_of(task))


def _records(text: str, source: str) -> Iterator[Sentence]:
    for where, record in records(text, source):
        with error_location(where):
            yield _sentence(record)


def _sentence(record: Record) -> Sentence:
    """Take the tokens of Prodigy for words, as its reader does."""
    text = field(record, "text", str)
    if not record.get("tokens"):
        return Sentence.from_text(text)
    return Sentence.from_offsets(text, offsets_of(record, text), ())


def _lines(text: str) -> Iterator[Sentence]:
    """Take every line for a text; the end of the last line begins no further one."""
    return (Sentence.from_text(line) for _, line in numbered(text.removesuffix("\n")))


def _columns(text: str) -> bool:
    """Say whether most of the first lines are a word and its tag."""
    lines = list(islice((line for _, line in numbered(text) if not is_blank(line)), _LOOK))
    return sum(map(is_row, lines)) * 2 > len(lines)
