"""The version before a version, kept inside it: whoever deletes the old folder can still go back.

Only what the version itself does not hold is stored, and weights as a difference. It is asked for (``--keep-parent``),
because it takes room on the disk.
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
from retainer.versions.lineage import CARD, FILE, PARENT, Lineage, contents, foreign_files

KEPT = "kept.json"
DELTA = ".delta"


def require_keepable(place: Path | None, types: Sequence[str]) -> Path:
    """Return the folder of a parent that can be kept, or say why there is none; asked before anything is trained."""
    if not types:
        raise InputError("a first version has no version before it, only a bare encoder; leave --keep-parent out")
    if place is None:
        raise InputError("the model was not loaded from a folder, so there is none to keep; leave --keep-parent out")
    _hashes(place)
    return place


def _hashes(parent: Path) -> dict[str, str]:
    """Hash the files that make up a parent, and refuse one that is not what its record says."""
    hashes = {name: sha256(parent / name) if (parent / name).is_file() else "" for name in whole(parent)}
    recorded = {**hashes, **Lineage.read(parent).files}
    if changed := [name for name, found in hashes.items() if not found or found != recorded[name]]:
        raise InputError(f"{parent / changed[0]} was changed after it was saved, so {parent} cannot be kept")
    return hashes


def keep(parent: Path, folder: Path) -> None:
    """Put what writes ``parent`` again into the folder of the version that was made from it."""
    hashes = _hashes(parent)
    ours = set(contents(folder))
    target = folder / PARENT
    deltas = {}
    for name, known in hashes.items():
        own = folder / name
        shared = name in ours
        if shared and sha256(own) == known:
            continue  # taken from the version itself
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if shared and name.endswith(".safetensors"):
            write_delta(parent / name, own, target / (name + DELTA))
            deltas[name] = sha256(target / (name + DELTA))
        else:
            shutil.copyfile(parent / name, target / name)
    facts = {"files": hashes, "deltas": deltas}
    (target / KEPT).write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def whole(folder: Path) -> list[str]:
    """Name all files that make up a version's folder: its own, its record and card, and what it keeps itself."""
    if not (folder / FILE).is_file():
        return foreign_files(folder)
    beside = [name for name in (FILE, CARD) if (folder / name).is_file()]
    inner = [path for path in sorted((folder / PARENT).rglob("*")) if path.is_file()]
    own = list(Lineage.read(folder).files) or contents(folder)
    return [*own, *beside, *(path.relative_to(folder).as_posix() for path in inner)]


def kept(folder: Path) -> dict[str, Any] | None:
    """Return what a version says about the parent inside it; None where it keeps none."""
    file = folder / PARENT / KEPT
    if not file.is_file():
        return None
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
        require_inside(facts["files"])
        return {name: dict(facts[name]) for name in ("files", "deltas")}
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{file} is damaged, so the parent inside {folder} cannot be used") from None


def damaged(folder: Path) -> list[str]:
    """Name the files of a kept parent that are not what was put there."""
    facts = kept(folder)
    if facts is None:
        return []
    broken = []
    for name, known in facts["files"].items():
        packed = name in facts["deltas"]
        stored = folder / PARENT / (name + DELTA if packed else name)
        place = stored if packed or stored.is_file() else folder / name
        if not place.is_file() or sha256(place) != (facts["deltas"][name] if packed else known):
            broken.append(place.relative_to(folder).as_posix())
    return broken


def restore(folder: Path, target: Path) -> None:
    """Write the parent kept inside a version into an empty folder, and check every byte."""
    facts = kept(folder)
    if facts is None:
        raise InputError(f"{folder} keeps no parent inside")
    for name, known in facts["files"].items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if not _written(folder, name, target, name in facts["deltas"]) or sha256(target / name) != known:
            raise InputError(
                f"{name} of the parent inside {folder} cannot be written again: a file in {folder} was changed after "
                f"it was saved (see: retainer verify {folder})"
            )


def _written(folder: Path, name: str, target: Path, packed: bool) -> bool:
    """Write one file of a kept parent, and say whether that was possible."""
    stored = folder / PARENT / name
    try:
        if packed:
            apply_delta(stored.with_name(stored.name + DELTA), folder / name, target / name)
        else:
            shutil.copyfile(stored if stored.is_file() else folder / name, target / name)
    except (OSError, ValueError, KeyError, TypeError, zlib.error, SafetensorError):
        return False
    return True
