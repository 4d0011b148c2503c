"""The folder a bulk run writes: a manifest that says which run it is, and a shard per chunk, each whole or not there.

The name of a shard ends in the hash of its bytes, part-00000017-3fa2c1d09b7e.jsonl: one step puts both in place, so a
run that is killed at any moment leaves finished shards and nothing else, and what is there can be checked.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from retainer.errors import InputError, disk_refusals
from retainer.files import sync, write_text

MANIFEST = "manifest.json"
_LOCK, _SCRATCH = ".lock", ".part.unfinished"
_NAME = re.compile(r"part-(\d{8,})-([0-9a-f]{12})\.(?:jsonl|parquet)")

Identity = Mapping[str, Any]
"""What makes a run this run and no other: the model, the inputs, and how chunks and rows are made."""


class Shards:
    """The finished shards of a run; only their numbers are held."""

    def __init__(self, folder: Path, identity: Identity) -> None:
        self.folder, self.identity = folder, identity
        self.done = set[int]()
        self.begun = False

    def _resume(self) -> None:
        """Take over what an earlier call of the same run has finished."""
        self.begun = _require_same(self.folder, self.identity)
        for entry in os.scandir(self.folder):
            if match := _NAME.fullmatch(entry.name):
                _require_whole(Path(entry.path), match[2])
                if int(match[1]) in self.done:
                    raise InputError(f"{entry.path}: there are two shards of this number; remove the wrong one")
                self.done.add(int(match[1]))

    def write(self, number: int, data: bytes) -> None:
        """Put a shard in place, in one step; with the first one, the folder says which run it belongs to."""
        with disk_refusals(self.folder):
            if not self.begun:
                self.finish({})
                self.begun = True
            scratch = self.folder / _SCRATCH
            with scratch.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(scratch, self.folder / f"part-{number:08}-{_mark(data)}.{self.identity['format']}")
        self.done.add(number)

    def finish(self, counts: Mapping[str, int]) -> None:
        """Say in the manifest how many texts and shards there are; without counts, that the run has begun."""
        finished = {"finished": dict(counts)} if counts else {}
        with disk_refusals(self.folder):
            write_text(self.folder / MANIFEST, json.dumps({**self.identity, **finished}, indent=1) + "\n")
            sync(self.folder)


@contextlib.contextmanager
def open_shards(folder: str | Path, identity: Identity) -> Iterator[Shards]:
    """Open the folder of a run that begins or goes on; no other process may write to it meanwhile."""
    place = Path(folder)
    _require_own(place)
    with disk_refusals(place):
        place.mkdir(parents=True, exist_ok=True)
        lock = FileLock(place / _LOCK, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise InputError(f"{place}: another process writes here; wait for it, or choose another --out") from None
    try:
        shards = Shards(place, identity)
        shards._resume()
        yield shards
    finally:
        lock.release()
        for name in (_LOCK, _SCRATCH):
            with contextlib.suppress(OSError):
                (place / name).unlink()
        with contextlib.suppress(OSError):
            place.rmdir()  # it is empty: nothing was begun


def _require_own(folder: Path) -> None:
    """Refuse a file, and a folder with anything but shards in it."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise InputError(f"{folder} is a file; --out takes a folder")
    ours = (folder / MANIFEST).is_file() or not folder.is_dir()
    if not ours and any(entry.name not in (_LOCK, _SCRATCH) for entry in os.scandir(folder)):
        raise InputError(f"{folder} holds files of others, and no run of predict; choose another --out")


_IN_WORDS = {"model": "the model", "chunk": "the size of its shards", "inputs": "the texts"}
"""What makes a run this one, where it is not an option of its name."""


def _require_same(folder: Path, identity: Identity) -> bool:
    """Return whether a run has begun here; another run than this one is refused with what differs."""
    file = folder / MANIFEST
    if not file.is_file():
        return False
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        known = {name: found[name] for name in identity}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{file} is damaged or from another retainer; choose another --out") from None
    wanted = json.loads(json.dumps(identity))
    if different := [name for name in identity if known[name] != wanted[name]]:
        words = [_IN_WORDS.get(name, f"--{name}") for name in different]
        reason = _changed(known, wanted) if different == ["inputs"] else f"it differs in {' and '.join(words)}"
        raise InputError(f"{folder} is the output of another run: {reason}; choose another --out")
    return True


def _changed(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    before = {json.dumps(one): one for one in known["inputs"]}
    now = {json.dumps(one): one for one in wanted["inputs"]}
    odd = next(
        iter([now[key] for key in now.keys() - before.keys()] or [before[k] for k in before.keys() - now.keys()])
    )
    return f"{odd['name']} was added, removed or changed since"


def _require_whole(shard: Path, mark: str) -> None:
    with disk_refusals(shard), shard.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest()[: len(mark)] != mark:
            raise InputError(f"{shard} is damaged; remove it, and the same command makes it again")


def _mark(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]
