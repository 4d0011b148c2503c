"""The state of an unfinished run, so that a killed one goes on at its last kept epoch."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from retainer.files import sync
from retainer.training.early_stopping import Tensors


@dataclass
class State:
    """What the loop carries from epoch to epoch. Every epoch seeds itself, so no random state is needed."""

    student: Tensors
    optimizer: Tensors
    best: Tensors = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Checkpoint:
    """A file that holds a state, used only by a run with the same key; written at most every ``interval`` seconds."""

    folder: Path
    key: str
    interval: float = 60.0
    written: float = field(default_factory=time.monotonic)

    @property
    def file(self) -> Path:
        """The one file; tensors and facts together, so they cannot disagree."""
        return self.folder / "state.safetensors"

    def due(self) -> bool:
        """Say whether it is time to write again."""
        return time.monotonic() - self.written >= self.interval

    def save(self, state: State) -> None:
        """Write the state in one step."""
        self.folder.mkdir(parents=True, exist_ok=True)
        parts = {"student": state.student, "optimizer": state.optimizer, "best": state.best}
        tensors = {f"{part}:{name}": tensor for part, named in parts.items() for name, tensor in named.items()}
        scratch = self.file.with_suffix(".tmp")
        contiguous = {name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}
        save_file(contiguous, scratch, metadata={"key": self.key, "facts": json.dumps(state.facts)})
        sync(scratch)
        os.replace(scratch, self.file)
        self.written = time.monotonic()

    def load(self, device: torch.device) -> State | None:
        """Return the state of an earlier run with the same key, if there is a whole one."""
        try:
            with safe_open(self.file, framework="pt", device=str(device)) as file:
                meta = file.metadata() or {}
                if meta.get("key") != self.key:
                    return None
                tensors = {name: file.get_tensor(name) for name in file.keys()}
        except (OSError, SafetensorError):
            return None
        parts: dict[str, Tensors] = {"student": {}, "optimizer": {}, "best": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(":")
            parts[part][rest] = tensor
        return State(**parts, facts=json.loads(meta["facts"]))

    def remove(self) -> None:
        """Forget the unfinished run: it is finished."""
        shutil.rmtree(self.folder, ignore_errors=True)


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
