"""The connections of a process to a project's database: one writes at a time, and readers never wait for it.

SQLite keeps a log of what was written (WAL) and puts every change on the disk before it is confirmed
(``synchronous = FULL``). What it refuses becomes one sentence; the change it refused has then not happened.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from threading import RLock, local

from retainer.errors import InputError

WAIT_SECONDS = 20.0
"""How long a change waits for that of another process; the import of 50,000 annotated texts takes about ten."""

_LARGEST_LOG = 2**26
"""Bytes of the log that stay on the disk after a large change."""
_DAMAGED = (
    "is damaged ({reason}); nothing was changed: put back a copy of the project's folder, or rescue what can be read "
    "with `sqlite3 {path} .recover`"
)
_REFUSALS = {
    sqlite3.SQLITE_FULL: "cannot be written: the disk is full; nothing was changed, make room and try again",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk reports an error ({reason}); nothing was changed",
    sqlite3.SQLITE_READONLY: "cannot be written: you may only read it",
    sqlite3.SQLITE_PERM: "cannot be written: you may only read it",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: you may not read or write it or its folder",
    sqlite3.SQLITE_BUSY: "is being written by another process; nothing was changed, try again in a moment",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_TOOBIG: "cannot hold a text as long as this; nothing was changed",
}
"""What the disk or another process may refuse, by SQLite's code; any other error is our own fault."""


def require_sound(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a database whose pages do not fit together, before anything is read out of them or written."""
    [said] = connection.execute("PRAGMA quick_check(1)").fetchone()
    if said != "ok":
        raise InputError(f"{path} {_DAMAGED.format(reason=said.splitlines()[-1], path=path)}")


@contextlib.contextmanager
def database_refusals(path: Path) -> Iterator[None]:
    """Turn what SQLite refuses into one sentence about the file."""
    try:
        yield
    except sqlite3.Error as error:
        said = _REFUSALS.get((getattr(error, "sqlite_errorcode", None) or 0) & 0xFF)
        if said is None:
            raise
        raise InputError(f"{path} {said.format(reason=error, path=path)}") from error
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise InputError(f"{half!a} is half a character (a lone surrogate), not a character; remove it") from error
    except OverflowError as error:
        raise InputError("a number is larger than any that a project counts with") from error


class _OpenTransaction(local):
    """The connection whose transaction is open in this thread, if one is."""

    connection: sqlite3.Connection | None = None

    @contextlib.contextmanager
    def through(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Read through this connection until the end; a change may begin inside a reading, and has its own."""
        before, self.connection = self.connection, connection
        try:
            yield
        finally:
            self.connection = before


class Database:
    """The database of a project, for all threads of a process."""

    def __init__(self, path: Path) -> None:
        """Open the file, which is made where there is none."""
        self.path = path
        self._turn, self._open = RLock(), _OpenTransaction()
        self._readers: deque[sqlite3.Connection] = deque()
        self._closed = False
        with database_refusals(path):
            self._writer = _connect(path)
            _require_log(self._writer, path)

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Make a change: all that is done inside, or nothing. Changes made inside another are part of it."""
        with self._turn, database_refusals(self.path):
            if self._writer.in_transaction:
                yield self._writer
            else:
                with self._transaction():
                    yield self._writer

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            with self._open.through(self._writer):
                yield
            self._writer.execute("COMMIT")
        except BaseException:
            if self._writer.in_transaction:  # a full disk may have rolled it back already
                self._writer.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def part(self) -> Iterator[None]:
        """Make a part of a change: what fails inside takes back this part alone, and the rest may go on."""
        with self.writing() as connection:
            connection.execute("SAVEPOINT part")
            try:
                yield
            except BaseException:
                if connection.in_transaction:  # a full disk may have rolled back all of it already
                    connection.execute("ROLLBACK TO part")
                    connection.execute("RELEASE part")
                raise
            connection.execute("RELEASE part")

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Read one state of the project, whatever is written meanwhile; inside a change, what that has written.

        What is read inside another reading is of the same state.
        """
        if self._open.connection is not None:
            yield self._open.connection
            return
        with database_refusals(self.path), self._reader() as connection, self._open.through(connection):
            connection.execute("BEGIN")
            yield connection

    @contextlib.contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """Take a connection that nobody reads with, or make one; one that fails is not kept."""
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = _connect(self.path, query_only=True)
        try:
            yield connection
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self._give_back(connection)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        if self._closed:
            connection.close()
        else:
            self._readers.append(connection)

    def scrub(self) -> None:
        """Write the file anew and empty the log, so that nothing is left of what was deleted."""
        with self._turn, database_refusals(self.path):
            self._writer.execute("VACUUM")
            busy, *_ = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                raise InputError(f"{self.path} is being read by another process, and its log could not be emptied")

    def close(self) -> None:
        """Close all connections; the last process to do so leaves one file behind, without a log."""
        self._closed = True
        with self._turn:
            while self._readers:
                self._readers.pop().close()
            self._writer.close()


def _connect(path: Path, *, query_only: bool = False) -> sqlite3.Connection:
    """Open a connection that threads may hand on, and whose transactions begin and end where we say so."""
    connection = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
    connection.execute(f"PRAGMA journal_size_limit = {_LARGEST_LOG}")
    connection.execute(f"PRAGMA query_only = {int(query_only)}")
    return connection


def _require_log(connection: sqlite3.Connection, path: Path) -> None:
    """Switch to the log, which stays with the file; where it cannot be, readers and the writer would block."""
    [mode] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise InputError(f"{path} cannot have a write-ahead log there; put the project on a local disk")
