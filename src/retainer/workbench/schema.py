"""The layout of a project's database: a number, and the SQL that makes it out of the layout before.

A new project runs every script, an older one those it lacks, so that both end alike. A layout that was released is
never edited: a change is one more script.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from retainer.errors import InputError

APPLICATION_ID = 0x52544E52
"""Marks the file as ours ("RTNR"); tools such as ``file`` read it too."""

FIRST_LAYOUT = """
CREATE TABLE texts (
    id INTEGER PRIMARY KEY,              -- from 1, without gaps, in the order in which they were added
    text TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,           -- SHA-256 of the text: the same text is there once
    words TEXT,                          -- JSON [[start, end], ...] where a file said what its words are
    source TEXT NOT NULL,                -- the name of the file it comes from, or who added it
    added TEXT NOT NULL,
    held_back INTEGER NOT NULL           -- 1: for comparing versions, never trained on
);

CREATE TABLE types (
    id INTEGER PRIMARY KEY,              -- what annotations refer to, so that a new name carries them along
    name TEXT NOT NULL UNIQUE,
    colour INTEGER NOT NULL,             -- which of the page's styles
    position INTEGER NOT NULL
);

CREATE TABLE type_changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    type INTEGER NOT NULL REFERENCES types (id),
    kind TEXT NOT NULL CHECK (kind IN ('add', 'rename', 'recolour', 'move')),
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    before TEXT NOT NULL,                -- JSON: a name, a colour or a position; null for a new type
    after TEXT NOT NULL
);

CREATE TABLE annotations (               -- what holds now, of every text that was ever annotated
    text INTEGER PRIMARY KEY REFERENCES texts (id),
    revision INTEGER NOT NULL,           -- how many changes the text has had
    state TEXT NOT NULL,                 -- JSON {"entities": [[start, end, type]], "decided": .., "complete": [type]}
    decided INTEGER NOT NULL GENERATED ALWAYS AS (json_extract(state, '$.decided')) STORED
);
CREATE INDEX annotations_by_decision ON annotations (decided, text);

CREATE TABLE changes (                   -- every change of an annotation that there ever was
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    text INTEGER NOT NULL REFERENCES texts (id),
    revision INTEGER NOT NULL,           -- of the text after the change
    kind TEXT NOT NULL CHECK (kind IN ('write', 'import', 'undo', 'redo')),
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    reverses INTEGER REFERENCES changes (id),  -- the change that an undo takes back, or the undo that a redo takes back
    before TEXT NOT NULL,                -- states, as above
    after TEXT NOT NULL,
    UNIQUE (text, revision)
);
CREATE INDEX changes_by_person ON changes (who, id);
CREATE UNIQUE INDEX changes_reversed ON changes (reverses) WHERE reverses IS NOT NULL;

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    request TEXT NOT NULL,               -- JSON
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    who TEXT NOT NULL,
    created TEXT NOT NULL,
    started TEXT,
    ended TEXT,
    process INTEGER,                     -- the number of the process that runs it, or ran it last
    cancelling INTEGER NOT NULL DEFAULT 0,  -- 1: the running process is asked to stop
    message TEXT NOT NULL DEFAULT ''     -- why it failed
);
CREATE UNIQUE INDEX jobs_one_runs ON jobs (state) WHERE state = 'running';

CREATE TABLE job_events (
    job INTEGER NOT NULL REFERENCES jobs (id),
    number INTEGER NOT NULL,             -- from 1, per job
    at TEXT NOT NULL,
    event TEXT NOT NULL,                 -- JSON
    PRIMARY KEY (job, number)
) WITHOUT ROWID;

CREATE TABLE versions (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,           -- its folder is versions/NAME, unless it lies elsewhere
    parent INTEGER REFERENCES versions (id),
    hash TEXT NOT NULL,
    job INTEGER REFERENCES jobs (id),    -- the job that made it
    added TEXT NOT NULL,
    elsewhere TEXT,                      -- a folder outside the project, or a name on the hub
    types TEXT NOT NULL,                 -- JSON: what it finds, known without loading it
    texts INTEGER                        -- how many texts with a decision it was taught from
);

CREATE TABLE uses (                      -- which version was put into use when
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    version INTEGER NOT NULL REFERENCES versions (id),
    back INTEGER NOT NULL,               -- 1: by going back
    who TEXT NOT NULL,
    at TEXT NOT NULL
);

CREATE TRIGGER changes_stay BEFORE UPDATE ON changes BEGIN SELECT RAISE(ABORT, 'a change is kept as it was'); END;
CREATE TRIGGER changes_last BEFORE DELETE ON changes BEGIN SELECT RAISE(ABORT, 'a change is kept'); END;
CREATE TRIGGER type_changes_stay BEFORE UPDATE ON type_changes
    BEGIN SELECT RAISE(ABORT, 'a change is kept as it was'); END;
CREATE TRIGGER type_changes_last BEFORE DELETE ON type_changes BEGIN SELECT RAISE(ABORT, 'a change is kept'); END;
"""

SECOND_LAYOUT = """
-- an order that says nothing about the texts, in which they are drawn: 50,000 need not be sorted for that
CREATE INDEX texts_by_chance ON texts (substr(hash, 17));
"""

LAYOUTS: tuple[str, ...] = (FIRST_LAYOUT, SECOND_LAYOUT)
"""The scripts in order; the layout number is how many of them were run."""


def layout_of(connection: sqlite3.Connection, path: Path) -> int:
    """Return the layout of a database, 0 for an empty one; refuse those of others, and newer ones."""
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [layout] = connection.execute("PRAGMA user_version").fetchone()
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if not (application == APPLICATION_ID and layout) and (application or layout or tables):
        raise InputError(f"{path} is a database of another program, not of a project; name another folder")
    if layout > len(LAYOUTS):
        raise InputError(
            f"{path} has layout {layout}, and this retainer knows layouts up to {len(LAYOUTS)}; install a newer one"
        )
    return int(layout)


def migrate(connection: sqlite3.Connection) -> None:
    """Run the scripts that a database lacks, inside the transaction that is open: all of them or none."""
    [layout] = connection.execute("PRAGMA user_version").fetchone()
    for script in LAYOUTS[layout:]:
        for statement in _statements(script):
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {len(LAYOUTS)}")


def _statements(script: str) -> Iterator[str]:
    """Cut a script into statements; ``executescript`` would end the transaction."""
    lines: list[str] = []
    for line in script.splitlines():
        lines.append(line)
        if line.rstrip().endswith(";") and sqlite3.complete_statement("\n".join(lines)):
            yield "\n".join(lines)
            lines = []
