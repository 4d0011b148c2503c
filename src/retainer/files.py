"""Files: written whole or not at all, so that nothing is lost, and identified by their hash."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from retainer.errors import InputError

if sys.platform != "win32":
    import fcntl

UNFINISHED = ".unfinished"
"""How the name of a file or folder ends that a run still writes, or that a killed run left behind."""


def require_free(path: str | Path) -> Path:
    """Refuse to write where something already is, or where nothing can be; asked before any work is done."""
    path = Path(path)
    if os.path.lexists(path):
        raise InputError(f"{path} exists already; nothing was written, choose another place or remove it first")
    return require_writable(path)


def require_writable(path: str | Path) -> Path:
    """Refuse to write where nothing can be: for files that may replace an older one."""
    path = _require_plain(Path(path))
    above = next(parent for parent in path.absolute().parents if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise InputError(f"{path} cannot be written: {above} is not a folder you may write to")
    return path


def _require_plain(path: Path) -> Path:
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a plain file, so it cannot be replaced; name another")
    return path


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_document(path: str | Path, text: str) -> None:
    """Write a page, table or corpus to the place the user named; a failure is one sentence about that place."""
    with refusals_about(path):
        write_text(_require_plain(Path(path)), text)


@contextlib.contextmanager
def refusals_about(path: str | Path) -> Iterator[None]:
    """Turn what goes wrong while a file is written into one sentence that names the file."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: the file cannot be written ({error.strerror})") from error
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise InputError(f"{path}: {half!r} is half a surrogate pair, not a character; remove it") from error


def write_text(path: Path, text: str) -> None:
    """Write a text in one step."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file in one step: readers see the old one or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(path)
    scratch, lock = _locked(path, _make_file)
    try:
        with scratch.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    finally:
        os.close(lock)


@contextlib.contextmanager
def new_folder(path: str | Path) -> Iterator[Path]:
    """Give a scratch folder that becomes ``path`` if all goes well and vanishes otherwise."""
    path = require_free(path)
    with scratch_folder(path) as scratch:
        yield scratch
        for file in scratch.rglob("*"):
            os.chmod(file, 0o755 if file.is_dir() else 0o644)  # safetensors writes for its owner only
            sync(file)
        os.chmod(scratch, 0o755)
        require_free(path)  # another process may have been faster
        os.rename(scratch, path)
        sync(path.parent)


@contextlib.contextmanager
def scratch_folder(path: Path) -> Iterator[Path]:
    """Give a folder beside ``path`` that vanishes in the end, unless it has got another name.

    Its name says that it is unfinished, and a lock says that its process lives. What killed processes left behind for
    the same place is removed first.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(path)
        scratch, lock = _locked(path, tempfile.mkdtemp)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        os.close(lock)


def _make_file(**name: Any) -> str:
    handle, path = tempfile.mkstemp(**name)
    os.close(handle)
    return str(path)


def _locked(path: Path, make: Callable[..., str]) -> tuple[Path, int]:
    """Make a scratch file or folder and lock it; one that another process took for stale in between is made again."""
    while True:
        scratch = Path(make(dir=path.parent, prefix=f".{path.name}.", suffix=UNFINISHED))
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(scratch, os.O_RDONLY)
            if _is_locked(lock) is not None and scratch.exists():
                return scratch, lock
            os.close(lock)


def _is_locked(descriptor: int) -> bool | None:
    """Lock a file or folder until its descriptor is closed, at the latest when the process ends; None if it is held.

    Where the system has no such locks, return False; what killed runs leave behind then stays.
    """
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    except OSError:
        return False
    return True


def _remove_stale(path: Path) -> None:
    """Remove the scratch files and folders for a place whose processes no longer live."""
    with contextlib.suppress(OSError):
        for left in list(path.parent.glob(f".{glob.escape(path.name)}.*{UNFINISHED}")):
            is_folder = left.is_dir()
            if left.is_symlink() or not (is_folder or left.is_file()):
                continue  # a stranger's
            lock = os.open(left, os.O_RDONLY)
            if _is_locked(lock) and is_folder:
                shutil.rmtree(left, ignore_errors=True)
            elif _is_locked(lock):
                left.unlink(missing_ok=True)
            os.close(lock)


def is_unfinished(folder: Path) -> bool:
    """Return whether a folder is one that a run still writes, or that a killed run left behind."""
    return folder.name.startswith(".") and folder.name.endswith(UNFINISHED)


def require_finished(folder: Path) -> None:
    """Refuse what a run that did not finish left behind: it may lack anything."""
    if is_unfinished(folder.resolve()):
        raise InputError(f"{folder} is what an unfinished run left behind, not a whole folder; run the command again")


def require_inside(names: Iterable[str]) -> None:
    """Refuse names of files that lead out of a folder or name none: a record may come from a stranger."""
    for name in names:
        path = PurePosixPath(name)
        odd = not path.parts or path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name
        if odd or not _encodable(name):
            raise InputError(f"{name!a} is not a path inside the folder")


def _encodable(name: str) -> bool:
    try:
        return bool(os.fsencode(name))
    except UnicodeEncodeError:
        return False


def size_of(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def in_words(size: float) -> str:
    """Write a number of bytes for a person."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def require_room(path: Path, size: int) -> None:
    """Refuse to begin what the disk has no room for."""
    above = next(parent for parent in path.absolute().parents if parent.exists())
    free = shutil.disk_usage(above).free
    if size > free:
        raise InputError(f"{path} would need {in_words(size)}, but only {in_words(free)} are free there")


def sync(path: Path) -> None:
    """Ask the system to put a file or a folder's entries on the disk now."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
