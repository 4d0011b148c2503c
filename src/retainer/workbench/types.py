"""The types of a project. Annotations refer to them by number, so that a new name carries all annotations along."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from retainer.data.labels import require_names
from retainer.errors import InputError, quoted, unknown
from retainer.workbench.clock import now
from retainer.workbench.database import Database


@dataclass(frozen=True)
class EntityType:
    """A type as the page shows it."""

    name: str
    colour: int
    """Which of the page's styles; after the last of them they repeat."""


@dataclass(frozen=True)
class TypeChange:
    """Something that was done to a type."""

    type: str
    """Its name now."""
    kind: str
    """``add``, ``rename``, ``recolour`` or ``move``."""
    who: str
    when: str
    before: str | int | None
    """The name, colour or position it had; None for a new type."""
    after: str | int


class ProjectTypes:
    """The types of a project, in their order."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> tuple[EntityType, ...]:
        """Return all types."""
        with self._database.reading() as connection:
            rows = connection.execute("SELECT name, colour FROM types ORDER BY position, id")
            return tuple(EntityType(*row) for row in rows)

    def names(self) -> tuple[str, ...]:
        """Return the names of all types."""
        return tuple(type_.name for type_ in self.all())

    def add(self, name: str, who: str, colour: int | None = None) -> EntityType:
        """Add a type, as the last one; it gets the next colour, unless one is given."""
        with self._database.writing() as connection:
            _require_free_name(connection, name)
            [count] = connection.execute("SELECT count(*) FROM types").fetchone()
            added = EntityType(name, count if colour is None else _require_colour(colour))
            query = "INSERT INTO types (name, colour, position) VALUES (?, ?, ?)"
            number = connection.execute(query, (name, added.colour, count)).lastrowid
            _record(connection, int(number or 0), "add", who, None, name)
            return added

    def ensure(self, names: Iterable[str], who: str) -> tuple[str, ...]:
        """Add the types that are not there yet, and return these."""
        with self._database.writing():
            known = set(self.names())
            new = tuple(name for name in dict.fromkeys(names) if name not in known)
            for name in new:
                self.add(name, who)
            return new

    def rename(self, name: str, new_name: str, who: str) -> None:
        """Give a type another name: its entities in all texts have it at once, and it stays complete where it was."""
        with self._database.writing() as connection:
            number = type_ids(connection, [name])[name]
            if new_name != name:
                _require_free_name(connection, new_name)
                connection.execute("UPDATE types SET name = ? WHERE id = ?", (new_name, number))
                _record(connection, number, "rename", who, name, new_name)

    def recolour(self, name: str, colour: int, who: str) -> None:
        """Give a type another colour."""
        with self._database.writing() as connection:
            number = type_ids(connection, [name])[name]
            [before] = connection.execute("SELECT colour FROM types WHERE id = ?", (number,)).fetchone()
            connection.execute("UPDATE types SET colour = ? WHERE id = ?", (_require_colour(colour), number))
            _record(connection, number, "recolour", who, before, colour)

    def reorder(self, names: Iterable[str], who: str) -> None:
        """Put the types into another order; all of them must be named, each once."""
        with self._database.writing() as connection:
            wanted, before = list(names), list(self.names())
            if sorted(wanted) != sorted(before):
                raise InputError(f"an order names every type once; there are {', '.join(before)}")
            for name, number in type_ids(connection, wanted).items():
                place, old = wanted.index(name), before.index(name)
                if place != old:
                    connection.execute("UPDATE types SET position = ? WHERE id = ?", (place, number))
                    _record(connection, number, "move", who, old, place)

    def renamed(self) -> dict[str, str]:
        """Return what types are called now, by the names they had: versions know them by the names of their time."""
        with self._database.reading():
            known, names = set(self.names()), dict[str, str]()
            for change in self.history():
                if change.kind == "rename" and isinstance(change.before, str) and change.before not in known:
                    names[change.before] = change.type
            return names

    def history(self) -> tuple[TypeChange, ...]:
        """Return all that was ever done to types, the first change first."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT name, kind, who, at, before, after FROM type_changes JOIN types ON types.id = type "
                "ORDER BY type_changes.id"
            )
            return tuple(
                TypeChange(name, kind, who, at, json.loads(before), json.loads(after))
                for name, kind, who, at, before, after in rows
            )


def type_names(connection: sqlite3.Connection) -> dict[int, str]:
    """Return the names of all types by number."""
    return {number: name for number, name in connection.execute("SELECT id, name FROM types ORDER BY position, id")}


def type_ids(connection: sqlite3.Connection, names: Collection[str]) -> dict[str, int]:
    """Return the numbers of some types by name; one that was renamed meanwhile is named in the complaint."""
    known = {name: number for number, name in type_names(connection).items()}
    for name in names:
        if name not in known:
            raise _unknown_type(connection, name, known)
    return {name: known[name] for name in names}


def _unknown_type(connection: sqlite3.Connection, name: str, known: Iterable[str]) -> InputError:
    renamed = connection.execute(
        "SELECT name, who FROM type_changes JOIN types ON types.id = type "
        "WHERE kind = 'rename' AND before = ? ORDER BY type_changes.id DESC",
        (json.dumps(name),),
    ).fetchone()
    if renamed is None:
        return unknown("type", name, known)
    return InputError(f"the type {quoted(name)} is called {quoted(renamed['name'])} now: {renamed['who']} renamed it")


def _require_free_name(connection: sqlite3.Connection, name: str) -> None:
    require_names((name,))
    if name in type_names(connection).values():
        raise InputError(f"there is a type {quoted(name)} already; choose another name")


def _require_colour(colour: int) -> int:
    if colour < 0:
        raise InputError(f"a colour is the number of a style, from 0, not {colour}")
    return colour


def _record(
    connection: sqlite3.Connection, number: int, kind: str, who: str, before: str | int | None, after: str | int
) -> None:
    connection.execute(
        "INSERT INTO type_changes (type, kind, who, at, before, after) VALUES (?, ?, ?, ?, ?, ?)",
        (number, kind, who, now(), json.dumps(before), json.dumps(after)),
    )
