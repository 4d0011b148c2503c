"""Texts without annotation: one to a line, or in the field "text" of JSON lines; from a file of any length or stdin."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from retainer.data.corpus import Corpus
from retainer.data.formats.records import field, keys_of, parse, sniff_json
from retainer.data.formats.table import FORMATS
from retainer.data.io import read
from retainer.data.lines import error_location, is_blank
from retainer.data.tags import split_tag
from retainer.errors import InputError

STDIN = "-"
ANNOTATION = frozenset({"spans", "answer", "label", "labels", "entities", "ner_tags", "tags"})
"""The keys under which a JSON record holds entities."""
PEEK = 100
"""Lines looked at to tell texts from columns."""


@dataclass(frozen=True)
class Texts:
    """Texts that are read when they are walked through, each with the number of its line."""

    lines: Iterable[tuple[int, str]]
    source: str = "memory"

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Yield the texts that are not blank; what is no text gets one sentence."""
        for number, text in self.lines:
            with error_location(f"{self.source}:{number}"):
                _require_whole(text)
            if text.strip():
                yield number, text


def texts_or_corpus(path: str | os.PathLike[str]) -> Texts | Corpus:
    """Read an annotated corpus, or else texts; which of them it is, is told from what the file holds.

    Stdin, and what else can be read only once, always holds texts.
    """
    source = os.fspath(path)
    if os.path.isdir(source):
        return read(source)
    once = source == STDIN or (os.path.exists(source) and not os.path.isfile(source))
    return Texts(_texts(source), source) if once or _is_plain(_first_lines(source)) else read(source)


def _first_lines(source: str) -> list[str]:
    with _opened(source) as stream:
        lines = (line.rstrip("\n").removesuffix("\r") for line in stream)
        return list(islice((line for line in lines if not is_blank(line)), PEEK))


def _is_plain(lines: list[str]) -> bool:
    """Say whether these first lines of a file are texts: no format knows them, and they are no columns."""
    if not lines:
        return True
    if sniff_json(lines[0]):
        keys = keys_of(lines[0])
        return "text" in keys and keys.isdisjoint(ANNOTATION)
    if any(format.sniff(lines[0]) for name, format in FORMATS.items() if name != "conll"):
        return False
    rows = [line for line in lines if not line.startswith("-DOCSTART-")]
    return bool(rows) and 2 * sum(map(_has_tag, rows)) < len(rows)


def _has_tag(line: str) -> bool:
    """Say whether a line ends in a tag: one may do so by chance (the B-52), half of a text's lines do not."""
    cells = line.split("\t") if "\t" in line else line.split()
    if len(cells) < 2:
        return False
    try:
        return bool(split_tag(cells[-1].strip()))
    except InputError:
        return False


def _texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the text of every line, with its number; the first line that is not blank tells JSON from plain lines."""
    json: bool | None = None
    with _opened(source) as stream:
        for number, line in enumerate(stream, 1):
            text = line.rstrip("\n").removesuffix("\r")
            if is_blank(text):
                continue
            json = sniff_json(text) if json is None else json
            with error_location(f"{source}:{number}"):
                text = _of_record(text) if json else text
            yield number, text


def _of_record(line: str) -> str:
    record = parse(line)
    if found := sorted(ANNOTATION & record.keys()):
        raise InputError(
            f"found {found[0]!r}, but the records before it have no annotation; annotate all of them, or none"
        )
    return field(record, "text", str)


@contextlib.contextmanager
def _opened(source: str) -> Iterator[io.TextIOBase]:
    """Open a file or stdin as UTF-8; only a line feed ends a line."""
    try:
        if source == STDIN:
            if sys.stdin is None:
                raise InputError("there is nothing to read: stdin is closed")
            stream = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="\n")
            try:
                yield stream
            finally:
                stream.detach()  # stdin is not ours to close
        else:
            with open(source, encoding="utf-8-sig", newline="\n") as file:
                yield file
    except OSError as error:
        raise InputError(f"{source}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{source} is not UTF-8 text") from None


def _require_whole(text: str) -> None:
    """Refuse what only looks like text: bytes that were no UTF-8 leave halves of characters behind."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"the text {text[:40]!a} is no valid Unicode; was it read as UTF-8?") from None
