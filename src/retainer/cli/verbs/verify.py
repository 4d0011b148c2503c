"""`retainer verify`."""

from __future__ import annotations

from pathlib import Path

from retainer.cli.output import note, say, say_json
from retainer.versions.history import short_hash, versions_of
from retainer.versions.lineage import Lineage
from retainer.versions.verify import verify_folder

NO = 1
"""The exit status of a gate that said no."""


def verify(model: str, /, *, json: bool = False) -> int:
    """Compare every file of a version with the hashes in its record, and the record with those before it.

    Exit status 1 means that something was changed after it was saved; the files are named.

    :param model: a version's folder
    :param json: print one JSON document
    """
    folder = Path(model)
    found = verify_folder(folder)
    if json:
        say_json({"model": model, **found.as_dict()})
    elif found.sentences:
        say("\n".join([f"{model} is not as it was saved:", *(f"  {one}" for one in found.sentences)]))
    else:
        lineage = Lineage.read(folder)
        files = f"{found.files} file{'' if found.files == 1 else 's'}"
        versions = len(versions_of(lineage))
        chain = f"{versions} version{'' if versions == 1 else 's'}"
        say(f"{model} is as it was saved: {files}, a chain of {chain}, hash {short_hash(lineage.own_hash)}")
    if found.unchecked:
        note(f"not checked, because an older retainer wrote no hashes of them: {', '.join(found.unchecked)}")
    return NO if found.sentences else 0
