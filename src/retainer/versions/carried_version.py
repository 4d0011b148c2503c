"""A version carried inside something else, such as a saved pipeline of another tool: as a folder, or as bytes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from retainer.errors import InputError
from retainer.files import require_inside, scratch_folder
from retainer.versions.lineage import CARD_FILE, RECORD_FILE, has_record, version_files

if TYPE_CHECKING:
    from retainer.versions.version import Version

_MOST_BYTES = 2**32 - 1
"""The largest file that bytes in msgpack can hold."""
_ONNX = "model.onnx"


def require_version(folder: Path) -> Path:
    """Refuse a place where a version should be and is not."""
    if not (folder / "config.json").is_file():
        raise InputError(
            f"{folder} holds no version: it was lost, or what it lies in was not saved whole; save the pipeline again"
        )
    return folder


def store_version(version: Version, target: Path, source: str | Path) -> None:
    """Put a version into a folder, in place of another if need be: its files as they are, where it has files.

    A foreign checkpoint is written as a plain Hugging Face folder, and an ONNX export (``source``) is copied.
    """
    place = version.place or (Path(source) if (Path(source) / _ONNX).is_file() else None)
    if place is not None and target.is_dir() and place.samefile(target):
        return
    with scratch_folder(target) as scratch:
        _write(version, place, scratch / "new")
        if os.path.lexists(target):
            os.rename(target, scratch / "old")
        os.rename(scratch / "new", target)


def _write(version: Version, place: Path | None, folder: Path) -> None:
    from retainer.versions.version import Version

    if place is None or not (has_record(place) or (place / _ONNX).is_file()):
        if version.lineage.created:
            Version(version.tagger, version.lineage, version.generators).save(folder)
        else:
            version.export_plain(folder)
        return
    version.require_unchanged()
    for name in [*version_files(place), RECORD_FILE, CARD_FILE]:
        if (place / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(place / name, folder / name)


def pack_version(folder: Path) -> bytes:
    """Return the files of a folder in one piece."""
    import srsly

    files = {file.relative_to(folder).as_posix(): file for file in sorted(folder.rglob("*")) if file.is_file()}
    if large := [name for name, file in files.items() if file.stat().st_size > _MOST_BYTES]:
        raise InputError(f"{large[0]} is too large to be carried as bytes; save the pipeline to the disk (to_disk)")
    return bytes(srsly.msgpack_dumps({name: file.read_bytes() for name, file in files.items()}))


def unpack_version(data: bytes, folder: Path) -> None:
    """Write the files that were packed into a new folder; names that lead out of it are refused."""
    import srsly

    try:
        files = srsly.msgpack_loads(data)
    except Exception as error:  # broken bytes raise errors of many kinds
        raise InputError(f"these bytes hold no version ({type(error).__name__}); pack the pipeline again") from error
    if not isinstance(files, dict) or not all(
        isinstance(name, str) and isinstance(content, bytes) for name, content in files.items()
    ):
        raise InputError("these bytes hold no version; pack the pipeline again (to_bytes)")
    require_inside(files)
    try:
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    except OSError as error:
        raise InputError(f"the version in these bytes cannot be unpacked ({error.strerror}); pack it again") from error
