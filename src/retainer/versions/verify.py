"""Whether a version is unchanged since it was saved: its files, its labels, and the chain it comes from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retainer.data.labels import Labels
from retainer.errors import InputError
from retainer.files import sha256
from retainer.versions.delta import SafetensorsFile
from retainer.versions.history import short_hash
from retainer.versions.lineage import (
    PARENT_FOLDER,
    RECORD_FILE,
    WEIGHTS_FILE,
    Lineage,
    LineageRecord,
    record_hash,
    version_files,
)
from retainer.versions.stored_parent import STORED_FACTS, damaged_files

_HEAD_WEIGHTS = ("classifier.weight", "score.weight")
"""What the rows of the head are called in a file of weights."""


@dataclass(frozen=True)
class Verification:
    """What is wrong with a folder, file by file."""

    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    inconsistent: tuple[str, ...] = ()
    """Sentences about what does not fit together."""
    unchecked: tuple[str, ...] = ()
    """Files an older retainer wrote no hash for."""
    files: int = 0
    """How many files are as they were."""

    def as_dict(self) -> dict[str, Any]:
        """Return everything for a result file."""
        lists = {name: list(getattr(self, name)) for name in ("changed", "missing", "added")}
        return {
            "ok": not self.sentences,
            **lists,
            "unfit": list(self.inconsistent),
            "unchecked": list(self.unchecked),
        }

    @property
    def sentences(self) -> list[str]:
        """What is wrong, a sentence for each; empty if all is well."""
        named = {"was changed": self.changed, "is missing": self.missing, "was added": self.added}
        return [*(f"{name} {what}" for what, names in named.items() for name in names), *self.inconsistent]


def verify_folder(folder: Path) -> Verification:
    """Compare a version with its record."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; only a version in a folder can be verified")
    if not (folder / RECORD_FILE).is_file():
        raise InputError(
            f"{folder} has no {RECORD_FILE}, so there is nothing to compare it with; retainer did not write it"
        )
    try:
        lineage = Lineage.read(folder)
        record: LineageRecord = json.loads((folder / RECORD_FILE).read_text(encoding="utf-8"))
    except InputError as error:
        return Verification(changed=(RECORD_FILE,), inconsistent=(str(error),))
    known = dict(lineage.files) or {WEIGHTS_FILE: lineage.weights}
    found = {name: sha256(folder / name) for name in version_files(folder)}
    strangers = [name for name in found if name not in known]
    inner = [name for name in _damaged_parent(folder) if name not in known]
    sealed = record_hash(record) == record.get("hash") or not (record.get("hash") or lineage.files)
    return Verification(
        changed=tuple(name for name in known if name in found and found[name] != known[name])
        + (() if sealed else (RECORD_FILE,))
        + tuple(inner),
        missing=tuple(name for name in known if name not in found),
        added=tuple(name for name in strangers if lineage.files and not _harmless(name)),
        inconsistent=(*_chain(lineage), *_labels(folder, lineage)),
        unchecked=() if lineage.files else tuple(strangers),
        files=sum(found.get(name) == hash_ for name, hash_ in known.items()),
    )


def _damaged_parent(folder: Path) -> list[str]:
    """Name the files of a parent stored inside that were changed."""
    try:
        return damaged_files(folder)
    except InputError:
        return [f"{PARENT_FOLDER}/{STORED_FACTS}"]


def _harmless(name: str) -> bool:
    """Return whether a file is one that people put beside a model and that nothing reads."""
    return name.endswith(".md") or Path(name).name.startswith(("LICENSE", "NOTICE"))


def _chain(lineage: Lineage) -> list[str]:
    """Find the places where the chain of hashes is broken."""
    records = [*lineage.ancestors, lineage.record]
    broken = []
    for before, after in zip(records, records[1:], strict=False):
        if record_hash(before) != after.get("parent_hash"):
            name = short_hash(before.get("hash") or record_hash(before))
            broken.append(f"the chain is broken: the record of {name} is not the one that {_name(after)} was made from")
    if records[0].get("parent_hash"):
        broken.append(f"the chain is broken: the versions before {_name(records[0])} are missing in {RECORD_FILE}")
    return broken


def _name(record: LineageRecord) -> str:
    return short_hash(record.get("hash") or record_hash(record))


def _labels(folder: Path, lineage: Lineage) -> list[str]:
    """Check that the labels of config.json are those of the record, one for every row of the weights."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        names = tuple(str(config["id2label"][str(index)]) for index in range(len(config["id2label"])))
        labels = Labels(names)
        strangers = [name for name, at in config["label2id"].items() if names[at] != name]
    except FileNotFoundError:
        return []  # its absence is reported already
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        return [f"config.json has no labels that can be read ({type(error).__name__}: {error})"]
    wrong = [f"config.json: label2id and id2label disagree about {name}" for name in strangers[:1]]
    recorded = {type_ for task in lineage.tasks for type_ in task}
    if recorded != set(labels.types):
        odd = sorted(recorded ^ set(labels.types))
        wrong.append(f"config.json: its types are not those of {RECORD_FILE} ({', '.join(odd)})")
    rows = _rows(folder / WEIGHTS_FILE)
    if rows is not None and rows != len(names):
        wrong.append(f"config.json has {len(names)} labels, but {WEIGHTS_FILE} has a head of {rows} rows")
    return wrong


def _rows(weights: Path) -> int | None:
    """Return the rows of the head in a file of weights, or None where they cannot be read."""
    try:
        tensors = SafetensorsFile.open(weights).tensors
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # a damaged file is reported already
    return next((tensors[name].shape[0] for name in _HEAD_WEIGHTS if name in tensors), None)
