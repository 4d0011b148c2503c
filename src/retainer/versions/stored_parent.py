"""The parent of a version, stored inside it: rollback works even after the old folder is deleted.

Only what the version itself does not hold is stored, and weights as a difference. It has to be asked for
(``--keep-parent``), because it takes disk space.
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from retainer.errors import InputError
from retainer.files import require_inside, sha256
from retainer.versions.delta import apply_delta, write_delta
from retainer.versions.lineage import CARD_FILE, PARENT_FOLDER, RECORD_FILE, Lineage, foreign_files, version_files

STORED_FACTS = "kept.json"
_DELTA_SUFFIX = ".delta"


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
    hashes = {name: sha256(parent / name) if (parent / name).is_file() else "" for name in all_files(parent)}
    recorded = {**hashes, **Lineage.read(parent).files}
    if changed := [name for name, found in hashes.items() if not found or found != recorded[name]]:
        raise InputError(f"{parent / changed[0]} was changed after it was saved, so {parent} cannot be stored")
    return hashes


def store_parent(parent: Path, folder: Path) -> None:
    """Put what is needed to write ``parent`` again into the folder of the version that was made from it."""
    hashes = _hashes(parent)
    own_files = set(version_files(folder))
    target = folder / PARENT_FOLDER
    deltas = {}
    for name, known in hashes.items():
        own = folder / name
        shared = name in own_files
        if shared and sha256(own) == known:
            continue  # taken from the version itself
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if shared and name.endswith(".safetensors"):
            write_delta(parent / name, own, target / (name + _DELTA_SUFFIX))
            deltas[name] = sha256(target / (name + _DELTA_SUFFIX))
        else:
            shutil.copyfile(parent / name, target / name)
    facts = {"files": hashes, "deltas": deltas}
    (target / STORED_FACTS).write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def all_files(folder: Path) -> list[str]:
    """Name all files that make up a version's folder: its own, its record and card, and a parent stored in it."""
    if not (folder / RECORD_FILE).is_file():
        return foreign_files(folder)
    beside = [name for name in (RECORD_FILE, CARD_FILE) if (folder / name).is_file()]
    inner = [path for path in sorted((folder / PARENT_FOLDER).rglob("*")) if path.is_file()]
    own = list(Lineage.read(folder).files) or version_files(folder)
    return [*own, *beside, *(path.relative_to(folder).as_posix() for path in inner)]


def read_stored_parent(folder: Path) -> dict[str, Any] | None:
    """Return what a version records about the parent stored in it; None where it stores none."""
    file = folder / PARENT_FOLDER / STORED_FACTS
    if not file.is_file():
        return None
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
        require_inside(facts["files"])
        return {name: dict(facts[name]) for name in ("files", "deltas")}
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{file} is damaged, so the parent inside {folder} cannot be used") from None


def damaged_files(folder: Path) -> list[str]:
    """Name the files of a stored parent that were changed."""
    facts = read_stored_parent(folder)
    if facts is None:
        return []
    broken = []
    for name, known in facts["files"].items():
        packed = name in facts["deltas"]
        stored = folder / PARENT_FOLDER / (name + _DELTA_SUFFIX if packed else name)
        place = stored if packed or stored.is_file() else folder / name
        if not place.is_file() or sha256(place) != (facts["deltas"][name] if packed else known):
            broken.append(place.relative_to(folder).as_posix())
    return broken


def restore_parent(folder: Path, target: Path) -> None:
    """Write the parent stored in a version into an empty folder, and check every byte."""
    facts = read_stored_parent(folder)
    if facts is None:
        raise InputError(f"{folder} stores no parent")
    for name, known in facts["files"].items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if not _written(folder, name, target, name in facts["deltas"]) or sha256(target / name) != known:
            raise InputError(
                f"{name} of the parent inside {folder} cannot be written again: a file in {folder} was changed after "
                f"it was saved (see: retainer verify {folder})"
            )


def _written(folder: Path, name: str, target: Path, packed: bool) -> bool:
    """Write one file of a stored parent, and return whether that was possible."""
    stored = folder / PARENT_FOLDER / name
    try:
        if packed:
            apply_delta(stored.with_name(stored.name + _DELTA_SUFFIX), folder / name, target / name)
        else:
            shutil.copyfile(stored if stored.is_file() else folder / name, target / name)
    except (OSError, ValueError, KeyError, TypeError, zlib.error, SafetensorError):
        return False
    return True
