"""The lines of a file or of stdin while they arrive: no more of them is held than one block."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from retainer.data.gzip_blocks import unpacked
from retainer.data.text_files import decode_utf8, readable
from retainer.errors import InputError

STDIN = "-"
"""What stands for stdin in place of a path."""

_BLOCK = 1 << 16
"""Bytes read at once."""

Line = tuple[int, str]
"""A line and its number, from 1."""


def arriving_lines(path: str, watch: Callable[[int], object] | None = None) -> Iterator[Line | None]:
    """Yield the lines of a file or of stdin, and None before every wait for more of them.

    ``watch`` is called with the number of bytes of every block that is read, compressed as it is.

    Only a line feed ends a line; a carriage return before it is dropped, and so is a byte order mark at the beginning.
    The end of the last line begins no further one.
    """
    number = 0
    for line in _cut(_blocks(path, watch)):
        if line is None:
            yield None
        else:
            number += 1
            yield number, decode_utf8(line, path, number).removesuffix("\r")


def _cut(blocks: Iterable[bytes | None]) -> Iterator[bytes | None]:
    """Cut blocks into lines."""
    begun: list[bytes] = []
    mark = BOM_UTF8
    for block in blocks:
        if block is None:
            yield None
            continue
        *ended, rest = block.split(b"\n")
        for line in ended:
            yield b"".join([*begun, line]).removeprefix(mark)
            begun, mark = [], b""
        begun.append(rest)
    if last := b"".join(begun).removeprefix(mark):
        yield last


def _blocks(path: str, watch: Callable[[int], object] | None) -> Iterator[bytes | None]:
    """Yield the bytes of a file or of stdin block by block, and None before every wait."""
    with readable(path), contextlib.nullcontext(sys.stdin) if path == STDIN else open(path, "rb") as stream:
        if stream is None:
            raise InputError("there is nothing to read: stdin is closed")
        blocks = _read(stream) if watch is None else _watched(_read(stream), watch)
        yield from unpacked(blocks, path)


def _watched(blocks: Iterable[bytes | None], watch: Callable[[int], object]) -> Iterator[bytes | None]:
    for block in blocks:
        watch(len(block or b""))
        yield block


def _read(stream: Any) -> Iterator[bytes | None]:
    """Read past all buffers, where there is a file below, so that only what has not arrived is waited for."""
    try:
        descriptor = stream.fileno()
    except OSError:  # a stream in memory that takes the place of stdin
        yield stream.buffer.read() if hasattr(stream, "buffer") else stream.read().encode()
        return
    while True:
        if _would_wait(descriptor):
            yield None
        block = os.read(descriptor, _BLOCK)
        if not block:
            return
        yield block


def _would_wait(descriptor: int) -> bool:
    try:
        return not select.select([descriptor], [], [], 0)[0]
    except (OSError, ValueError):  # Windows can ask sockets alone; there a block is served before the next is read
        return True
