"""`retainer rollback`."""

from __future__ import annotations

from pathlib import Path

from retainer.cli.output import say, say_json
from retainer.errors import disk_refusals
from retainer.files import in_words, require_free
from retainer.versions.rollback import roll_back, rollback_target


def rollback(
    model: str,
    /,
    *,
    out: str,
    steps: int | None = None,
    to: str | None = None,
    from_: str | None = None,
    json: bool = False,
) -> None:
    """Restore the previous version of MODEL, bit for bit, or one further back. MODEL stays as it is.

    It is searched by its hash: beside MODEL, where --from points, and inside versions that keep their parent
    (learn --keep-parent). What is found is compared with its record first.

    :param model: a version's folder
    :param out: folder to write; must not exist
    :param steps: how many versions to go back (default: 1)
    :param to: the beginning of the hash of the version to go back to (see: retainer log)
    :param from_: the folder of that version, or a folder of versions, if it is not beside MODEL
    :param json: print one JSON document
    """
    require_free(out)
    one = rollback_target(Path(model), steps, to)
    with disk_refusals(out):
        place, size = roll_back(Path(model), one, Path(out), None if from_ is None else Path(from_))
    types = [type_ for task in one.lineage.tasks for type_ in task]
    if json:
        facts = {"version": out, "hash": one.lineage.own_hash, "types": types, "from": str(place), "bytes": size}
        return say_json(facts)
    lines = [
        f"back to   {one.title}" + (f", which knows {', '.join(types)}" if types else ""),
        f"from      {place}",
        f"version   {out} ({in_words(size)} written)",
    ]
    say("\n".join(lines))
