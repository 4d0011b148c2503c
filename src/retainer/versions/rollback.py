"""Going back: a version's previous version, or an earlier one, is written again, bit for bit.

Nothing is stored for it unless --keep-parent asked for that: versions usually lie side by side, and the one that is
wanted is found there by its hash, whatever its folder is called. Otherwise it comes out of a version that stores its
parent.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from retainer.errors import InputError
from retainer.files import new_folder, require_finished, require_room, scratch_folder, sha256, size_of
from retainer.versions.history import short_hash, versions_of
from retainer.versions.lineage import PARENT_FOLDER, RECORD_FILE, Lineage, has_record
from retainer.versions.own_files import holds
from retainer.versions.stored_parent import STORED_FACTS, all_files, read_stored_parent, restore_parent
from retainer.versions.verify import compare_with_record

_SHORTEST_PREFIX = 4
"""Digits of a hash that are enough to name a version, if only one begins so."""


class UnusableCopy(InputError):
    """A folder that has the version, but not as it was saved; another folder may."""


@dataclass(frozen=True)
class RollbackTarget:
    """The version to go back to: one of ours is known by its record, a foreign one by its files."""

    lineage: Lineage
    files: dict[str, str]
    name: str
    """What its folder was called."""

    @property
    def title(self) -> str:
        """Its name in a sentence."""
        mark = short_hash(self.lineage.own_hash or self.lineage.weights)
        return " ".join(part for part in (self.name, f"({mark})" if mark else "") if part) or "the previous version"

    def lies_in(self, folder: Path) -> bool:
        """Return whether a folder claims to be it; ``faults`` checks whether it still is."""
        if holds(folder, STORED_FACTS):
            return False  # a stored parent is not a whole folder
        if self.files:
            return not has_record(folder) and all(os.path.isfile(folder / name) for name in self.files)
        return self._is(folder)

    def stored_in(self, folder: Path) -> bool:
        """Return whether a folder stores it as its parent."""
        if not self.files:
            return self._is(folder / PARENT_FOLDER)
        try:
            facts = read_stored_parent(folder)
        except InputError:
            return False
        return facts is not None and dict(facts.files) == self.files

    def _is(self, folder: Path) -> bool:
        if not has_record(folder):
            return False
        try:
            found = Lineage.read(folder)
        except InputError:
            return False
        if self.lineage.own_hash:
            return found.own_hash == self.lineage.own_hash
        return bool(found.weights) and found.weights == self.lineage.weights

    def faults(self, folder: Path) -> list[str]:
        """Return what is wrong with a folder that claims to be it."""
        if not self.files:
            return compare_with_record(folder).sentences
        return [f"{name} was changed" for name, known in self.files.items() if _hash(folder / name) != known]


def _hash(file: Path) -> str:
    """Return the SHA-256 of a file of a foreign checkpoint, which may be a link; of none, where it cannot be read."""
    try:
        return sha256(file)
    except OSError:
        return ""


def rollback_target(folder: Path, steps: int | None, to: str | None) -> RollbackTarget:
    """Return the version that is meant: so many steps back, or the one whose hash begins like this."""
    if steps is not None and to is not None:
        raise InputError("--steps and --to both say which version is meant; give one of them")
    chain = versions_of(require_record(folder))
    if to is not None:
        return _named(chain, to, folder)
    steps = 1 if steps is None else steps
    if steps < 1:
        raise InputError(f"--steps must be at least 1, not {steps}")
    if steps < len(chain):
        return _saved(chain, len(chain) - 1 - steps)
    if steps > len(chain):
        raise InputError(f"{folder} goes back {len(chain)} steps at most; --steps {steps} is too many")
    return _beginning(chain[0], folder)


def _saved(chain: list[Lineage], at: int) -> RollbackTarget:
    if not chain[at].weights:
        raise InputError("that version was never saved: the next one was learned from it in memory")
    return RollbackTarget(chain[at], {}, chain[at + 1].parent_name)


def _beginning(first: Lineage, folder: Path) -> RollbackTarget:
    """Return what the first version of a chain was made from, if that can be found again."""
    if first.parent_files:
        return RollbackTarget(Lineage(), dict(first.parent_files), first.parent_name)
    if len(first.tasks) == 1 and not first.change:
        raise InputError(f"{folder} goes back to the bare encoder {first.encoder}; there is no version before that")
    if first.parent_name:
        raise InputError(f"{folder} goes back to {first.parent_name} on the hub; load that from there")
    return RollbackTarget(Lineage(weights=first.parent), {}, "")  # a record written before records held names


def require_record(folder: Path) -> Lineage:
    """Return the record of a version's folder, or refuse a folder without one."""
    require_finished(folder)
    if not has_record(folder):
        what = f"has no {RECORD_FILE}" if folder.is_dir() else "is not a folder"
        raise InputError(f"{folder} {what}, so its history is not known; name a version that retainer wrote")
    return Lineage.read(folder)


def _named(chain: list[Lineage], to: str, folder: Path) -> RollbackTarget:
    if len(to) < _SHORTEST_PREFIX:
        raise InputError(
            f"--to {to} is too short; give at least {_SHORTEST_PREFIX} digits of a hash (see: retainer log)"
        )
    found = [at for at, one in enumerate(chain[:-1]) if one.own_hash.startswith(to) or one.weights.startswith(to)]
    if len(found) != 1:
        known = ", ".join(short_hash(one.own_hash) for one in reversed(chain[:-1])) or "none"
        how = "several versions" if found else "no version"
        raise InputError(f"{how} before {folder} begin with {to}; those before it are {known}")
    return _saved(chain, found[0])


def roll_back(folder: Path, target: RollbackTarget, out: Path, look: Path | None = None) -> tuple[Path, int]:
    """Write a version of the chain again; return the folder it came from, and how many bytes it takes."""
    if look is not None and not look.is_dir():
        raise InputError(f"--from {look} is not a folder")
    places = list(dict.fromkeys(_places(folder, look)))
    faults = []
    for place, depth in _sources(target, places):
        try:
            return place, _unpacked(place, depth, target, out) if depth else _copied(place, target, out)
        except UnusableCopy as error:
            faults.append(str(error))
    if faults:
        raise InputError(f"{faults[0]}; restore that file, or say where another copy lies (--from FOLDER)")
    raise InputError(
        f"{target.title} is neither beside {folder} nor stored inside it; say where it lies (--from FOLDER), and next "
        f"time learn with --keep-parent if the old folder may vanish"
    )


def _sources(target: RollbackTarget, places: list[Path]) -> Iterator[tuple[Path, int]]:
    """Find folders that have a version: first as it is (depth 0), then so many parents deep inside another."""
    yield from ((place, 0) for place in places if target.lies_in(place))
    for place in places:
        yield from ((place, depth) for depth, holder in enumerate(_storing(place), 1) if target.stored_in(holder))


def versions_beside(folder: Path) -> dict[str, Path]:
    """Return the versions that lie beside one, by their hashes; of several copies, the one with the recorded name."""
    found: dict[str, Path] = {}
    names = _recorded_names(folder)
    for place in _places(folder, None):
        with contextlib.suppress(InputError):
            if has_record(place):
                hash_ = Lineage.read_hash(place)
                if hash_ not in found or found[hash_].name != names.get(hash_) == place.name:
                    found[hash_] = place
    return found


def _recorded_names(folder: Path) -> dict[str, str]:
    """Return what the folders of the earlier versions were called, by hash: each record names that of its parent."""
    with contextlib.suppress(InputError):
        chain = versions_of(Lineage.read(folder))
        return {before.own_hash: after.parent_name for before, after in pairwise(chain)}
    return {}


def _places(folder: Path, look: Path | None) -> Iterator[Path]:
    """Name the folders a version may lie in: the one given, where --from says, and those beside both."""
    yield folder
    above = folder.parent if folder.name not in ("", "..") else folder.resolve().parent
    for parent in [*([look] if look else []), above, *([folder.resolve().parent] if folder.is_symlink() else [])]:
        yield parent
        yield from _folders_in(parent)


def _folders_in(parent: Path) -> list[Path]:
    """Name the folders in a folder; hidden ones and what cannot be entered are none of ours."""
    try:
        return sorted(path for path in parent.iterdir() if not path.name.startswith(".") and os.path.isdir(path))
    except OSError:
        return []


def _storing(folder: Path) -> Iterator[Path]:
    """Name a folder, the parent it stores, the parent that one stores, and so on."""
    while holds(folder, f"{PARENT_FOLDER}/{STORED_FACTS}"):
        yield folder
        folder = folder / PARENT_FOLDER


def _copied(place: Path, target: RollbackTarget, out: Path) -> int:
    if bad := target.faults(place):
        raise UnusableCopy(f"{place} is {target.title}, but not as it was saved: {bad[0]}")
    names = list(target.files) or all_files(place)
    size = sum((place / name).stat().st_size for name in names)
    require_room(out, size)
    with new_folder(out) as scratch:
        for name in names:
            (scratch / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(place / name, scratch / name)
        _require_whole(scratch, target)
    return size


def _unpacked(place: Path, depth: int, target: RollbackTarget, out: Path) -> int:
    """Unpack the parent of a version, or the parent of its parent, and so on; each needs its successor."""
    require_room(out, size_of(place))
    with new_folder(out) as scratch, scratch_folder(out) as above:
        for level in range(1, depth + 1):
            folder = scratch if level == depth else above / str(level)
            folder.mkdir(exist_ok=True)
            try:
                restore_parent(place, folder)
            except InputError as error:
                raise UnusableCopy(str(error)) from None
            place = folder
        _require_whole(scratch, target)
        return size_of(scratch)


def _require_whole(folder: Path, target: RollbackTarget) -> None:
    """Check what was written before it gets its name: it must be the very version that was wanted."""
    bad = target.faults(folder) if target.lies_in(folder) else ["it is another version"]
    if bad:
        raise UnusableCopy(f"{target.title} could not be written again: {bad[0]}")
