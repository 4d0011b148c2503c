"""Going back: the version before a version, or one further back, is written again, bit for bit.

Nothing is kept for it unless somebody asked: versions usually lie side by side, and there the one that is wanted is
found by its hash, whatever its folder is called. Otherwise it comes out of a version that keeps its parent inside.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from retainer.errors import InputError
from retainer.files import new_folder, require_room, sha256, size_of
from retainer.versions.history import short, versions_of
from retainer.versions.lineage import FILE, PARENT, Lineage
from retainer.versions.stored_parent import KEPT, kept, restore, whole
from retainer.versions.verify import inspect

SHORTEST = 4
"""Digits of a hash that are enough to say which version is meant, if only one begins so."""


class Unfit(InputError):
    """A place that has the version, but not as it was saved; another one may."""


@dataclass(frozen=True)
class Wanted:
    """What is known about the version to go back to: of one of ours its record, of a foreign one its files."""

    lineage: Lineage
    files: dict[str, str]
    name: str
    """What its folder was called."""

    @property
    def title(self) -> str:
        """How to call it in a sentence."""
        mark = short(self.lineage.own_hash or self.lineage.weights)
        return " ".join(part for part in (self.name, f"({mark})" if mark else "") if part) or "the version before"

    def lies_in(self, folder: Path) -> bool:
        """Say whether a folder claims to be it; whether it still is, is another question."""
        if (folder / KEPT).is_file():
            return False  # a kept parent is no whole folder
        if self.files:
            return not (folder / FILE).is_file() and all((folder / name).is_file() for name in self.files)
        return self._is(folder)

    def kept_in(self, folder: Path) -> bool:
        """Say whether a folder keeps it as a parent."""
        if not self.files:
            return self._is(folder / PARENT)
        try:
            return (kept(folder) or {}).get("files") == self.files
        except InputError:
            return False

    def _is(self, folder: Path) -> bool:
        if not (folder / FILE).is_file():
            return False
        try:
            found = Lineage.read(folder)
        except InputError:
            return False
        if self.lineage.own_hash:
            return found.own_hash == self.lineage.own_hash
        return bool(found.weights) and found.weights == self.lineage.weights

    def faults(self, folder: Path) -> list[str]:
        """Say what is wrong with a folder that claims to be it."""
        if not self.files:
            return inspect(folder).sentences
        return [f"{name} was changed" for name, known in self.files.items() if sha256(folder / name) != known]


def wanted(folder: Path, steps: int | None, to: str | None) -> Wanted:
    """Find out which version is meant: so many steps back, or the one whose hash begins like this."""
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
        raise InputError(f"the chain of {folder} has {len(chain)} links, so nobody can go back {steps} steps")
    return _beginning(chain[0], folder)


def _saved(chain: list[Lineage], at: int) -> Wanted:
    if not chain[at].weights:
        raise InputError("that version was never saved: the next one was learned from it in memory")
    return Wanted(chain[at], {}, chain[at + 1].parent_name)


def _beginning(first: Lineage, folder: Path) -> Wanted:
    """Return what the first version of a chain was made from, if that can be found again."""
    if first.parent_files:
        return Wanted(Lineage(), dict(first.parent_files), first.parent_name)
    if len(first.tasks) == 1 and not first.change:
        raise InputError(f"{folder} goes back to the bare encoder {first.encoder}; there is no version before that")
    if first.parent_name:
        raise InputError(f"{folder} goes back to {first.parent_name} on the hub; load that from there")
    return Wanted(Lineage(weights=first.parent), {}, "")  # a record from before names were written down


def require_record(folder: Path) -> Lineage:
    """Return the record of a version's folder, or say that there is none."""
    if not (folder / FILE).is_file():
        what = "no folder" if not folder.is_dir() else f"a folder without {FILE}"
        raise InputError(f"{folder} is {what}, so nobody knows where it comes from; versions retainer wrote have one")
    return Lineage.read(folder)


def _named(chain: list[Lineage], to: str, folder: Path) -> Wanted:
    if len(to) < SHORTEST:
        raise InputError(f"--to {to} is too short; give at least {SHORTEST} digits of a hash (see: retainer log)")
    found = [at for at, one in enumerate(chain[:-1]) if one.own_hash.startswith(to) or one.weights.startswith(to)]
    if len(found) != 1:
        known = ", ".join(short(one.own_hash) for one in reversed(chain[:-1])) or "none"
        how = "several versions" if found else "no version"
        raise InputError(f"{how} before {folder} begin with {to}; those before it are {known}")
    return _saved(chain, found[0])


def roll_back(folder: Path, one: Wanted, out: Path, look: Path | None = None) -> tuple[Path, int]:
    """Write a version of the chain again; return the folder it came from, and how many bytes it takes."""
    if look is not None and not look.is_dir():
        raise InputError(f"--from {look} is no folder")
    places = list(dict.fromkeys(_places(folder, look)))
    faults = []
    for place, depth in _sources(one, places):
        try:
            return place, _unpacked(place, depth, one, out) if depth else _copied(place, one, out)
        except Unfit as error:
            faults.append(str(error))
    if faults:
        raise InputError(f"{faults[0]}; restore that file, or say where another copy lies (--from FOLDER)")
    raise InputError(
        f"{one.title} is neither beside {folder} nor kept inside it; say where it lies (--from FOLDER), and next time "
        f"learn with --keep-parent if the old folder may vanish"
    )


def _sources(one: Wanted, places: list[Path]) -> Iterator[tuple[Path, int]]:
    """Find where a version can be had: first as it is (0), then so many parents deep inside another."""
    yield from ((place, 0) for place in places if one.lies_in(place))
    for place in places:
        yield from ((place, depth) for depth, keeper in enumerate(_keepers(place), 1) if one.kept_in(keeper))


def beside(folder: Path) -> dict[str, Path]:
    """Return the versions that lie beside one, by their hashes."""
    found: dict[str, Path] = {}
    for place in _places(folder, None):
        with contextlib.suppress(InputError):
            if (place / FILE).is_file():
                found.setdefault(Lineage.read(place).own_hash, place)
    return found


def _places(folder: Path, look: Path | None) -> Iterator[Path]:
    """Name the folders a version may lie in: the one we start from, where the user says, and those beside."""
    yield folder
    above = folder.parent if folder.name not in ("", "..") else folder.resolve().parent
    for parent in [*([look] if look else []), above, *([folder.resolve().parent] if folder.is_symlink() else [])]:
        yield parent
        if parent.is_dir():
            yield from sorted(path for path in parent.iterdir() if path.is_dir() and not path.name.startswith("."))


def _keepers(folder: Path) -> Iterator[Path]:
    """Name a folder, the parent it keeps, the parent that one keeps, and so on."""
    while (folder / PARENT / KEPT).is_file():
        yield folder
        folder = folder / PARENT


def _copied(place: Path, one: Wanted, out: Path) -> int:
    if bad := one.faults(place):
        raise Unfit(f"{place} is {one.title}, but {bad[0]} after it was saved")
    names = list(one.files) or whole(place)
    size = sum((place / name).stat().st_size for name in names)
    require_room(out, size)
    with new_folder(out) as scratch:
        for name in names:
            (scratch / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(place / name, scratch / name)
        _require_whole(scratch, one)
    return size


def _unpacked(place: Path, depth: int, one: Wanted, out: Path) -> int:
    """Unpack the parent of a version, or the parent of its parent, and so on; each needs the one after it."""
    require_room(out, size_of(place))
    with new_folder(out) as scratch, tempfile.TemporaryDirectory(dir=scratch.parent, prefix=".") as above:
        for level in range(1, depth + 1):
            target = scratch if level == depth else Path(above) / str(level)
            target.mkdir(exist_ok=True)
            try:
                restore(place, target)
            except InputError as error:
                raise Unfit(str(error)) from None
            place = target
        _require_whole(scratch, one)
        return size_of(scratch)


def _require_whole(folder: Path, one: Wanted) -> None:
    """Look at what was written before it gets its name: it must be the very version that was wanted."""
    bad = one.faults(folder) if one.lies_in(folder) else ["it is another version"]
    if bad:
        raise Unfit(f"{one.title} could not be written again: {bad[0]}")
