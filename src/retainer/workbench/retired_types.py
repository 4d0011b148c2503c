"""Types that were merged into another one or removed. Their rows stay, because the history speaks of them.

What happened to them is a log of its own, to which every merge, removal and return is appended. The table only adds to
the layout and is made when it is first needed, so a retainer that does not know it shows these types again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from typing import Literal

from retainer.workbench.clock import now

Retirement = Literal["merge", "remove", "return"]

_NAME = "type_retirements"
_TABLE = f"""CREATE TABLE IF NOT EXISTS {_NAME} (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    type INTEGER NOT NULL REFERENCES types (id),
    kind TEXT NOT NULL CHECK (kind IN ('merge', 'remove', 'return')),
    target INTEGER REFERENCES types (id),  -- of a merge: what the type became
    who TEXT NOT NULL,
    at TEXT NOT NULL
)"""


def record_retirement(
    connection: sqlite3.Connection, type_: int, kind: Retirement, who: str, target: int | None = None
) -> None:
    """Append what happened to a type."""
    connection.execute(_TABLE)
    connection.execute(
        f"INSERT INTO {_NAME} (type, kind, target, who, at) VALUES (?, ?, ?, ?, ?)", (type_, kind, target, who, now())
    )


def retirements(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    """Return all that happened, the first first."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (_NAME,)).fetchone() is None:
        return []
    return connection.execute(f"SELECT type, kind, target, who, at FROM {_NAME} ORDER BY id").fetchall()


def retired(connection: sqlite3.Connection) -> dict[int, int | None]:
    """Return the types that are not there now, each with the one that it is part of now, or None."""
    targets = {row["type"]: row["target"] for row in retirements(connection)}
    returned = {row["type"]: row["kind"] == "return" for row in retirements(connection)}
    gone = {type_: target for type_, target in targets.items() if not returned[type_]}
    return {type_: _followed(target, gone) for type_, target in gone.items()}


def _followed(target: int | None, gone: dict[int, int | None]) -> int | None:
    """Return what a type became in the end: what it was merged into may have been merged, too."""
    while target in gone:
        target = gone[target]
    return target


def bring_back(connection: sqlite3.Connection, types: Collection[int], who: str) -> None:
    """Let retired types be there again, such as those of an annotation that an undo brings back."""
    for type_ in sorted({*types} & retired(connection).keys()):
        record_retirement(connection, type_, "return", who)
