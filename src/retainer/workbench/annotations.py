"""The annotations of a project: written by several people at once, none over another's, and all of it can be undone."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from retainer.errors import InputError
from retainer.workbench.annotation import AnnotatedText, Annotation, Conflict, decoded, encoded, types_marked
from retainer.workbench.changes import AnnotationChange, ChangeKind, append_change, reversible, state_of
from retainer.workbench.database import Database
from retainer.workbench.removed_texts import removed_texts
from retainer.workbench.retired_types import bring_back, retired
from retainer.workbench.texts import ProjectTexts
from retainer.workbench.types import type_ids, type_names

LARGEST_LOG = 1000
"""Changes that are read at once."""
_NO_LIMIT = -1

_CURRENT = """
SELECT annotations.text, annotations.revision, state, who, at FROM annotations
JOIN changes ON changes.text = annotations.text AND changes.revision = annotations.revision
"""


@dataclass(frozen=True)
class TypeCounts:
    """How much was annotated of a type, in texts with a decision."""

    entities: int = 0
    complete: int = 0
    """Texts in which all of its entities are marked."""


class Annotations:
    """The annotations of a project, by the numbers of texts."""

    def __init__(self, database: Database) -> None:
        self._database, self._texts = database, ProjectTexts(database)
        self._counted: tuple[int, dict[int, TypeCounts]] | None = None
        """The counts of all annotations, and the change after which they were counted."""
        self._removed = 0
        """How many texts had been removed then: what goes with them is in no change."""

    def get(self, text: int) -> AnnotatedText:
        """Return what is said about a text now; of one that was not looked at, nothing."""
        return self.many([text])[text]

    def many(self, texts: Iterable[int]) -> dict[int, AnnotatedText]:
        """Return what is said about some texts now, in their order."""
        wanted = list(texts)
        with self._database.reading() as connection:
            condition = "WHERE annotations.text IN (SELECT value FROM json_each(?))"
            found = _annotated(connection, connection.execute(_CURRENT + condition, (json.dumps(wanted),)))
        return {text: found.get(text, AnnotatedText(text)) for text in wanted}

    def all(self, *, decided: bool = True) -> dict[int, AnnotatedText]:
        """Return what is said about all texts with a decision, or about all without that were looked at."""
        with self._database.reading() as connection:
            query = f"{_CURRENT} WHERE decided = ? ORDER BY annotations.text"
            return _annotated(connection, connection.execute(query, (decided,)))

    def write(
        self, text: int, annotation: Annotation, *, seen: int, who: str, kind: ChangeKind = "write"
    ) -> AnnotatedText:
        """Say something else about a text, having seen a revision of it.

        If that is not the last one, a ``Conflict`` has what was said meanwhile, and nothing changes. To say what holds
        already is no change, so a client that got no answer may ask again.
        """
        with self._database.writing() as connection:
            after = encoded(annotation, self._texts.get(text), type_ids(connection, annotation.types()))
            revision, before = state_of(connection, text)
            if after != before:
                if seen != revision:
                    raise Conflict(self.get(text))
                append_change(connection, text, after, who, kind)
            return self.get(text)

    def undo(self, who: str, before: int | None = None) -> AnnotatedText | None:
        """Take back the last change of a person that still holds; return what it was about, or None.

        Where somebody else changed that text since, a ``Conflict`` says so. ``before`` is its ``change``, to go on
        with what the person did earlier.
        """
        return self._reverse(who, "undo", before)

    def redo(self, who: str, before: int | None = None) -> AnnotatedText | None:
        """Bring back what a person took back last, unless they changed something since; return it, or None."""
        return self._reverse(who, "redo", before)

    def _reverse(self, who: str, kind: Literal["undo", "redo"], before: int | None) -> AnnotatedText | None:
        with self._database.writing() as connection:
            change = reversible(connection, who, kind, before)
            if change is None:
                return None
            if state_of(connection, change["text"])[1] != change["after"]:
                raise Conflict(self.get(change["text"]), change["id"], kind)
            append_change(connection, change["text"], change["before"], who, kind, change["id"])
            bring_back(connection, types_marked(change["before"]), who)
            return self.get(change["text"])

    def history(self, text: int) -> tuple[AnnotationChange, ...]:
        """Return all changes of a text, the first one first."""
        return self._changes("text = ?", text, _NO_LIMIT)

    def since(self, change: int, limit: int = LARGEST_LOG) -> tuple[AnnotationChange, ...]:
        """Return the changes of all texts after one, in order: what other windows need to know."""
        if not 1 <= limit <= LARGEST_LOG:
            raise InputError(f"1 to {LARGEST_LOG} changes are read at once, not {limit}")
        return self._changes("id > ?", change, limit)

    def last_change(self) -> int:
        """Return the number of the newest change of any text; 0 before the first."""
        with self._database.reading() as connection:
            return int(connection.execute("SELECT coalesce(max(id), 0) FROM changes").fetchone()[0])

    def _changes(self, condition: str, value: int, limit: int) -> tuple[AnnotationChange, ...]:
        with self._database.reading() as connection:
            names, gone = type_names(connection), retired(connection)
            query = f"SELECT * FROM changes WHERE {condition} ORDER BY id LIMIT ?"
            return tuple(_change(row, names, gone) for row in connection.execute(query, (value, limit)))

    def counts(self) -> dict[str, TypeCounts]:
        """Return how much was annotated of every type, in the order of types."""
        with self._database.reading() as connection:
            counts, names = self._counts_by_number(connection), type_names(connection)
            gone = retired(connection)
        return {name: counts.get(number, TypeCounts()) for number, name in names.items() if number not in gone}

    def _counts_by_number(self, connection: sqlite3.Connection) -> dict[int, TypeCounts]:
        """Count all annotations or, if they were counted before, what has changed since.

        Inside a change nothing is remembered: it may still be taken back, and its number given to another.
        """
        removed = len(removed_texts(connection))
        last, before = self.last_change(), self._counted if removed == self._removed else None
        if before is not None and before[0] == last:
            return before[1]
        recent = before is not None and 0 < last - before[0] <= LARGEST_LOG
        found = _recounted(connection, *before) if before is not None and recent else _counted(connection)
        if connection.execute("PRAGMA query_only").fetchone()[0]:
            self._counted, self._removed = (last, found), removed
        return found


def _annotated(connection: sqlite3.Connection, rows: Iterable[sqlite3.Row]) -> dict[int, AnnotatedText]:
    names, gone = type_names(connection), retired(connection)
    said = ((row, decoded(row["state"], names, gone)) for row in rows)
    return {row["text"]: AnnotatedText(row["text"], row["revision"], one, row["who"], row["at"]) for row, one in said}


def _change(row: sqlite3.Row, names: Mapping[int, str], gone: Collection[int]) -> AnnotationChange:
    before, after = decoded(row["before"], names, gone), decoded(row["after"], names, gone)
    return AnnotationChange(row["id"], row["text"], row["revision"], row["kind"], row["who"], row["at"], before, after)


def _counted(connection: sqlite3.Connection) -> dict[int, TypeCounts]:
    """Count the entities and the complete types of all decided states, by type."""
    query = "SELECT state FROM annotations WHERE decided"
    return _sums(Counter(row[0] for row in connection.execute(query)))


def _recounted(connection: sqlite3.Connection, change: int, counts: Mapping[int, TypeCounts]) -> dict[int, TypeCounts]:
    """Take off what changes have ended, and add what they brought: there are far fewer of them than annotations."""
    states = Counter[str]()
    for before, after in connection.execute("SELECT before, after FROM changes WHERE id > ?", (change,)):
        states[before] -= 1
        states[after] += 1
    return _sums(states, counts)


def _sums(states: Mapping[str, int], counts: Mapping[int, TypeCounts] = MappingProxyType({})) -> dict[int, TypeCounts]:
    """Add up states, each as often as it is given."""
    entities = Counter({type_: one.entities for type_, one in counts.items()})
    complete = Counter({type_: one.complete for type_, one in counts.items()})
    for state, times in states.items():
        found = json.loads(state)
        if found["decided"]:
            for *_, type_ in found["entities"]:
                entities[type_] += times
            for type_ in found["complete"]:
                complete[type_] += times
    return {type_: TypeCounts(entities[type_], complete[type_]) for type_ in {*entities, *complete}}
