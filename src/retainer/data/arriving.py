"""Texts one after the other while they arrive, from a file or from stdin: no more of them is held than one block."""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
from collections.abc import Iterable, Iterator
from itertools import chain

from retainer.data.formats.records import sniff_json
from retainer.data.lines import is_blank
from retainer.errors import InputError

STDIN = "-"
BLOCK = 1 << 16
"""Bytes read at once."""


def arriving(path: str) -> Iterator[str | None]:
    """Yield the texts of a file or of stdin, one per line; None says that nothing more is there right now.

    Only a line feed ends a line. A file named .jsonl holds JSON objects with a "text", and so does what begins with
    one; blank lines among objects are passed over, other blank lines are texts.
    """
    lines = _numbered(_lines(_blocks(path), path))
    early: list[tuple[int, str | None]] = []
    for number, line in lines:
        early.append((number, line))
        if line is not None:
            break
    objects = path.endswith(".jsonl") or any(line is not None and _is_object(line) for _, line in early)
    for number, line in chain(early, lines):
        if line is None or not objects:
            yield line
        elif not is_blank(line):
            yield _text(line, path, number)


def in_chunks(texts: Iterable[str | None], count: int, characters: int) -> Iterator[list[str]]:
    """Gather texts up to so many of them or so many characters, but wait for none while others could be served."""
    chunk: list[str] = []
    size = 0
    for text in texts:
        if text is not None:
            chunk.append(text)
            size += len(text)
        if chunk and (text is None or len(chunk) == count or size >= characters):
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _numbered(lines: Iterable[str | None]) -> Iterator[tuple[int, str | None]]:
    """Count the lines from 1; what is no line has no number of its own."""
    number = 0
    for line in lines:
        number += line is not None
        yield number, line


def _blocks(path: str) -> Iterator[bytes | None]:
    """Yield the bytes of a file or of stdin block by block, and None before every wait."""
    try:
        with contextlib.nullcontext(sys.stdin) if path == STDIN else open(path, "rb") as stream:
            if stream is None:
                raise InputError("there is nothing to read: stdin is closed")
            yield from _read(stream)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def _read(stream: object) -> Iterator[bytes | None]:
    """Read past all buffers, where there is a file below, so that what has arrived can be told from what has not."""
    try:
        number = stream.fileno()  # type: ignore[attr-defined]
    except OSError:  # a stream in memory, put in the place of stdin
        yield stream.read().encode()  # type: ignore[attr-defined]
        return
    while True:
        if _would_wait(number):
            yield None
        block = os.read(number, BLOCK)
        if not block:
            return
        yield block


def _would_wait(number: int) -> bool:
    try:
        return not select.select([number], [], [], 0)[0]
    except (OSError, ValueError):  # Windows can ask sockets alone; there a block is served before the next is read
        return True


def _lines(blocks: Iterable[bytes | None], path: str) -> Iterator[str | None]:
    """Cut blocks into lines, without the mark some editors put first."""
    begun: list[bytes] = []
    first = True
    for block in blocks:
        if block is None:
            yield None
            continue
        *whole, rest = block.split(b"\n")
        for line in whole:
            yield _decoded(b"".join([*begun, line]), path, first)
            begun, first = [], False
        begun.append(rest)
    if any(begun):
        yield _decoded(b"".join(begun), path, first)


def _decoded(line: bytes, path: str, first: bool) -> str:
    try:
        return line.decode("utf-8-sig" if first else "utf-8").removesuffix("\r")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text") from None


def _is_object(line: str) -> bool:
    """Say whether a line is a JSON object with a text."""
    if not sniff_json(line):
        return False
    try:
        return isinstance(json.loads(line).get("text"), str)
    except (ValueError, AttributeError):
        return False


def _text(line: str, path: str, number: int) -> str:
    try:
        text = json.loads(line)["text"]
    except (ValueError, KeyError, TypeError):
        text = None
    if not isinstance(text, str):
        raise InputError(f'{path}:{number}: expected a JSON object with a "text", found {line[:60]!r}')
    return text
