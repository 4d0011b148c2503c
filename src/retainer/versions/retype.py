"""Types renamed, merged, dropped or split, without any training.

No weight of a head changes, so no prediction of another type can. Rows only get other labels: those of merged types
share one, and those of a dropped type become O. That is exact where folding rows into one would not be: the larger of
two scores is not a linear function of a word. Only a split adds rows, copies of existing ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from retainer.data.labels import Labels, require_names
from retainer.data.tags import OUTSIDE
from retainer.errors import InputError, nearest
from retainer.model.heads import MARGIN
from retainer.model.onnx import Exported
from retainer.versions.history import NewNames
from retainer.versions.version import Version

_HeadRow = tuple[str, int, int]
"""A row of a new head: its label, the row it comes from, and how many steps it is lowered."""


def rename_types(version: Version, names: Mapping[str, str]) -> Version:
    """Give types other names; two may swap theirs."""
    new_names = {old: [new] for old, new in names.items() if old != new}
    _require_known(version, names)
    if not new_names:
        raise InputError("nothing would change: every type is to keep its name")
    staying = [type_ for type_ in version.types if type_ not in new_names]
    for new in names.values():
        if new in staying or list(names.values()).count(new) > 1:
            raise InputError(
                f"two types would be called {new!r}; to make one type of several, use: retainer types merge"
            )
    return retype(version, "rename", new_names)


def merge_types(version: Version, types: Sequence[str], into: str) -> Version:
    """Make one type of several: where one of them was found, the merged one is found."""
    _require_known(version, types)
    if len(set(types)) < 2:
        raise InputError(f"a merge needs at least two types, not only {', '.join(types)}; to rename one, use rename")
    if into in version.types and into not in types:
        raise InputError(f"{into!r} is another type of this model; name it among those to merge")
    return retype(version, "merge", {type_: [into] for type_ in types})


def drop_types(version: Version, types: Sequence[str]) -> Version:
    """Stop finding some types: where one of them was found, there is now no entity."""
    _require_known(version, types)
    if set(types) >= set(version.types):
        raise InputError("a model without any type finds nothing; leave it at least one")
    return retype(version, "drop", {type_: [] for type_ in types})


def split_type(version: Version, type_: str, into: Sequence[str]) -> Version:
    """Split a type into finer ones. Until they are learned, the first of them is found where the type was."""
    _require_known(version, [type_])
    if len(set(into)) < 2 or len(set(into)) < len(into):
        raise InputError(f"a split needs at least two different names, not {', '.join(into)}")
    if taken := [name for name in into if name in version.types and name != type_]:
        raise InputError(f"{taken[0]!r} is another type of this model; choose another name, or merge them first")
    return retype(version, "split", {type_: list(into)})


def retype(version: Version, verb: str, new_names: NewNames) -> Version:
    """Return the version in which some types have become others, with a record that says so."""
    tagger = version.tagger
    if isinstance(tagger, Exported):
        raise InputError("the types of an ONNX export cannot be changed; change the version it came from")
    rows = _rows(tagger.labels, new_names)
    labels = _labels([name for name, _, _ in rows], new_names)
    head = tagger.head.arranged([source for _, source, _ in rows], [rank * MARGIN for _, _, rank in rows])
    tasks = version.lineage.tasks or (version.types,)
    record = version.child_record(
        task=version.lineage.task or len(tasks),
        tasks=_renamed_tasks(tasks, new_names),
        pending=_pending(version.lineage.pending, verb, new_names),
        calibration=_recalibrated(version.lineage.calibration, verb, new_names),
        change={"verb": verb, "became": dict(new_names), "types": list(version.types)},
    )
    changed = tagger.like(tagger.network, head.to(tagger.device), labels).eval()
    return Version(changed, record, version.generators)


def _rows(labels: Labels, new_names: NewNames) -> list[_HeadRow]:
    """Plan the new head.

    The second of two finer types begins a little below the first, so that chance does not choose between equal rows.
    A dropped row that comes before O goes to the end: the first O stays the one that is learned.
    """
    rows: list[_HeadRow] = []
    more: list[_HeadRow] = []
    gone: list[_HeadRow] = []
    for source, (_, type_) in enumerate(labels.parts):
        if type_ not in new_names:
            rows.append((labels.names[source], source, 0))
        elif not new_names[type_]:
            (rows if source > labels.outside else gone).append((OUTSIDE, source, 0))
        else:
            first, *others = [(labels.renamed(source, name), source, at) for at, name in enumerate(new_names[type_])]
            rows.append(first)
            more += others
    return [*rows, *sorted(more, key=lambda row: row[2]), *gone]


def _labels(names: Sequence[str], new_names: NewNames) -> Labels:
    """Return the new labels, if they mean what they should."""
    made_names = [name for new in new_names.values() for name in new]
    require_names(made_names)
    labels = Labels(tuple(names))
    if bad := [name for name in made_names if name not in labels.types]:
        raise InputError(f"the labels of this model have no prefixes, so a type of it cannot be called {bad[0]!r}")
    return labels


def _renamed_tasks(tasks: Sequence[Sequence[str]], new_names: NewNames) -> tuple[tuple[str, ...], ...]:
    """Write the tasks with the new names; a merged type belongs to the first task that had a part of it."""
    seen: set[str] = set()
    renamed = []
    for task in tasks:
        names = dict.fromkeys(name for type_ in task for name in new_names.get(type_, [type_]))
        renamed.append(tuple(name for name in names if name not in seen))
        seen.update(names)
    return tuple(renamed)


def _recalibrated(found: Mapping[str, Any], verb: str, new_names: NewNames) -> dict[str, Any]:
    """Carry over how scores become probabilities; for a merged or a split type that is not known yet."""
    kept = {type_: one for type_, one in found.items() if type_ not in new_names}
    renamed = {new_names[type_][0]: one for type_, one in found.items() if verb == "rename" and type_ in new_names}
    return {**kept, **renamed}


def _pending(pending: Sequence[str], verb: str, new_names: NewNames) -> tuple[str, ...]:
    """Return the types that wait to be learned; once merged, there is nothing left to learn about them."""
    if verb == "merge":
        return tuple(type_ for type_ in pending if type_ not in new_names)
    waiting = [name for type_ in pending for name in new_names.get(type_, [type_])]
    parts = [name for names in new_names.values() for name in names] if verb == "split" else []
    return tuple(dict.fromkeys([*waiting, *parts]))


def _require_known(version: Version, types: Sequence[str] | Mapping[str, str]) -> None:
    for type_ in types:
        if type_ not in version.types:
            known = ", ".join(version.types) or "none"
            raise InputError(f"this model has no type {type_!r}{nearest(type_, version.types)}; its types are {known}")
