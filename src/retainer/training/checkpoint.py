"""The state of an unfinished run, so that a stopped one goes on at its last kept epoch.

A state is checked before it is used: its checksum covers every tensor and every fact. One that does not match is set
aside and the run begins again, because one wrong bit would give other weights without a word.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from retainer.errors import disk_refusal
from retainer.files import sync
from retainer.training.early_stopping import Tensors

_PARTS = ("student", "optimizer", "best")


@dataclass
class State:
    """What the loop carries from epoch to epoch. Every epoch seeds itself, so no random state is needed."""

    student: Tensors
    optimizer: Tensors
    best: Tensors = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


class _Damaged(Exception):
    """A state that is not what was written."""


@dataclass
class Checkpoint:
    """A file that holds a state, used only by a run with the same key; written at most every ``interval`` seconds.

    The newest state is held in memory as well, so that a run that is stopped loses no finished epoch (``flush``).
    """

    folder: Path
    key: str
    interval: float = 60.0
    warn: Callable[[str], None] = lambda text: None
    written: float = field(default_factory=time.monotonic)
    pending: State | None = None
    """The newest state, as long as it is not written."""
    _failed: bool = False

    @property
    def file(self) -> Path:
        """The one file; tensors and facts together, so they cannot disagree."""
        return self.folder / "state.safetensors"

    @property
    def set_aside(self) -> Path:
        """Where a damaged state goes."""
        return self.folder / "damaged.safetensors"

    def keep(self, state: State) -> None:
        """Take the state after an epoch, which nothing changes any more, and write it if it is time to."""
        self.pending = state
        if time.monotonic() - self.written >= self.interval:
            self.flush()

    def flush(self) -> None:
        """Write the newest state now. A disk that refuses it costs the state and not the run."""
        if self.pending is None:
            return
        scratch = self.file.with_suffix(".tmp")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._write(self.pending, scratch)
            os.replace(scratch, self.file)
            self.pending = None
        except (OSError, SafetensorError) as error:
            if not self._failed:
                self.warn(f"{self.folder}: the state of the run cannot be kept ({_reason(error)}); training goes on")
            self._failed = True
        finally:
            with contextlib.suppress(OSError):
                scratch.unlink(missing_ok=True)
            self.written = time.monotonic()

    def _write(self, state: State, scratch: Path) -> None:
        named = {f"{part}:{name}": tensor for part in _PARTS for name, tensor in getattr(state, part).items()}
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in named.items()}
        facts = json.dumps(state.facts)
        save_file(tensors, scratch, metadata={"key": self.key, "facts": facts, "sha256": _checksum(tensors, facts)})
        sync(scratch)

    def load(self, device: torch.device) -> State | None:
        """Return the state of an earlier run with the same key, if there is a whole one; a damaged one is set aside."""
        if not os.path.lexists(self.file):
            return None
        try:
            return self._read(device)
        except (OSError, SafetensorError, _Damaged) as error:
            self._put_aside(_reason(error))
            return None

    def _read(self, device: torch.device) -> State | None:
        with safe_open(self.file, framework="pt", device="cpu") as file:
            meta = file.metadata() or {}
            if meta.get("key") != self.key:
                return None
            tensors = {name: file.get_tensor(name) for name in file.keys()}
        if meta.get("sha256") != _checksum(tensors, meta.get("facts", "")):
            raise _Damaged("its checksum does not match")
        parts: dict[str, Tensors] = {part: {} for part in _PARTS}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(":")
            parts[part][rest] = tensor.to(device)
        return State(**parts, facts=json.loads(meta["facts"]))

    def _put_aside(self, reason: str) -> None:
        try:
            os.replace(self.file, self.set_aside)
            fate = f"it is now {self.set_aside.name}"
        except OSError:
            fate = "it is ignored"
        self.warn(
            f"{self.file}: the state of an unfinished run is damaged ({reason}); {fate}, and the run begins again"
        )

    def remove(self) -> None:
        """Forget the unfinished run: it is finished."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _checksum(tensors: Tensors, facts: str) -> str:
    """Return the SHA-256 of all that a state holds: names, kinds, shapes and bytes of its tensors, and its facts."""
    digest = hashlib.sha256(facts.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"\n{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _reason(error: Exception) -> str:
    """Say in a few words what went wrong with a file."""
    return disk_refusal(error) or (isinstance(error, OSError) and error.strerror) or str(error)


def key_of(facts: Mapping[str, Any]) -> str:
    """Return one hash for everything that determines a run."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def pack_optimizer(optimizer: torch.optim.Optimizer) -> Tensors:
    """Flatten an optimizer's state into named tensors."""
    state = optimizer.state_dict()["state"]
    return {
        f"{number}.{name}": torch.as_tensor(value)
        for number, values in state.items()
        for name, value in values.items()
        if value is not None
    }


def unpack_optimizer(optimizer: torch.optim.Optimizer, tensors: Tensors) -> None:
    """Put a flattened state back."""
    state: dict[int, Tensors] = {}
    for name, tensor in tensors.items():
        number, _, field_name = name.partition(".")
        state.setdefault(int(number), {})[field_name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
