"""The formats that are not text, in one table: recognised by the first bytes of a file, read from it as it lies there.

They need packages of their own, and say which where those are missing. They are compressed inside already.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from retainer.data.corpus import Corpus
from retainer.data.formats.columnar import (
    columnar_table,
    read_columnar,
    sniff_arrow,
    sniff_parquet,
    write_datasets,
    write_parquet,
)
from retainer.data.formats.docbin import read_docbin, sniff_docbin, write_docbin
from retainer.data.formats.table_rows import Table
from retainer.data.spans import Sentence
from retainer.data.text_files import read_bytes_file
from retainer.errors import InputError


@dataclass(frozen=True)
class BinaryFormat:
    """How a format is read from a file, written to bytes, and recognised by its first bytes."""

    read: Callable[[str, Mapping[str, str] | None], Corpus]
    write: Callable[[Iterable[Sentence]], bytes | Mapping[str, bytes]]
    """Make the bytes of a file, or those of the files of a folder by their names."""
    sniff: Callable[[bytes], bool]
    table: Callable[[str, Mapping[str, str] | None], Table] | None = None
    """How its rows are read where it is a table; only of tables can columns be named."""
    holds_complete: bool = False


def _read_docbin(path: str, columns: Mapping[str, str] | None) -> Corpus:
    if columns:
        raise InputError(f"{path}: only a table has columns to name, and this is a file of spaCy")
    return read_docbin(read_bytes_file(path), path)


BINARY_FORMATS: dict[str, BinaryFormat] = {
    "spacy": BinaryFormat(_read_docbin, write_docbin, sniff_docbin),
    "parquet": BinaryFormat(
        partial(read_columnar, format="parquet"), write_parquet, sniff_parquet, columnar_table, holds_complete=True
    ),
    "datasets": BinaryFormat(
        partial(read_columnar, format="datasets"), write_datasets, sniff_arrow, columnar_table, holds_complete=True
    ),
}
"""The formats by name: a DocBin of spaCy, a Parquet file, and a folder as `Dataset.save_to_disk` writes it."""

_SNIFFED_BYTES = 256
"""Bytes by which a format is recognised."""


def recognise_bytes(data: bytes) -> str | None:
    """Name the format of a file that is not text by its first bytes."""
    return next((name for name, one in BINARY_FORMATS.items() if one.sniff(data[:_SNIFFED_BYTES])), None)


def recognise_file(path: str) -> str | None:
    """Name the format of a file that is not text; None for one of text, and for what cannot be read twice or at all."""
    if os.path.isfile(path):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            return recognise_bytes(file.read(_SNIFFED_BYTES))
    return None


def binary_table(path: str, columns: Mapping[str, str] | None = None) -> Table | None:
    """Return the table that a file is which is not text; None where it is none."""
    format = recognise_file(path)
    open_table = None if format is None else BINARY_FORMATS[format].table
    return None if open_table is None else open_table(path, columns)
