"""Whether a version is unchanged since it was saved: its files, its labels, and the chain it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retainer.data.labels import Labels
from retainer.errors import InputError
from retainer.files import require_finished
from retainer.versions.delta import SafetensorsFile
from retainer.versions.lineage import (
    MAX_RECORD_BYTES,
    PARENT_FOLDER,
    RECORD_FILE,
    WEIGHTS_FILE,
    Lineage,
    belongs,
    chain_faults,
    has_record,
    is_sealed,
    record_bytes,
)
from retainer.versions.own_files import hash_own, holds, oddity, parse_json, read_own, walk
from retainer.versions.stored_parent import check_stored_parent

_HEAD_WEIGHTS = ("classifier.weight", "score.weight")
"""What the rows of the head are called in a file of weights."""


@dataclass(frozen=True)
class Verification:
    """What is wrong with a folder, file by file."""

    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    odd: tuple[tuple[str, str], ...] = ()
    """What is no plain file of the folder's own, such as links and pipes, and what it is."""
    inconsistent: tuple[str, ...] = ()
    """Sentences about what does not fit together."""
    unchecked: tuple[str, ...] = ()
    """Files an older retainer wrote no hash for."""
    files: int = 0
    """How many files are as they were."""

    def as_dict(self) -> dict[str, Any]:
        """Return everything for a result file."""
        lists = {name: list(map(_shown, getattr(self, name))) for name in ("changed", "missing", "added")}
        return {
            "ok": not self.sentences,
            **lists,
            "odd": {_shown(name): what for name, what in self.odd},
            "unfit": list(self.inconsistent),
            "unchecked": list(map(_shown, self.unchecked)),
        }

    @property
    def sentences(self) -> list[str]:
        """What is wrong, a sentence for each; empty if all is well."""
        named = {"was changed": self.changed, "is missing": self.missing, "was added": self.added}
        found = [(name, what) for what, names in named.items() for name in names]
        return [*(f"{_shown(name)} {what}" for name, what in (*found, *self.odd)), *self.inconsistent]


def _shown(name: str) -> str:
    """Write a name of a file so that it can be printed, whatever bytes it has."""
    return name.encode("utf-8", "backslashreplace").decode()


def verify_folder(folder: Path) -> Verification:
    """Compare a version with its record."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; only a version in a folder can be verified")
    require_finished(folder)
    if not has_record(folder):
        raise InputError(
            f"{folder} has no {RECORD_FILE}, so there is nothing to compare it with; retainer did not write it"
        )
    return compare_with_record(folder)


def compare_with_record(folder: Path) -> Verification:
    """Compare the files of a folder with its record; the folder may still be one that is being written."""
    if what := oddity(folder, RECORD_FILE):
        return Verification(odd=((RECORD_FILE, what),))
    try:
        data = read_own(folder, RECORD_FILE, MAX_RECORD_BYTES)
        lineage = Lineage.read(folder)
    except InputError as error:
        return Verification(changed=(RECORD_FILE,), inconsistent=(str(error),))
    files, odd = walk(folder)
    known = lineage.checked_files if lineage.files else {WEIGHTS_FILE: lineage.weights}
    found = {name: hash_own(folder, name) for name in files if belongs(name)}
    strangers = [name for name in found if name not in known]
    whole = {name for name, hash_ in known.items() if found.get(name) == hash_}
    parent = check_stored_parent(folder, lineage, whole)
    inner = [name for name in files if name.startswith(f"{PARENT_FOLDER}/")]
    added = [*(strangers if lineage.files else []), *(name for name in inner if name not in parent.known)]
    rewritten = not is_sealed(lineage) or (lineage.hash and data != record_bytes(parse_json(data)))
    return Verification(
        changed=tuple(name for name in known if name in found and name not in whole)
        + ((RECORD_FILE,) if rewritten else ())
        + tuple(name for name in parent.changed if name not in known),
        missing=tuple(name for name in known if name not in found and name not in odd),
        added=tuple(name for name in added if not _harmless(name)),
        odd=tuple(odd.items()),
        inconsistent=(*chain_faults(lineage), *parent.inconsistent, *_labels(folder, lineage)),
        unchecked=() if lineage.files else tuple(strangers),
        files=len(whole),
    )


def _harmless(name: str) -> bool:
    """Return whether a file is one that people put beside a model and that nothing reads."""
    last = Path(name).name
    return last.endswith(".md") or last.startswith(("LICENSE", "NOTICE", "."))


def _labels(folder: Path, lineage: Lineage) -> list[str]:
    """Check that the labels of config.json are those of the record, one for every row of the weights."""
    if not holds(folder, "config.json"):
        return []  # its absence is reported already
    try:
        config = parse_json(read_own(folder, "config.json", MAX_RECORD_BYTES))
        names = tuple(str(config["id2label"][str(index)]) for index in range(len(config["id2label"])))
        labels = Labels(names)
        strangers = [name for name, at in config["label2id"].items() if names[at] != name]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        return [f"config.json has no labels that can be read ({type(error).__name__}: {error})"]
    wrong = [f"config.json: label2id and id2label disagree about {name}" for name in strangers[:1]]
    recorded = {type_ for task in lineage.tasks for type_ in task}
    if recorded != set(labels.types):
        odd = sorted(recorded ^ set(labels.types))
        wrong.append(f"config.json: its types are not those of {RECORD_FILE} ({', '.join(odd)})")
    rows = _rows(folder / WEIGHTS_FILE) if holds(folder, WEIGHTS_FILE) else None
    if rows is not None and rows != len(names):
        wrong.append(f"config.json has {len(names)} labels, but {WEIGHTS_FILE} has a head of {rows} rows")
    return wrong


def _rows(weights: Path) -> int | None:
    """Return the rows of the head in a file of weights, or None where they cannot be read."""
    try:
        tensors = SafetensorsFile.open(weights).tensors
    except (OSError, ValueError):
        return None  # a damaged file is reported already
    return next((tensors[name].shape[0] for name in _HEAD_WEIGHTS if name in tensors and tensors[name].shape), None)
