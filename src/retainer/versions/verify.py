"""Whether a version is still what it was when it was saved: its files, its labels, and the chain it comes from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retainer.data.labels import Labels
from retainer.errors import InputError
from retainer.model.builtin import sha256
from retainer.versions.delta import Stored
from retainer.versions.history import short
from retainer.versions.lineage import FILE, PARENT, WEIGHTS, Lineage, Record, contents, hash_of
from retainer.versions.stored_parent import KEPT, damaged

HEADS = ("classifier.weight", "score.weight")
"""What the rows of the head are called in a file of weights."""


@dataclass(frozen=True)
class Findings:
    """What is wrong with a folder, file by file."""

    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    unfit: tuple[str, ...] = ()
    """Sentences about what does not fit together."""
    unchecked: tuple[str, ...] = ()
    """Files an older retainer wrote no hash for."""
    files: int = 0
    """How many files are as they were."""

    @property
    def sentences(self) -> list[str]:
        """Say what is wrong, a line for each; nothing if all is well."""
        named = {"was changed": self.changed, "is missing": self.missing, "was added": self.added}
        return [*(f"{name} {what}" for what, names in named.items() for name in names), *self.unfit]


def inspect(folder: Path) -> Findings:
    """Compare a version with its record."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; only a version in a folder can be verified")
    if not (folder / FILE).is_file():
        raise InputError(f"{folder} has no {FILE}, so nothing is known to compare it with; retainer did not write it")
    try:
        lineage = Lineage.read(folder)
        record: Record = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except InputError as error:
        return Findings(changed=(FILE,), unfit=(str(error),))
    known = dict(lineage.files) or {WEIGHTS: lineage.weights}
    found = {name: sha256(folder / name) for name in contents(folder)}
    strangers = [name for name in found if name not in known]
    inner = [name for name in _kept(folder) if name not in known]
    sealed = hash_of(record) == record.get("hash") or not (record.get("hash") or lineage.files)
    return Findings(
        changed=tuple(name for name in known if name in found and found[name] != known[name])
        + (() if sealed else (FILE,))
        + tuple(inner),
        missing=tuple(name for name in known if name not in found),
        added=tuple(name for name in strangers if lineage.files and not _harmless(name)),
        unfit=(*_chain(lineage), *_labels(folder, lineage)),
        unchecked=() if lineage.files else tuple(strangers),
        files=sum(found.get(name) == hash_ for name, hash_ in known.items()),
    )


def _kept(folder: Path) -> list[str]:
    """Name the files of a parent kept inside that are not what was put there."""
    try:
        return damaged(folder)
    except InputError:
        return [f"{PARENT}/{KEPT}"]


def _harmless(name: str) -> bool:
    """Say whether a file is one that people put beside a model and nothing reads."""
    return name.endswith(".md") or Path(name).name.startswith(("LICENSE", "NOTICE"))


def _chain(lineage: Lineage) -> list[str]:
    """Find the places where the chain of hashes is broken."""
    records = [*lineage.ancestors, lineage.record]
    said = []
    for before, after in zip(records, records[1:], strict=False):
        if hash_of(before) != after.get("parent_hash"):
            name = short(before.get("hash") or hash_of(before))
            said.append(f"the chain is broken: the record of {name} is not the one that {_name(after)} was made from")
    if records[0].get("parent_hash"):
        said.append(f"the chain is broken: the versions before {_name(records[0])} are missing in {FILE}")
    return said


def _name(record: Record) -> str:
    return short(record.get("hash") or hash_of(record))


def _labels(folder: Path, lineage: Lineage) -> list[str]:
    """Find out whether the labels of config.json are those of the record, one for every row of the weights."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        names = tuple(str(config["id2label"][str(index)]) for index in range(len(config["id2label"])))
        labels = Labels(names)
        strangers = [name for name, at in config["label2id"].items() if names[at] != name]
    except FileNotFoundError:
        return []  # its absence is told already
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        return [f"config.json has no labels that can be read ({type(error).__name__}: {error})"]
    said = [f"config.json: label2id and id2label disagree about {name}" for name in strangers[:1]]
    told = {type_ for task in lineage.tasks for type_ in task}
    if told != set(labels.types):
        odd = sorted(told ^ set(labels.types))
        said.append(f"config.json: its types are not those of {FILE} ({', '.join(odd)})")
    rows = _rows(folder / WEIGHTS)
    if rows is not None and rows != len(names):
        said.append(f"config.json has {len(names)} labels, but {WEIGHTS} has a head of {rows} rows")
    return said


def _rows(weights: Path) -> int | None:
    """Return the rows of the head in a file of weights, or None where they cannot be told."""
    try:
        tensors = Stored.open(weights).tensors
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # a damaged file is told already
    return next((tensors[name].shape[0] for name in HEADS if name in tensors), None)


def as_dict(findings: Findings) -> dict[str, Any]:
    """Return the findings for a machine."""
    lists = {name: list(getattr(findings, name)) for name in ("changed", "missing", "added", "unfit", "unchecked")}
    return {"ok": not findings.sentences, **lists}
