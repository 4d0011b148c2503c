"""One type made part of another: what that does to the annotation of a text."""

from __future__ import annotations

import json
import sqlite3

from retainer.workbench.changes import append_change


def are_alike(name: str, other: str) -> bool:
    """Return whether two names differ only by case, spaces, hyphens or underscores: likely one type written twice."""
    return _folded(name) == _folded(other)


def _folded(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter not in "-_" and not letter.isspace())


def relabel(connection: sqlite3.Connection, old: int, new: int, who: str, *, alike: bool) -> int:
    """Give the entities of a type another one in every text, each as a change of that text; return how many."""
    found = connection.execute("SELECT text, state FROM annotations ORDER BY text").fetchall()
    changed = [(text, state, _merged(state, old, new, alike)) for text, state in found]
    changes = [(text, after) for text, state, after in changed if after != state]
    for text, after in changes:
        append_change(connection, text, after, who, "write")
    return len(changes)


def _merged(state: str, old: int, new: int, alike: bool) -> str:
    """Return a state in which one type has become another.

    Where they are one type written twice, to be complete for one name meant to be complete; else a text is complete for
    both together only if it was complete for each.
    """
    said = json.loads(state)
    complete = set(said["complete"])
    whole = bool(complete & {old, new}) if alike else {old, new} <= complete
    entities = [[start, end, new if type_ == old else type_] for start, end, type_ in said["entities"]]
    after = {**said, "entities": entities, "complete": sorted(complete - {old, new} | ({new} if whole else set()))}
    return json.dumps(after, separators=(",", ":"))


def texts_with(connection: sqlite3.Connection, type_: int) -> int:
    """Count the texts in which something is marked as a type."""
    query = "SELECT count(*) FROM annotations WHERE EXISTS (SELECT 1 FROM json_each(state, '$.entities') "
    query += "WHERE json_extract(value, '$[2]') = ?)"
    return int(connection.execute(query, (type_,)).fetchone()[0])
