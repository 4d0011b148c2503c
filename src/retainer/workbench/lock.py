"""One server per project: two would each think that they alone teach and swap versions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from retainer.errors import InputError, disk_refusals
from retainer.training.run_lock import lock_holder, name_holder

PROJECT_LOCK = "project.lock"


@contextlib.contextmanager
def served_alone(folder: Path) -> Iterator[None]:
    """Hold the lock of a project. The system lets go of it when the process ends, however it ends; the file stays."""
    path = folder / PROJECT_LOCK
    lock = FileLock(path, timeout=0)
    try:
        with disk_refusals(folder):
            path.touch()
            lock.acquire()
    except Timeout:
        raise InputError(f"{lock_holder(path)} serves {folder} now; stop it first, or open another project") from None
    try:
        name_holder(path)
        yield
    finally:
        lock.release()
