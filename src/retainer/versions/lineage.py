"""Where a version comes from: the file retainer.json beside the weights.

Every record holds the hash of the previous record, and a copy of all earlier records. So a folder can show its whole
history and prove that it is unchanged, without the folders it came from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from retainer.errors import InputError
from retainer.files import require_inside, sha256

RECORD_FILE = "retainer.json"
WEIGHTS_FILE = "model.safetensors"
CARD_FILE = "README.md"
PARENT_FOLDER = "parent"
"""Where a version stores what is needed to write its parent again, if --keep-parent asked for that."""

_UNHASHED_FIELDS = ("hash", "ancestors")
"""Fields a record's hash does not cover: itself, and the earlier records, which ``parent_hash`` stands for."""

_FOREIGN_PATTERNS = (
    "config.json",
    "*.safetensors",
    "*.safetensors.index.json",
    "tokenizer*.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.*",
    "merges.txt",
    "*.model",
)
"""The files a foreign checkpoint is loaded from; other files of its folder are neither hashed nor copied."""

LineageRecord = dict[str, Any]


@dataclass(frozen=True)
class Lineage:
    """The record of one version. A foreign checkpoint has an empty one."""

    encoder: str = ""
    """What the first version was made from: builtin, a folder's name or a hub name."""
    base_model: str = ""
    """The name on the hub of what the first version was made from; empty if that was a folder."""
    parent: str = ""
    """SHA-256 of the weights of the previous version; of a bare encoder for a first version."""
    parent_hash: str = ""
    """``hash`` of the previous version; empty where that has no record."""
    parent_name: str = ""
    """The name of its folder, or its hub name: a hint where to look. Not a path, which is private."""
    parent_files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of its files if it is a foreign checkpoint, which has no record to hold them."""
    task: int = 0
    """How many tasks have been learned."""
    tasks: tuple[tuple[str, ...], ...] = ()
    """The types each task brought, by their present names, if any; types a foreign checkpoint already had come
    first."""
    again: tuple[str, ...] = ()
    """Types of earlier tasks that the last task had more data for."""
    pending: tuple[str, ...] = ()
    """Types that a split made and that are not learned yet; learning treats them as new."""
    change: Mapping[str, Any] = field(default_factory=dict)
    """What was done to the types, if this version was not learned: rename, merge, drop or split, and of what."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """Fingerprint and counts of what the last task was learned from; no text."""
    method: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    scores: Mapping[str, Any] = field(default_factory=dict)
    """What was measured while learning: the dev score and the epoch that was kept, F1 per type there, and before this
    task where the dev set has old types; losses per epoch; the batch the data were large enough for."""
    prior: Mapping[str, float] = field(default_factory=dict)
    """By type, what the prior correction added to the bias of its rows."""
    blend: float = 0.0
    """The share of the parent in the encoder's weights, where a student was moved back toward it."""
    calibration: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By type, how its scores become probabilities of being right, and by how many entities that was found."""
    versions: Mapping[str, str] = field(default_factory=dict)
    created: str = ""
    weights: str = ""
    """SHA-256 of this version's weights file."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of every file of the folder but this one and the card, which people may edit."""
    hash: str = ""
    """SHA-256 of this record: the name of the version."""
    ancestors: tuple[LineageRecord, ...] = ()
    """The records of the earlier versions, oldest first."""

    @property
    def record(self) -> LineageRecord:
        """This record in the form in which a later version holds it: without its own ancestors."""
        return {name: value for name, value in _plain(asdict(self)).items() if name != "ancestors"}

    @property
    def own_hash(self) -> str:
        """The hash, also of a record written before records held one."""
        return self.hash or (record_hash(self.record) if self.created else "")

    def save(self, folder: Path) -> Lineage:
        """Write the record, with the hashes of the files that lie in the folder, and return it."""
        files = file_hashes(folder)
        sealed = replace(self, weights=files[WEIGHTS_FILE], files=files, hash="")
        sealed = replace(sealed, hash=record_hash(sealed.record))
        (folder / RECORD_FILE).write_text(
            json.dumps(asdict(sealed), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        return sealed

    @classmethod
    def read(cls, folder: Path) -> Lineage:
        """Read the record of a folder without looking at anything else there; a folder without one is foreign."""
        path = folder / RECORD_FILE
        if not path.is_file():
            return cls()
        try:
            return cls.of(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(
                f"{path} is damaged ({error}); restore it, or remove it to load the model without"
            ) from None

    @classmethod
    def of(cls, record: LineageRecord) -> Lineage:
        """Make a lineage from what was read from a file; fields that an older retainer did not write stay empty."""
        if unknown := record.keys() - {one.name for one in fields(cls)}:
            raise ValueError(f"the field {min(unknown)!r} is not known here, a newer retainer may have written it")
        known = dict(record)
        known["tasks"] = tuple(tuple(task) for task in known["tasks"])
        for name in ("again", "pending", "ancestors"):
            known[name] = tuple(known.get(name, ()))
        require_inside([*known.get("files", ()), *known.get("parent_files", ())])
        for ancestor in known["ancestors"]:
            cls.of(ancestor)
        return cls(**known)

    @classmethod
    def load(cls, folder: Path) -> Lineage:
        """Read the record of a folder and check its weights against it."""
        lineage = cls.read(folder)
        if not (folder / RECORD_FILE).is_file():
            return lineage
        if not (folder / WEIGHTS_FILE).is_file():
            raise InputError(f"{folder} has lost its {WEIGHTS_FILE}; restore it, or learn the version again")
        if sha256(folder / WEIGHTS_FILE) != lineage.weights:
            raise InputError(
                f"{folder / WEIGHTS_FILE} is truncated or was changed after it was saved (its SHA-256 is not the one "
                f"in {RECORD_FILE}); restore it, or learn the version again"
            )
        return lineage


def record_hash(record: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a record.

    Empty fields do not count, so a record keeps its hash when a later retainer knows one field more.
    """
    counted = {name: value for name, value in _plain(record).items() if value and name not in _UNHASHED_FIELDS}
    return hashlib.sha256(json.dumps(counted, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def file_hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a version, by its place in the folder."""
    return {name: sha256(folder / name) for name in version_files(folder)}


def version_files(folder: Path) -> list[str]:
    """Name the files a version consists of; not its record, its card, a stored parent or hidden files."""
    found = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    return [
        path.as_posix()
        for path in found
        if path.parts[0] not in (RECORD_FILE, CARD_FILE, PARENT_FOLDER)
        and not any(part.startswith(".") for part in path.parts)
    ]


def foreign_files(folder: Path) -> list[str]:
    """Name the files of a foreign checkpoint."""
    return sorted({path.name for pattern in _FOREIGN_PATTERNS for path in folder.glob(pattern) if path.is_file()})


def _plain(record: Mapping[str, Any]) -> LineageRecord:
    """Return a record as a file gives it back: lists instead of tuples."""
    plain: LineageRecord = json.loads(json.dumps(dict(record)))
    return plain
