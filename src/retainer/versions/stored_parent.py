"""The parent of a version, stored inside it: rollback works even after the old folder is deleted.

Only what the version itself does not hold is stored, and weights as a difference. It has to be asked for
(``--keep-parent``), because it takes disk space.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from retainer.errors import InputError
from retainer.files import require_inside, sha256
from retainer.versions.delta import apply_delta, can_unpack, unpacked_sha256, write_delta
from retainer.versions.lineage import (
    CARD_FILE,
    MAX_RECORD_BYTES,
    PARENT_FOLDER,
    RECORD_FILE,
    Lineage,
    foreign_files,
    has_record,
    version_files,
)
from retainer.versions.own_files import hash_own, holds, parse_json, read_own, walk

STORED_FACTS = "kept.json"
_DELTA_SUFFIX = ".delta"
_FACTS_FILE = f"{PARENT_FOLDER}/{STORED_FACTS}"


@dataclass(frozen=True)
class StoredFacts:
    """What a version records about the parent stored in it."""

    files: Mapping[str, str]
    """SHA-256 of every file of the parent."""
    deltas: Mapping[str, str]
    """SHA-256 of every difference, by the file it stands for."""

    @property
    def bytes(self) -> bytes:
        """The one form it has on disk, so that every byte of it can be compared."""
        facts = {"files": dict(self.files), "deltas": dict(self.deltas)}
        return (json.dumps(facts, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")

    def place(self, folder: Path, name: str) -> str:
        """Return where a file of the parent lies in the folder of the version: stored, or shared with it."""
        if name in self.deltas:
            return f"{PARENT_FOLDER}/{name}{_DELTA_SUFFIX}"
        stored = f"{PARENT_FOLDER}/{name}"
        return stored if holds(folder, stored) else name


def require_storable_parent(place: Path | None, types: Sequence[str]) -> Path:
    """Return the folder of a parent that can be stored, or refuse it; asked before anything is trained."""
    if not types:
        raise InputError("a first version has no previous version, only a bare encoder; leave --keep-parent out")
    if place is None:
        raise InputError("the model was not loaded from a folder, so there is none to store; leave --keep-parent out")
    _hashes(place)
    return place


def _hashes(parent: Path) -> dict[str, str]:
    """Hash the files that make up a parent, and refuse one that is not what its record says."""
    if not has_record(parent):
        return {name: sha256(parent / name) for name in foreign_files(parent)}
    hashes = {name: hash_own(parent, name) if holds(parent, name) else "" for name in all_files(parent)}
    recorded = {**hashes, **Lineage.read(parent).files}
    if changed := [name for name, found in hashes.items() if not found or found != recorded[name]]:
        raise InputError(f"{parent / changed[0]} was changed after it was saved, so {parent} cannot be stored")
    return hashes


def store_parent(parent: Path, folder: Path) -> None:
    """Put what is needed to write ``parent`` again into the folder of the version that was made from it."""
    hashes = _hashes(parent)
    own_files = set(version_files(folder))
    rank = Lineage.read(folder).recipe.get("adapter_rank", 0)
    target = folder / PARENT_FOLDER
    deltas = {}
    for name, known in hashes.items():
        own = folder / name
        shared = name in own_files
        if shared and sha256(own) == known:
            continue  # taken from the version itself
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if shared and name.endswith(".safetensors") and can_unpack((parent / name).stat().st_size, own):
            write_delta(parent / name, own, target / (name + _DELTA_SUFFIX), rank)
            deltas[name] = sha256(target / (name + _DELTA_SUFFIX))
        else:
            shutil.copyfile(parent / name, target / name)
    (target / STORED_FACTS).write_bytes(StoredFacts(hashes, deltas).bytes)


def all_files(folder: Path) -> list[str]:
    """Name all files that make up a version's folder: its own, its record and card, and a parent stored in it."""
    if not has_record(folder):
        return foreign_files(folder)
    beside = [name for name in (RECORD_FILE, CARD_FILE) if holds(folder, name)]
    inner = [name for name in walk(folder)[0] if name.startswith(f"{PARENT_FOLDER}/")]
    own = list(Lineage.read(folder).files) or version_files(folder)
    return [*own, *beside, *inner]


def read_stored_parent(folder: Path) -> StoredFacts | None:
    """Return what a version records about the parent stored in it; None where it stores none."""
    if not holds(folder, _FACTS_FILE):
        return None
    try:
        facts = parse_json(read_own(folder, _FACTS_FILE, MAX_RECORD_BYTES))
        files, deltas = ({**facts[name]} for name in ("files", "deltas"))
        if not all(isinstance(hash_, str) for hash_ in (*files.values(), *deltas.values())):
            raise ValueError("a hash is not a text")
        require_inside([*files, *deltas])
        return StoredFacts(files, deltas)
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{folder / _FACTS_FILE} is damaged, so the parent inside {folder} cannot be used") from None


@dataclass(frozen=True)
class StoredParentCheck:
    """What is wrong with a stored parent."""

    known: frozenset[str] = frozenset()
    """The files that belong there, by their place in the version's folder."""
    changed: tuple[str, ...] = ()
    inconsistent: tuple[str, ...] = ()


def check_stored_parent(folder: Path, lineage: Lineage, whole: Container[str]) -> StoredParentCheck:
    """Compare a stored parent with what is recorded about it, and with the parent in the version's own record.

    ``whole`` names the files of the version that are as they were: only from these a difference can be unpacked.
    """
    inner = frozenset(name for name in walk(folder)[0] if name.startswith(f"{PARENT_FOLDER}/"))
    try:
        facts = read_stored_parent(folder)
    except InputError:
        return StoredParentCheck(inner, (_FACTS_FILE,))
    if facts is None:
        return StoredParentCheck(inner, (), (f"{_FACTS_FILE} is missing",) if inner else ())
    blamed = [_blamed(folder, name, facts, whole) for name in facts.files]
    if read_own(folder, _FACTS_FILE, MAX_RECORD_BYTES) != facts.bytes or not facts.deltas.keys() <= facts.files.keys():
        blamed.append(_FACTS_FILE)
    broken = dict.fromkeys(name for name in blamed if name)
    known = {_FACTS_FILE, *(facts.place(folder, name) for name in facts.files)}
    other = [] if _is_parent(folder, facts, lineage) else [f"{PARENT_FOLDER} is not the version this one was made from"]
    return StoredParentCheck(frozenset(known), tuple(broken), tuple(other))


def _blamed(folder: Path, name: str, facts: StoredFacts, whole: Container[str]) -> str:
    """Return what was changed, if a file of a stored parent is not as it was: that file, or what is recorded of it."""
    place, known = facts.place(folder, name), facts.files[name]
    packed = name in facts.deltas
    try:
        if hash_own(folder, place) != (facts.deltas[name] if packed else known):
            return _FACTS_FILE if place in whole else place
        if packed and name in whole and unpacked_sha256(folder / place, folder / name) != known:
            return _FACTS_FILE
    except (OSError, ValueError):
        return place
    return ""


def _is_parent(folder: Path, facts: StoredFacts, lineage: Lineage) -> bool:
    """Return whether what is stored is the parent that the version's record names."""
    if lineage.parent_files:
        return dict(facts.files) == dict(lineage.parent_files)
    if not lineage.parent_hash:
        return True  # an older retainer wrote down no more
    try:
        return Lineage.read(folder / PARENT_FOLDER).own_hash == lineage.parent_hash
    except InputError:
        return False


def restore_parent(folder: Path, target: Path) -> None:
    """Write the parent stored in a version into an empty folder, and check every byte."""
    facts = read_stored_parent(folder)
    if facts is None:
        raise InputError(f"{folder} stores no parent")
    for name, known in facts.files.items():
        if not _written(folder, name, target, facts) or sha256(target / name) != known:
            raise InputError(
                f"{name} of the parent inside {folder} cannot be written again: a file in {folder} was changed after "
                f"it was saved (see: retainer verify {folder})"
            )


def _written(folder: Path, name: str, target: Path, facts: StoredFacts) -> bool:
    """Write one file of a stored parent, and return whether that was possible."""
    place = facts.place(folder, name)
    packed = name in facts.deltas
    if not holds(folder, place) or (packed and not holds(folder, name)):
        return False
    try:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if packed:
            apply_delta(folder / place, folder / name, target / name)
        else:
            shutil.copyfile(folder / place, target / name)
    except (OSError, ValueError):
        return False
    return True
