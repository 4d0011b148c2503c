"""Where versions are loaded from, what they are called, and whether their files have changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from retainer.errors import InputError

FolderState = tuple[object, ...]
"""Compares unequal once a file of a folder is replaced or rewritten."""


def paths_by_name(specs: Sequence[str]) -> dict[str, str]:
    """Return the path of each version by its name: NAME=PATH, or the last part of the path."""
    paths: dict[str, str] = {}
    for spec in specs:
        name, equals, path = spec.partition("=")
        if not equals or Path(spec).exists():
            name, path = Path(spec).name or Path(spec).resolve().name, spec
        if not name.strip() or not path:
            raise InputError(f"{spec!r}: expected a version, or NAME=VERSION")
        if name in paths:
            raise InputError(
                f"two versions would be called {name!r}; give them names of your own: old={paths[name]} new={path}"
            )
        paths[name] = path
    return paths


def public_path(path: str) -> str:
    """Return what a client may know of a path: all of it, unless it says where on the machine the version lies."""
    given = Path(path)
    if given.is_absolute() or given.parts[:1] in ((), ("~",)) or ".." in given.parts:
        return given.name if given.name not in ("", "..", "~") else given.resolve().name
    return path


def folder_state(path: str) -> FolderState:
    """Return the names, sizes and times of a version's files; cheap to poll, because no file is opened."""
    folder = Path(path)
    try:
        files = sorted(file for file in folder.iterdir() if not file.name.startswith("."))
        stats = [(file.name, file.stat().st_ino, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
        return (str(folder.resolve()), *stats)
    except OSError:
        return ()
