"""The files of a version's folder at one moment: two of them tell whether what was read in between is one version."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from retainer.errors import InputError
from retainer.versions.lineage import MAX_RECORD_BYTES, RECORD_FILE, version_files
from retainer.versions.own_files import read_own

_Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Snapshot:
    """The record of a folder, byte for byte, and which files lie beside it: inode, size and time of each."""

    folder: Path
    record: bytes
    stamps: dict[str, _Stamp]

    def require_unchanged(self) -> None:
        """Refuse a folder in which anything was replaced or rewritten since."""
        try:
            same = take_snapshot(self.folder) == self
        except InputError:
            same = False
        if not same:
            raise InputError(f"{self.folder} was changed while it was loaded; try again once it is written")


def take_snapshot(folder: Path) -> Snapshot:
    """Look at a folder; no file but the record is opened."""
    record = read_own(folder, RECORD_FILE, MAX_RECORD_BYTES)
    try:
        return Snapshot(folder, record, {name: _stamp(folder / name) for name in version_files(folder)})
    except OSError as error:
        raise InputError(f"{folder} cannot be read ({error.strerror})") from None


def _stamp(file: Path) -> _Stamp:
    found = file.lstat()
    return found.st_ino, found.st_size, found.st_mtime_ns
