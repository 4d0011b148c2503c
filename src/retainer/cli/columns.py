"""The option --columns, the same for every verb that reads data or texts: which column of a table holds what."""

from __future__ import annotations

from retainer.data.texts import names_columns_of
from retainer.errors import InputError

Columns = dict[str, str]
"""The name of a column by what it holds."""

ABOUT_COLUMNS = (
    "which column of a table (CSV, Parquet) holds what, such as --columns.text body --columns.entities marks; text, "
    "entities, word, tag, sentence, tokens, tags or complete (default: found by their usual names)"
)
"""The help of the option: a verb writes {columns}."""


def tables_among(columns: Columns, *paths: str | None) -> set[str]:
    """Return those of the files of a call that are tables; others may lie beside them, in formats without columns."""
    found = {path for path in paths if path is not None and names_columns_of(path, columns)}
    if columns and not found:
        given = ", ".join(path for path in paths if path is not None)
        raise InputError(f"--columns names columns of a table, and there is no such table: {given}")
    return found
