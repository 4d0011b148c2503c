"""The types of a project. Annotations refer to them by number, so that a new name carries all annotations along.

Numbers stay for ever: a type that was merged or removed is not among the types, and the history still names it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from retainer.data.labels import require_names
from retainer.errors import InputError, quoted, unknown
from retainer.plurals import amount
from retainer.workbench.clock import now
from retainer.workbench.database import Database
from retainer.workbench.retired_types import bring_back, record_retirement, retired, retirements
from retainer.workbench.type_merge import are_alike, relabel, texts_with


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
    """``add``, ``rename``, ``recolour`` or ``move``; ``merge``, ``remove`` or ``return``."""
    who: str
    when: str
    before: str | int | None = None
    """The name, colour or position it had; None for a new type."""
    after: str | int | None = None
    """What it has now; of a merge, the type that it is part of."""


class ProjectTypes:
    """The types of a project, in their order."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> tuple[EntityType, ...]:
        """Return all types."""
        with self._database.reading() as connection:
            gone = retired(connection)
            rows = connection.execute("SELECT id, name, colour FROM types ORDER BY position, id")
            return tuple(EntityType(name, colour) for number, name, colour in rows if number not in gone)

    def names(self) -> tuple[str, ...]:
        """Return the names of all types."""
        return tuple(type_.name for type_ in self.all())

    def number(self, name: str) -> int:
        """Return the number by which annotations refer to a type."""
        with self._database.reading() as connection:
            return type_ids(connection, [name])[name]

    def add(self, name: str, who: str, colour: int | None = None, *, confirmed: bool = False) -> EntityType:
        """Add a type, as the last one; it gets the next colour, unless one is given.

        A name that another type has but for case or spaces is refused, unless that is ``confirmed``.
        """
        with self._database.writing() as connection:
            _require_free_name(connection, name)
            if not confirmed:
                _require_apart(connection, name)
            if name in type_names(connection).values():
                return self._brought_back(connection, name, who)
            [count] = connection.execute("SELECT count(*) FROM types").fetchone()
            added = EntityType(name, count if colour is None else _require_colour(colour))
            query = "INSERT INTO types (name, colour, position) VALUES (?, ?, ?)"
            number = connection.execute(query, (name, added.colour, count)).lastrowid
            _record(connection, int(number or 0), "add", who, None, name)
            return added

    def _brought_back(self, connection: sqlite3.Connection, name: str, who: str) -> EntityType:
        """Let a type be there again that was merged or removed; it has its old number and colour."""
        [number] = connection.execute("SELECT id FROM types WHERE name = ?", (name,)).fetchone()
        bring_back(connection, [number], who)
        return next(type_ for type_ in self.all() if type_.name == name)

    def ensure(self, names: Iterable[str], who: str) -> tuple[str, ...]:
        """Add the types that are not there yet, and return these."""
        with self._database.writing():
            known = set(self.names())
            new = tuple(name for name in dict.fromkeys(names) if name not in known)
            for name in new:
                self.add(name, who, confirmed=True)
            return new

    def ensure_found(self, names: Iterable[str], who: str) -> tuple[str, ...]:
        """Add the types that a version finds; one that has another name by now, or became part of another, is there."""
        with self._database.writing():
            renamed = self.renamed()
            return self.ensure((name for name in names if name not in renamed), who)

    def rename(self, name: str, new_name: str, who: str, *, confirmed: bool = False) -> None:
        """Give a type another name: its entities in all texts have it at once, and it stays complete where it was."""
        with self._database.writing() as connection:
            number = type_ids(connection, [name])[name]
            if new_name != name:
                _require_free_name(connection, new_name)
                _require_never_taken(connection, new_name)
                if not confirmed:
                    _require_apart(connection, new_name, besides=name)
                connection.execute("UPDATE types SET name = ? WHERE id = ?", (new_name, number))
                _record(connection, number, "rename", who, name, new_name)

    def merge(self, name: str, into: str, who: str) -> int:
        """Make a type part of another: its entities in all texts become entities of that; return in how many texts.

        Each of these is a change of its text by this person, kept and undone like any other. What versions find under
        the old name counts as the other type from now on.
        """
        with self._database.writing() as connection:
            ids = type_ids(connection, [name, into])
            if name == into:
                raise InputError(f"a type is merged into another one, and {quoted(name)} is the same; name two")
            record_retirement(connection, ids[name], "merge", who, ids[into])
            return relabel(connection, ids[name], ids[into], who, alike=are_alike(name, into))

    def remove(self, name: str, who: str) -> None:
        """Remove a type that no entity has: texts are no longer complete for it; adding it again brings that back."""
        with self._database.writing() as connection:
            number = type_ids(connection, [name])[name]
            if texts := texts_with(connection, number):
                raise InputError(
                    f"{amount(texts, 'text has', 'texts have')} entities of {quoted(name)}, so it cannot be removed; "
                    "merge it into another type, or take these entities out"
                )
            record_retirement(connection, number, "remove", who)

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
            merged = self.merged()
            for change in self.history():
                if change.kind == "rename" and isinstance(change.before, str) and change.before not in known:
                    names[change.before] = merged.get(change.type, change.type)
            return {**names, **merged}

    def merged(self) -> dict[str, str]:
        """Return the types that are part of others now, each with that other one."""
        with self._database.reading() as connection:
            names = type_names(connection)
            return {names[old]: names[new] for old, new in retired(connection).items() if new is not None}

    def history(self) -> tuple[TypeChange, ...]:
        """Return all that was ever done to types, the first change first."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT name, kind, who, at, before, after FROM type_changes JOIN types ON types.id = type "
                "ORDER BY type_changes.id"
            )
            changes = [
                TypeChange(name, kind, who, at, json.loads(before), json.loads(after))
                for name, kind, who, at, before, after in rows
            ]
            names = type_names(connection)
            changes += [
                TypeChange(names[row["type"]], row["kind"], row["who"], row["at"], after=names.get(row["target"]))
                for row in retirements(connection)
            ]
            return tuple(sorted(changes, key=lambda change: change.when))  # among equals they stay as they are


def type_names(connection: sqlite3.Connection) -> dict[int, str]:
    """Return the names of all types by number, also of those that were merged or removed."""
    return {number: name for number, name in connection.execute("SELECT id, name FROM types ORDER BY position, id")}


def type_ids(connection: sqlite3.Connection, names: Collection[str]) -> dict[str, int]:
    """Return the numbers of some types by name; one that was renamed meanwhile is named in the complaint."""
    gone = retired(connection)
    known = {name: number for number, name in type_names(connection).items() if number not in gone}
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
        return _retired_type(connection, name) or unknown("type", name, known)
    return InputError(f"the type {quoted(name)} is called {quoted(renamed['name'])} now: {renamed['who']} renamed it")


def _retired_type(connection: sqlite3.Connection, name: str) -> InputError | None:
    """Say what became of a type that is not there any more."""
    names = type_names(connection)
    for row in reversed(retirements(connection)):
        if names[row["type"]] == name and row["kind"] == "merge":
            return InputError(
                f"the type {quoted(name)} is part of {quoted(names[row['target']])} now: {row['who']} merged it"
            )
        if names[row["type"]] == name:
            return InputError(f"there is no type {quoted(name)} any more: {row['who']} removed it")
    return None


def _present(connection: sqlite3.Connection) -> list[str]:
    """Return the names of the types that are there."""
    gone = retired(connection)
    return [name for number, name in type_names(connection).items() if number not in gone]


def _require_free_name(connection: sqlite3.Connection, name: str) -> None:
    require_names((name,))
    if name in _present(connection):
        raise InputError(f"there is a type {quoted(name)} already; choose another name")


def _require_never_taken(connection: sqlite3.Connection, name: str) -> None:
    """Refuse a name that the history needs for a type that was merged or removed."""
    if name in type_names(connection).values():
        raise InputError(
            f"a type that was merged or removed is called {quoted(name)}; choose another name, or add it again"
        )


def _require_apart(connection: sqlite3.Connection, name: str, besides: str = "") -> None:
    """Refuse a name that hardly differs from that of another type: mostly it is the same, written otherwise."""
    for other in _present(connection):
        if other != besides and are_alike(name, other):
            raise InputError(
                f"{quoted(name)}: there is {quoted(other)} already, which differs only by case or spaces; use that, or "
                "confirm that you want both"
            )


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
