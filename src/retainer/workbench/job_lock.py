"""The lock that says that the process of a job lives. The system lets go of it however the process ends."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from retainer.errors import InputError, disk_refusals
from retainer.training.run_lock import name_holder

JOB_LOCK = "job.lock"


@contextlib.contextmanager
def working_on(folder: Path) -> Iterator[None]:
    """Hold the lock of a job while its process works; a second process for the same job is refused."""
    path = folder / JOB_LOCK
    lock = FileLock(path, timeout=0)
    try:
        with disk_refusals(folder):
            folder.mkdir(parents=True, exist_ok=True)
            lock.acquire()
    except Timeout:
        raise InputError(f"another process works on {folder}") from None
    try:
        name_holder(path)
        yield
    finally:
        lock.release()


def is_worked_on(folder: Path) -> bool:
    """Return whether the process of a job lives."""
    path = folder / JOB_LOCK
    if not path.exists():
        return False
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
