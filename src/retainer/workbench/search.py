"""Texts found by a part of them: by an index of all three letters in a row, where SQLite has one, or by looking at all.

The index is not part of the layout. It is made when texts are added, and made up for where that happened without it, so
a project may move between machines whose SQLite can do more or less.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from retainer.errors import InputError

LONGEST_SEARCH = 1000
"""Characters; SQLite has a limit too, but no good sentence about it."""

_INDEX = "text_index"
_TRIGRAM = 3
"""Characters that the index needs at least."""


def index_texts(connection: sqlite3.Connection) -> None:
    """Index the texts that were added since the last time."""
    if has_trigrams(connection):
        connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {_INDEX} USING fts5 (text, content = '', tokenize = 'trigram')"
        )
        connection.execute(
            f"INSERT INTO {_INDEX} (rowid, text) SELECT id, text FROM texts WHERE id > ?", (_indexed(connection),)
        )


def drop_index(connection: sqlite3.Connection) -> None:
    """Forget the index, which has parts of texts in it; it is made again of the texts that are there."""
    if has_trigrams(connection):
        connection.execute(f"DROP TABLE IF EXISTS {_INDEX}")


@dataclass(frozen=True)
class Search:
    """How texts are found, as SQL."""

    table: str = "texts"
    key: str = "id"
    """The column with the number of a text, in whose order they come."""
    condition: str = "1"
    values: tuple[str | int, ...] = ()


def search_for(connection: sqlite3.Connection, part: str) -> Search:
    """Find the texts that have a part, or all. Case does not count.

    Without the index, and for one or two characters, that holds for the letters of English alone.
    """
    if len(part) > LONGEST_SEARCH:
        raise InputError(f"search for at most {LONGEST_SEARCH} characters, not {len(part)}")
    part = part.replace("\0", "")  # ends a text for SQLite
    if not part:
        return Search()
    if len(part) >= _TRIGRAM and _is_whole(connection):
        phrase = part.replace('"', '""')
        return Search(_INDEX, "rowid", f"{_INDEX} MATCH ?", (f'"{phrase}"',))
    escaped = part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return Search(condition="text LIKE ? ESCAPE '\\'", values=(f"%{escaped}%",))


def has_trigrams(connection: sqlite3.Connection) -> bool:
    """Return whether SQLite has such an index here: since 3.34, unless it was built without."""
    modules = connection.execute("SELECT count(*) FROM pragma_module_list WHERE name = 'fts5'")
    return bool(modules.fetchone()[0]) and sqlite3.sqlite_version_info >= (3, 34)


def _is_whole(connection: sqlite3.Connection) -> bool:
    """Return whether the index can be used and knows all texts."""
    made = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", (_INDEX,)).fetchone()[0]
    [last] = connection.execute("SELECT max(id) FROM texts").fetchone()
    return bool(made) and has_trigrams(connection) and _indexed(connection) == last


def _indexed(connection: sqlite3.Connection) -> int:
    """Return the last text that the index knows."""
    return int(connection.execute(f"SELECT coalesce(max(rowid), 0) FROM {_INDEX}").fetchone()[0])
