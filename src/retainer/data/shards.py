"""Which split of a corpus a file belongs to, by its name, and the files of a split that was saved in pieces."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

from retainer.errors import InputError, shortened
from retainer.files import require_inside

SPLIT_NAMES = {
    "train": ("train",),
    "dev": ("dev", "development", "valid", "validation", "testa"),
    "test": ("test", "testb"),
}
"""The names in use for the splits of a corpus."""

_SPLIT_OF_NAME = {name: split for split, names in SPLIT_NAMES.items() for name in names}
_STATE = "state.json"
"""What `datasets` writes beside the files of a saved split: which they are, in their order."""


def split_of(file: Path, folder: Path) -> str | None:
    """Return the name of the split a file below a folder belongs to, as the file or a folder around it spells it."""
    *folders, name = file.relative_to(folder).parts
    words = (re.split(r"[-_.]", name.lower())[0], *(part.lower() for part in reversed(folders)))
    return next((word for word in words if word in _SPLIT_OF_NAME), None)


def files_by_split(files: Iterable[Path], folder: Path) -> dict[str, list[Path]]:
    """Sort files below a folder into train, dev and test; what belongs to none is left out."""
    found: dict[str, list[Path]] = {}
    for file in files:
        if name := split_of(file, folder):
            found.setdefault(_SPLIT_OF_NAME[name], []).append(file)
    return found


def require_one_split(files: Iterable[Path], folder: Path) -> None:
    """Refuse to join splits: a model would learn from what it is measured on."""
    names = sorted({name for file in files if (name := split_of(file, folder))})
    if len(names) > 1:
        raise InputError(f"{folder} holds the splits {', '.join(names)}; name one of them, such as {folder / names[0]}")


def saved_files(files: list[Path]) -> list[Path]:
    """Leave out what a saved split does not list: files that an earlier save to the same folder left behind."""
    folders = dict.fromkeys(file.parent for file in files)
    return [file for folder in folders for file in _listed(folder, [one for one in files if one.parent == folder])]


def _listed(folder: Path, files: list[Path]) -> list[Path]:
    state = folder / _STATE
    if not state.is_file():
        return files
    try:
        said = json.loads(state.read_text(encoding="utf-8"))
        names = [str(one["filename"]) for one in said["_data_files"]]
        moved = said.get("_indices_data_files")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{state}: this is not what `datasets` writes; save the dataset again") from error
    require_inside(names)
    if moved:
        raise InputError(f"{folder}: its rows were chosen after it was made; call flatten_indices() and save it again")
    if missing := [name for name in names if not os.path.isfile(folder / name)]:
        raise InputError(f"{folder}: {shortened(missing[0])} is missing; save the dataset again")
    return [folder / name for name in names]
