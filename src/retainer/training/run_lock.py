"""One run per place: a second one is refused before it trains, instead of losing its work in the end."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from retainer.errors import InputError


def lock_file(state: Path) -> Path:
    """Return where the lock of a run lies, whose state is kept in a folder."""
    return state.with_name(state.name + ".lock")


@contextlib.contextmanager
def run_lock(state: Path, place: Path) -> Iterator[None]:
    """Hold the lock of a run while it learns to ``place``; it lies beside the folder of its state.

    Another holder is named. The file and the folders that were made for it vanish with the lock; a killed process
    leaves the file, which locks nothing any more.
    """
    path = lock_file(state)
    made = [folder for folder in path.absolute().parents if not folder.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()  # a place where nothing can be made looks like a lock that another process holds
        lock = FileLock(path, timeout=0)
        lock.acquire()
    except Timeout:
        raise InputError(
            f"{lock_holder(path)} is learning to {place} now; wait for it, or choose another place"
        ) from None
    except OSError as error:
        _remove(made)
        raise InputError(f"{place} cannot be written: {error.strerror}") from error
    try:
        name_holder(path)
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
        lock.release()
        _remove(made)


def name_holder(path: Path) -> None:
    """Write into the file of a lock which process holds it; a full disk keeps the name out, not the lock."""
    with contextlib.suppress(OSError):
        path.write_text(json.dumps({"process": os.getpid(), "host": socket.gethostname()}), encoding="utf-8")


def lock_holder(path: Path) -> str:
    """Name the process that holds a lock, as far as its file says."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        elsewhere = "" if known["host"] == socket.gethostname() else f" on {known['host']}"
        return f"process {int(known['process'])}{elsewhere}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _remove(folders: list[Path]) -> None:
    """Remove folders, the innermost first, as far as nothing was put into them."""
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()
