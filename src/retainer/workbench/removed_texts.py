"""Which texts were removed: their numbers, by whom and when, and nothing of what stood in them.

A number is never given to another text. The table only adds to the layout, and is made when it is first needed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from retainer.workbench.clock import now

_NAME = "removed_texts"
_TABLE = f"""CREATE TABLE IF NOT EXISTS {_NAME} (
    text INTEGER PRIMARY KEY,            -- the number it had
    who TEXT NOT NULL,
    at TEXT NOT NULL
)"""


def record_removal(connection: sqlite3.Connection, texts: Iterable[int], who: str) -> None:
    """Remember that texts were removed."""
    connection.execute(_TABLE)
    at = now()
    connection.executemany(f"INSERT INTO {_NAME} VALUES (?, ?, ?)", [(text, who, at) for text in texts])


def removed_texts(connection: sqlite3.Connection) -> set[int]:
    """Return the numbers of all texts that were removed."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (_NAME,)).fetchone() is None:
        return set()
    return {row[0] for row in connection.execute(f"SELECT text FROM {_NAME}")}
