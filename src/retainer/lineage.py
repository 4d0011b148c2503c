"""Where a version comes from: the file retainer.json beside the weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from retainer.builtin import sha256
from retainer.errors import InputError

FILE = "retainer.json"
WEIGHTS = "model.safetensors"


@dataclass(frozen=True)
class Lineage:
    """The record of one version. A foreign checkpoint has an empty one."""

    encoder: str = ""
    """What the first version was made from: builtin, a folder's name or a hub name."""
    parent: str = ""
    """SHA-256 of the weights of the version before this one; empty for a first version."""
    task: int = 0
    """How many tasks have been learned."""
    tasks: tuple[tuple[str, ...], ...] = ()
    """The types each task brought; types a foreign checkpoint already had come first."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """Fingerprint and counts of what the last task was learned from; no text."""
    method: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    scores: Mapping[str, Any] = field(default_factory=dict)
    """What was measured while learning: the dev score and the epoch that was kept, losses per epoch."""
    versions: Mapping[str, str] = field(default_factory=dict)
    created: str = ""
    weights: str = ""
    """SHA-256 of this version's weights file."""

    def save(self, folder: Path) -> Lineage:
        """Write the record, with the hash of the weights that lie in the folder, and return it."""
        sealed = replace(self, weights=sha256(folder / WEIGHTS))
        (folder / FILE).write_text(json.dumps(asdict(sealed), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return sealed

    @classmethod
    def load(cls, folder: Path) -> Lineage:
        """Read the record of a folder and check its weights against it; a folder without record is foreign."""
        path = folder / FILE
        if not path.is_file():
            return cls()
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            lineage = cls(**{**record, "tasks": tuple(tuple(task) for task in record["tasks"])})
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"{path} is damaged ({error}); restore it, or remove it to load the model without"
            ) from None
        if not (folder / WEIGHTS).is_file():
            raise InputError(f"{folder} has lost its {WEIGHTS}; restore it, or learn the version again")
        if sha256(folder / WEIGHTS) != lineage.weights:
            raise InputError(
                f"{folder / WEIGHTS} is truncated or was changed after it was saved (its SHA-256 is not the one in "
                f"{FILE}); restore it, or learn the version again"
            )
        return lineage
