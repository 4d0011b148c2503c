"""A folder with the parts of a corpus: train, dev and test, by whatever names people give them."""

from __future__ import annotations

from pathlib import Path

from retainer.errors import InputError

NAMES = {"train": ("train",), "dev": ("dev", "valid", "validation", "testa"), "test": ("test", "testb")}
"""What people call the parts of a corpus."""


def part_files(folder: Path) -> dict[str, Path]:
    """Find the files of the parts; only train must be there."""
    found = {name: _part(folder, names) for name, names in NAMES.items()}
    if found["train"] is None:
        raise InputError(f"{folder} has no file named train.*; name the file itself, or rename it")
    return {name: path for name, path in found.items() if path is not None}


def _part(folder: Path, names: tuple[str, ...]) -> Path | None:
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.stem in names]
    if len(files) > 1:
        raise InputError(f"{folder} has both {files[0].name} and {files[1].name}; leave one of them")
    return files[0] if files else None
