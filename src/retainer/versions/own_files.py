"""The files a folder holds itself: a folder may come from a stranger, and nothing outside it is read through it."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from retainer.errors import InputError
from retainer.files import in_words, sha256

_BLOCK = 1 << 14
"""Bytes read at once where a mark is looked for."""
_KINDS = {
    stat.S_IFLNK: "is a link",
    stat.S_IFDIR: "is a folder",
    stat.S_IFIFO: "is a pipe",
    stat.S_IFSOCK: "is a socket",
    stat.S_IFCHR: "is a device",
    stat.S_IFBLK: "is a device",
}


def oddity(folder: Path, name: str) -> str:
    """Say why a folder has no plain file of its own by this name; empty if it has one.

    A link anywhere on the way leads out of the folder, and opening a pipe would wait for ever.
    """
    path, what = folder, "is a folder"
    for part in PurePosixPath(name).parts:
        if what != "is a folder":
            return what or "is missing"
        path = path / part
        try:
            what = _kind(os.lstat(path).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return "is missing"
        except OSError as error:
            return f"cannot be read ({error.strerror})"
    return what


def _kind(mode: int) -> str:
    return "" if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "is not a plain file")


def holds(folder: Path, name: str) -> bool:
    """Return whether a folder has a plain file of its own by this name."""
    return not oddity(folder, name)


def read_own(folder: Path, name: str, limit: int) -> bytes:
    """Read a file of a folder, but nothing that a link leads to, no pipe, and no more than ``limit`` bytes."""
    with _opened(folder, name) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise InputError(f"{folder / name} has more than {in_words(limit)}, too much for what it should be")
    return data


def read_head(folder: Path, name: str, mark: bytes, limit: int) -> bytes:
    """Read what a file of a folder has before a mark, with the same care; all of it where there is no mark."""
    data, seen = bytearray(), 0
    with _opened(folder, name) as file:
        while len(data) <= limit and (block := file.read(_BLOCK)):
            data += block
            if (at := data.find(mark, seen)) >= 0:
                return bytes(data[:at])
            seen = max(0, len(data) - len(mark))
    return bytes(data)


@contextlib.contextmanager
def _opened(folder: Path, name: str) -> Iterator[BinaryIO]:
    if what := oddity(folder, name):
        hint = ", and nothing outside a version is read; copy the folder without links (cp -rL)"
        raise InputError(f"{folder / name} {what}{hint if what == 'is a link' else ''}")
    try:
        with (folder / name).open("rb") as file:
            yield file
    except OSError as error:
        raise InputError(f"{folder / name} cannot be read ({error.strerror})") from None


def hash_own(folder: Path, name: str) -> str:
    """Return the SHA-256 of a file of a folder, but of nothing that a link leads to."""
    what = oddity(folder, name)
    try:
        found = "" if what else sha256(folder / name)
    except OSError as error:
        what = f"cannot be read ({error.strerror})"
    if what:
        raise InputError(f"{folder / name} {what}")
    return found


def parse_json(data: bytes) -> Any:
    """Read JSON, or raise a ValueError, also where Python would give up for another reason."""
    try:
        return json.loads(data.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def walk(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Name the plain files of a folder, and what else is in it and why that is odd; hidden folders are left out."""
    files: list[str] = []
    odd: dict[str, str] = {}
    waiting = [""]
    while waiting:
        inner = waiting.pop()
        try:
            entries = list(os.scandir(folder / inner))
        except OSError as error:
            odd[inner or "."] = f"cannot be entered ({error.strerror})"
            continue
        for entry in entries:
            name = f"{inner}/{entry.name}" if inner else entry.name
            what = oddity(folder / inner, entry.name)
            if what == "is a folder":
                waiting += [] if entry.name.startswith(".") else [name]
            elif what:
                odd[name] = what
            else:
                files.append(name)
    return sorted(files), dict(sorted(odd.items()))
