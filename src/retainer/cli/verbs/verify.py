"""`retainer verify`."""

from __future__ import annotations

from pathlib import Path

from retainer.cli.output import say, say_json, tell
from retainer.versions.history import short, versions_of
from retainer.versions.lineage import Lineage
from retainer.versions.verify import as_dict, inspect

NO = 1
"""The exit status of a gate that said no."""


def verify(model: str, /, *, json: bool = False) -> int:
    """Compare every file of a version with the hashes in its record, and the record with those before it.

    Exit status 1 means that something was changed after it was saved; the files are named.

    :param model: a version's folder
    :param json: print one JSON document
    """
    folder = Path(model)
    found = inspect(folder)
    if json:
        say_json({"model": model, **as_dict(found)})
    elif found.sentences:
        say("\n".join([f"{model} is not as it was saved:", *(f"  {one}" for one in found.sentences)]))
    else:
        lineage = Lineage.read(folder)
        files = f"{found.files} file{'' if found.files == 1 else 's'}"
        versions = len(versions_of(lineage))
        chain = f"{versions} version{'' if versions == 1 else 's'}"
        say(f"{model} is as it was saved: {files}, a chain of {chain}, hash {short(lineage.own_hash)}")
    if found.unchecked:
        tell(f"not checked, because an older retainer wrote no hashes of them: {', '.join(found.unchecked)}")
    return NO if found.sentences else 0
