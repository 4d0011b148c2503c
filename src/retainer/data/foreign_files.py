"""What people give for data that is no text: compressed files, workbooks, addresses. Each is named, with what to do."""

import csv
import re
from collections.abc import Sequence
from itertools import islice

from retainer.errors import InputError, shortened

_BEGINNINGS = {
    b"\x1f\x8b": "compressed twice (gzip); unpack it first: gunzip {path}",
    b"BZh": "compressed (bzip2); unpack it first: bunzip2 {path}",
    b"\xfd7zXZ\x00": "compressed (xz); unpack it first: unxz {path}",
    b"PK\x03\x04": "an Excel workbook or a zip archive; save the sheet as text with tabs between columns, or unpack it",
    b"\xd0\xcf\x11\xe0": "an Excel workbook (.xls); save the sheet as text with tabs between columns",
    b"PAR1": "a Parquet table inside a compressed file; unpack it first",
    b"%PDF-": "a PDF document; save its text, one text per line",
}
"""How files that hold no text begin, and what they are. What is inside counts, not the name."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_CELL = re.compile(r"[\w.-]+")


def refuse_foreign_bytes(data: bytes, path: str) -> None:
    """Refuse the first bytes of a file that holds no text."""
    for beginning, what in _BEGINNINGS.items():
        if data.startswith(beginning):
            raise InputError(f"{path}: this is {what.format(path=path)}")


def refuse_address(path: str) -> None:
    """Refuse an address of the web where a file is wanted."""
    if _ADDRESS.match(path):
        raise InputError(f"{path}: this is an address, and data are read from files alone; download it first")


def csv_columns(lines: Sequence[str]) -> list[str]:
    """Return the names of the columns if lines are cells with commas or semicolons between, and [] otherwise.

    That is, as many cells in each line, and short names in the first.
    """
    return next((names for separator in ",;" if (names := _columns(lines, separator))), [])


def refuse_csv(lines: Sequence[str], path: str) -> None:
    """Refuse a table without texts where texts are wanted: every row would be one. Texts with commas are no table."""
    if path.lower().endswith((".csv", ".csv.gz")) and (names := csv_columns(lines)):
        listed = shortened(", ".join(names), 200)
        raise InputError(
            f"{path} is a CSV table without a column of texts: found {listed}; call one of them text, or name it "
            "(--columns.text NAME)"
        )


def _columns(lines: Sequence[str], separator: str) -> list[str]:
    try:
        rows = [row for row in islice(csv.reader(lines, delimiter=separator), len(lines)) if row]
    except csv.Error:
        return []
    even = len(rows) > 1 and len(rows[0]) > 1 and len(set(map(len, rows))) == 1
    return rows[0] if even and all(map(_CELL.fullmatch, rows[0])) else []
