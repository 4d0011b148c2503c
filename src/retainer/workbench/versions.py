"""The versions of a project: where each comes from, which one is in use, and which ones were before it."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from retainer.errors import InputError, quoted, unknown
from retainer.workbench.clock import now
from retainer.workbench.database import Database

_NAME = re.compile(r"[^\W_][\w.-]{0,99}")
"""The name of a version is that of its folder, and part of addresses."""

VERSIONS_FOLDER = "versions"
"""Where in a project the folders of its versions lie."""

_VERSIONS = """
SELECT versions.name, parents.name, versions.hash, versions.job, versions.added, versions.elsewhere,
versions.types, versions.texts FROM versions
LEFT JOIN versions AS parents ON parents.id = versions.parent
"""


@dataclass(frozen=True)
class ProjectVersion:
    """A version that belongs to a project."""

    name: str
    parent: str | None
    """The name of the version it was made from, where the project has it."""
    hash: str
    job: int | None
    """The job that made it."""
    added: str
    elsewhere: str | None = None
    """Where it lies, if not in the project: a folder, ``builtin`` or a name on the hub."""
    types: tuple[str, ...] = ()
    """What it finds."""
    texts: int | None = None
    """How many texts with a decision it was taught from; None where that happened elsewhere."""


@dataclass(frozen=True)
class VersionOrigin:
    """Where a version comes from."""

    parent: str | None = None
    job: int | None = None
    texts: int | None = None


@dataclass(frozen=True)
class VersionUse:
    """A version was put into use."""

    version: str
    who: str
    when: str
    back: bool
    """Whether by going back to it."""


class ProjectVersions:
    """The versions of a project, in the order in which they came."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database, self._folder = database, folder

    def folder(self, name: str) -> Path:
        """Return where a version of the project lies, or will lie: in a folder of its name."""
        if not _NAME.fullmatch(name):
            raise InputError(f"{quoted(name)} cannot name a version; use letters, digits, '.', '_' and '-'")
        return self._folder / VERSIONS_FOLDER / name

    def add(
        self,
        name: str,
        hash_: str,
        *,
        types: Iterable[str] = (),
        origin: VersionOrigin | None = None,
        elsewhere: str | Path | None = None,
    ) -> ProjectVersion:
        """Add a version whose folder is whole; the row comes last, so that a killed job leaves no row without one."""
        self.folder(name)
        with self._database.writing() as connection:
            if name in _ids(connection):
                raise InputError(f"there is a version {quoted(name)} already; choose another name")
            origin = origin or VersionOrigin()
            parent = None if origin.parent is None else _id(connection, origin.parent)
            found = json.dumps(list(types))
            connection.execute(
                "INSERT INTO versions (name, parent, hash, job, added, elsewhere, types, texts) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (name, parent, hash_, origin.job, now(), _lasting(elsewhere), found, origin.texts),
            )
            return self.get(name)

    def place(self, name: str) -> str:
        """Return what loads a version: its folder, ``builtin`` or a name on the hub."""
        return self.get(name).elsewhere or str(self.folder(name))

    def all(self) -> tuple[ProjectVersion, ...]:
        """Return all versions."""
        with self._database.reading() as connection:
            return tuple(_version(row) for row in connection.execute(f"{_VERSIONS} ORDER BY versions.id"))

    def get(self, name: str) -> ProjectVersion:
        """Return a version by its name."""
        found = {version.name: version for version in self.all()}
        if name not in found:
            raise unknown("version", name, found)
        return found[name]

    def use(self, name: str, who: str) -> ProjectVersion:
        """Put a version into use; one that is in use already stays."""
        with self._database.writing() as connection:
            if self.in_use() != self.get(name):
                _record_use(connection, name, who, back=False)
            return self.get(name)

    def go_back(self, who: str) -> ProjectVersion:
        """Put the version into use again that was in use before the present one; again goes back further."""
        with self._database.writing() as connection:
            before = self.require_before()
            _record_use(connection, before.name, who, back=True)
            return before

    def before(self) -> ProjectVersion | None:
        """Return the version that going back would put into use, if there is one."""
        with self._database.reading():
            stack = _stack(self.uses())
            return self.get(stack[-2]) if len(stack) > 1 else None

    def require_before(self) -> ProjectVersion:
        """Return it, or refuse to go back."""
        before = self.before()
        if before is None:
            raise InputError("there is no version to go back to: the one in use was the first")
        return before

    def in_use(self) -> ProjectVersion | None:
        """Return the version in use, if there is one."""
        with self._database.reading():
            stack = _stack(self.uses())
            return self.get(stack[-1]) if stack else None

    def uses(self) -> tuple[VersionUse, ...]:
        """Return when which version was put into use, the first one first."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT name, who, at, back FROM uses JOIN versions ON versions.id = version ORDER BY uses.id"
            )
            return tuple(VersionUse(row["name"], row["who"], row["at"], bool(row["back"])) for row in rows)


def _version(row: sqlite3.Row) -> ProjectVersion:
    name, parent, hash_, job, added, elsewhere, types, texts = row
    return ProjectVersion(name, parent, hash_, job, added, elsewhere, tuple(json.loads(types)), texts)


def _lasting(place: str | Path | None) -> str | None:
    """Return a place as it is found from any folder."""
    if place is None:
        return None
    return str(Path(place).absolute()) if Path(place).exists() else str(place)


def _stack(uses: tuple[VersionUse, ...]) -> list[str]:
    """Return the versions that one can go back through; the last is in use."""
    stack: list[str] = []
    for use in uses:
        if use.back:
            stack.pop()
        else:
            stack.append(use.version)
    return stack


def _record_use(connection: sqlite3.Connection, name: str, who: str, *, back: bool) -> None:
    connection.execute(
        "INSERT INTO uses (version, back, who, at) VALUES (?, ?, ?, ?)", (_id(connection, name), back, who, now())
    )


def _ids(connection: sqlite3.Connection) -> dict[str, int]:
    return {name: id_ for name, id_ in connection.execute("SELECT name, id FROM versions")}


def _id(connection: sqlite3.Connection, name: str) -> int:
    ids = _ids(connection)
    if name not in ids:
        raise unknown("version", name, ids)
    return ids[name]
