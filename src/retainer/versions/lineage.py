"""Where a version comes from: the file retainer.json beside the weights.

Every record holds the hash of the previous record, and a copy of all earlier records. So a folder can show its whole
history and prove that it is unchanged, without the folders it came from.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from retainer.errors import InputError
from retainer.files import require_inside
from retainer.versions.own_files import hash_own, oddity, parse_json, read_head, read_own, walk
from retainer.versions.record_shape import require_shape

RECORD_FILE = "retainer.json"
WEIGHTS_FILE = "model.safetensors"
CARD_FILE = "README.md"
PARENT_FOLDER = "parent"
"""Where a version stores what is needed to write its parent again, if --keep-parent asked for that."""
GENERATORS_FOLDER = "generators"
"""Where a version holds the language models of its tasks."""
MAX_RECORD_BYTES = 2**26
"""The largest record that is read; one of a hundred versions has some megabytes."""

_BEFORE_ANCESTORS = b'\n  "ancestors": ['
"""What a record has before its earlier records, in the form ``record_bytes`` gives it."""

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

_LOADED_PATTERNS = (*_FOREIGN_PATTERNS, "*.json", "*.jinja", "*.onnx")
"""Names that a model may be loaded from: such a file must not be added to a version."""

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
        (folder / RECORD_FILE).write_bytes(record_bytes(asdict(sealed)))
        return sealed

    @classmethod
    def read(cls, folder: Path) -> Lineage:
        """Read the record of a folder without looking at anything else there; a folder without one is foreign."""
        if not has_record(folder):
            return cls()
        data = read_own(folder, RECORD_FILE, MAX_RECORD_BYTES)
        try:
            return cls.of(parse_json(data))
        except ValueError as error:
            raise InputError(
                f"{folder / RECORD_FILE} is damaged ({error}); restore it, or remove it to load the model without"
            ) from None

    @classmethod
    def read_hash(cls, folder: Path) -> str:
        """Return ``own_hash`` of a folder's record without its ancestors, which are nearly all of a long history.

        They are the last field of a record as we write it. One in another form is read whole.
        """
        head = read_head(folder, RECORD_FILE, _BEFORE_ANCESTORS, MAX_RECORD_BYTES)
        with contextlib.suppress(ValueError):
            known = cls.of(parse_json(head.rstrip(b",") + b"}"))
            if known.hash:
                return known.hash
        return cls.read(folder).own_hash

    @classmethod
    def of(cls, record: LineageRecord) -> Lineage:
        """Make a lineage from what was read from a file; fields that an older retainer did not write stay empty."""
        require_shape(record)
        for one in (record, *record.get("ancestors", ())):
            if unknown := one.keys() - {known.name for known in fields(cls)}:
                raise ValueError(f"the field {min(unknown)!r} is not known here, a newer retainer may have written it")
            require_inside([*one.get("files", ()), *one.get("parent_files", ())])
        known = dict(record)
        known["tasks"] = tuple(tuple(task) for task in known["tasks"])
        for name in ("again", "pending", "ancestors"):
            known[name] = tuple(known.get(name, ()))
        return cls(**known)

    @classmethod
    def load(cls, folder: Path) -> Lineage:
        """Read the record of a folder and check every file against it that a model is loaded from."""
        lineage = cls.read(folder)
        if not has_record(folder):
            return lineage
        sealed = [] if is_sealed(lineage) else [f"{RECORD_FILE} was changed"]
        if wrong := [*sealed, *chain_faults(lineage), *_misplaced(folder, lineage)]:
            raise InputError(f"{folder} is not as it was saved: {wrong[0]}; restore it, or learn the version again")
        for name, known in lineage.checked_files.items():
            if what := oddity(folder, name):
                lost = f"has lost its {name}" if what == "is missing" else f"is not as it was saved: {name} {what}"
                raise InputError(f"{folder} {lost}; restore it, or learn the version again")
            if hash_own(folder, name) != known:
                raise InputError(
                    f"{folder / name} is truncated or was changed after it was saved (its SHA-256 is not the one in "
                    f"{RECORD_FILE}); restore it, or learn the version again"
                )
        return lineage

    @property
    def checked_files(self) -> dict[str, str]:
        """The files that can be compared with a hash; an older retainer wrote that of the weights alone."""
        return {**self.files, WEIGHTS_FILE: self.weights}

    @property
    def wordless_files(self) -> dict[str, str]:
        """The same without the language models, which hold words of training sentences and go nowhere unasked."""
        inside = f"{GENERATORS_FOLDER}/"
        return {name: hash_ for name, hash_ in self.checked_files.items() if not name.startswith(inside)}


def has_record(folder: Path) -> bool:
    """Return whether a folder has a record, or something else in its place; else it is foreign."""
    try:
        return os.path.lexists(folder / RECORD_FILE)
    except ValueError:  # a name that no file can have
        return False


def record_bytes(record: Mapping[str, Any]) -> bytes:
    """Write a record in the one form it has on disk: fields in our order, so that every byte of it can be compared."""
    ordered = {one.name: record[one.name] for one in fields(Lineage) if one.name in record}
    return (json.dumps(ordered, indent=2, ensure_ascii=False) + "\n").encode()


def is_sealed(lineage: Lineage) -> bool:
    """Return whether a record has the hash it should; one that an older retainer wrote may have none."""
    return lineage.hash == record_hash(lineage.record) or not (lineage.hash or lineage.files)


def chain_faults(lineage: Lineage) -> list[str]:
    """Find the places where the chain of hashes is broken."""
    records = [*lineage.ancestors, lineage.record]
    hashes = [record_hash(one) for one in records]
    broken = [
        f"the chain is broken: the hash of {_short(one, hash_)} is not that of its record"
        for one, hash_ in zip(records[:-1], hashes, strict=False)
        if one.get("hash", "") not in ("", hash_)
    ]
    for at, after in enumerate(records[1:]):
        if hashes[at] != after.get("parent_hash"):
            before, name = _short(records[at], hashes[at]), _short(after, hashes[at + 1])
            broken.append(f"the chain is broken: the record of {before} is not the one that {name} was made from")
    if records[0].get("parent_hash"):
        first = _short(records[0], hashes[0])
        broken.append(f"the chain is broken: the versions before {first} are missing in {RECORD_FILE}")
    return broken


def _short(record: LineageRecord, hash_: str) -> str:
    return str(record.get("hash") or hash_)[:12]


def _misplaced(folder: Path, lineage: Lineage) -> list[str]:
    """Name what a model could be loaded from, but is not in the record, or leads out of the folder."""
    files, odd = walk(folder)
    found = {**{name: "was added" for name in files if lineage.files}, **odd}
    return [
        f"{name} {what}"
        for name, what in found.items()
        if name not in (*lineage.checked_files, RECORD_FILE) and _is_loaded(name)
    ]


def _is_loaded(name: str) -> bool:
    inside, _, inner = name.partition("/")
    return inside == GENERATORS_FOLDER or (not inner and any(fnmatchcase(name, one) for one in _LOADED_PATTERNS))


def record_hash(record: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a record.

    Empty fields do not count, so a record keeps its hash when a later retainer knows one field more.
    """
    counted = {name: value for name, value in _plain(record).items() if value and name not in _UNHASHED_FIELDS}
    return hashlib.sha256(json.dumps(counted, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def file_hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a version, by its place in the folder."""
    return {name: hash_own(folder, name) for name in version_files(folder)}


def version_files(folder: Path) -> list[str]:
    """Name the files a version consists of; not its record, its card, a stored parent or hidden files."""
    return [name for name in walk(folder)[0] if belongs(name)]


def belongs(name: str) -> bool:
    """Return whether a name is one of a version's files: not its record, its card, a stored parent or hidden."""
    parts = name.split("/")
    return parts[0] not in (RECORD_FILE, CARD_FILE, PARENT_FOLDER) and not any(part.startswith(".") for part in parts)


def foreign_files(folder: Path) -> list[str]:
    """Name the files of a foreign checkpoint."""
    return sorted({path.name for pattern in _FOREIGN_PATTERNS for path in folder.glob(pattern) if path.is_file()})


def _plain(record: Mapping[str, Any]) -> LineageRecord:
    """Return a record as a file gives it back: lists instead of tuples."""
    plain: LineageRecord = json.loads(json.dumps(dict(record)))
    return plain
