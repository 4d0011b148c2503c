"""The log of all changes of annotations: appended to and never edited. Undoing, too, appends a change.

A person takes back the latest of their own changes that was not taken back yet. What was taken back can be brought back
until that person makes another change. All of it is read off the log, so it outlives the server.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Literal

from retainer.workbench.annotation import NOTHING_SAID, Annotation
from retainer.workbench.clock import now

ChangeKind = Literal["write", "import", "undo", "redo"]

_UNDOABLE = """
SELECT * FROM changes AS done WHERE who = ? AND kind IN ('write', 'redo') AND id < ?
AND NOT EXISTS (SELECT 1 FROM changes WHERE reverses = done.id) ORDER BY id DESC LIMIT 1
"""
_REDOABLE = """
SELECT * FROM changes AS undone WHERE who = ? AND kind = 'undo' AND id < ?
AND NOT EXISTS (SELECT 1 FROM changes WHERE reverses = undone.id)
AND id > (SELECT coalesce(max(id), 0) FROM changes WHERE who = undone.who AND kind = 'write') ORDER BY id DESC LIMIT 1
"""
_REVERSIBLE = {"undo": _UNDOABLE, "redo": _REDOABLE}


@dataclass(frozen=True)
class AnnotationChange:
    """A change of an annotation."""

    id: int
    text: int
    revision: int
    """Of the text, after the change."""
    kind: ChangeKind
    who: str
    when: str
    before: Annotation
    after: Annotation


def state_of(connection: sqlite3.Connection, text: int) -> tuple[int, str]:
    """Return the revision of a text and what is stored of it now."""
    row = connection.execute("SELECT revision, state FROM annotations WHERE text = ?", (text,)).fetchone()
    return (0, NOTHING_SAID) if row is None else (row["revision"], row["state"])


def append_change(
    connection: sqlite3.Connection, text: int, after: str, who: str, kind: ChangeKind, reverses: int | None = None
) -> None:
    """Record a change, and let it hold."""
    revision, before = state_of(connection, text)
    connection.execute(
        "INSERT INTO changes (text, revision, kind, who, at, reverses, before, after) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (text, revision + 1, kind, who, now(), reverses, before, after),
    )
    connection.execute(
        "INSERT INTO annotations (text, revision, state) VALUES (?, ?, ?) "
        "ON CONFLICT (text) DO UPDATE SET revision = excluded.revision, state = excluded.state",
        (text, revision + 1, after),
    )


def reversible(
    connection: sqlite3.Connection, who: str, kind: Literal["undo", "redo"], before: int | None
) -> sqlite3.Row | None:
    """Return the change that an undo or a redo of a person would reverse, if there is one."""
    most = 2**63 - 1 if before is None else before
    row: sqlite3.Row | None = connection.execute(_REVERSIBLE[kind], (who, most)).fetchone()
    return row
