"""The formats that are not text: recognised by their first bytes, read and written as bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from retainer.data.corpus import Corpus
from retainer.data.formats.docbin import FORMAT as DOCBIN
from retainer.data.formats.docbin import read_docbin, sniff_docbin, write_docbin
from retainer.data.spans import Sentence


@dataclass(frozen=True)
class BinaryFormat:
    """How a format is read from bytes, written to bytes, and recognised by its first bytes."""

    read: Callable[[bytes, str], Corpus]
    write: Callable[[Iterable[Sentence]], bytes]
    sniff: Callable[[bytes], bool]
    holds_complete: bool = False


BINARY_FORMATS: dict[str, BinaryFormat] = {DOCBIN: BinaryFormat(read_docbin, write_docbin, sniff_docbin)}
"""The formats by name. They need packages of their own, and say which where those are missing."""

SNIFFED_BYTES = 256
"""Bytes by which a format is recognised."""


def recognise_bytes(data: bytes) -> str | None:
    """Name the format of a file that is not text by its first bytes."""
    return next((name for name, one in BINARY_FORMATS.items() if one.sniff(data[:SNIFFED_BYTES])), None)
