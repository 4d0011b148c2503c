"""`retainer types`, and `retainer types rename`, `merge`, `drop` and `split`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retainer.cli.output import say, say_json
from retainer.errors import InputError, disk_refusals
from retainer.files import in_words, require_free, size_of
from retainer.plurals import entities
from retainer.versions.history import describe_change, origins, short_hash

if TYPE_CHECKING:
    from retainer.versions.history import Origin
    from retainer.versions.version import Version


def types(model: str, /, *, json: bool = False) -> None:
    """List the types of a model, and where each comes from; or change them, without any training.

    retainer types rename MODEL OLD=NEW,... --out DIR;
    retainer types merge MODEL A,B --into C --out DIR;
    retainer types drop MODEL A,B --out DIR;
    retainer types split MODEL A --into B,C --out DIR.
    Each of these explains itself (retainer types rename --help); docs/versions.md has examples.

    :param model: a version's folder, any token-classification checkpoint, or a hub name
    :param json: print one JSON document
    """
    version = _load(model)
    known = origins(version.lineage) if version.lineage.created else {}
    rows: list[dict[str, Any]] = []
    for type_ in version.types:
        rows.append(
            {
                "type": type_,
                **_origin_facts(known.get(type_)),
                "pending": type_ in version.lineage.pending,
                "labels": [version.tagger.labels.names[at] for at in version.tagger.labels.of([type_])],
            }
        )
    if json:
        say_json({"model": model, "types": rows})
    else:
        say("\n".join(_line(row) for row in rows))


def _origin_facts(origin: Origin | None) -> dict[str, Any]:
    """Return where a type comes from and its F1, with what that was measured on; of a foreign type nothing is known."""
    if origin is None:
        names = ("version", "f1", "f1_when_learned", "support", "set_aside")
        return {**dict.fromkeys(names), "story": ""}
    seen, aside = (origin.now, origin.now_aside) if origin.now else (origin.then, origin.then_aside)
    return {
        "version": origin.version,
        "f1": origin.now["f1"] if origin.now else None,
        "f1_when_learned": origin.then["f1"] if origin.then else None,
        "support": seen["support"] if seen else None,
        "set_aside": aside if seen else None,
        "story": origin.story,
    }


def _line(row: dict[str, Any]) -> str:
    learned = f"learned in version {row['version']}" if row["version"] else ""
    parts = [learned, _f1(row), row["story"], "waits to be learned" if row["pending"] else ""]
    about = "; ".join(part for part in parts if part)
    return f"{row['type']}" + (f"  ({about})" if about else "")


def _f1(row: dict[str, Any]) -> str:
    """Say how well a type is found, as far as that was ever measured; of a foreign model nothing is known."""
    where = f"{entities(row['support'])} set aside" if row["set_aside"] else "dev"
    if row["f1"] is not None:
        return f"F1 {row['f1']:.2f} on {where}"
    if row["f1_when_learned"] is not None:
        return f"F1 {row['f1_when_learned']:.2f} on {where} when it was learned, not measured since"
    return "" if row["version"] is None else "F1 not measured"


def rename(model: str, /, *pairs: str, out: str, keep_parent: bool = False, json: bool = False) -> None:
    """Give types other names. All predictions stay what they are.

    :param model: a version's folder, any token-classification checkpoint, or a hub name
    :param pairs: OLD=NEW, as many as you like, with commas or spaces between; two types may swap their names
    :param out: folder for the new version; must not exist
    :param keep_parent: keep what is needed to restore MODEL (retainer rollback) inside the new version
    :param json: print the record of the new version
    """
    require_free(out)
    version = _load(model)
    found = [_pair(part, version.types) for pair in pairs for part in _listed_pairs(pair, version.types)]
    names = dict(found)
    if len(names) < len(found):
        raise InputError("a type is to get two names; give each type one")
    from retainer.versions import retype

    _save(retype.rename_types(version, names), version, out, keep_parent, json)


def merge(model: str, /, *types: str, into: str, out: str, keep_parent: bool = False, json: bool = False) -> None:
    """Merge several types into one: it is found wherever one of them was, with the score of the surest.

    :param model: a version's folder, any token-classification checkpoint, or a hub name
    :param types: the types to merge, with commas or spaces between: A,B
    :param into: the name of the merged type, a new one or that of a part
    :param out: folder for the new version; must not exist
    :param keep_parent: keep what is needed to restore MODEL (retainer rollback) inside the new version
    :param json: print the record of the new version
    """
    require_free(out)
    version = _load(model)
    from retainer.versions import retype

    _save(retype.merge_types(version, _listed(types, version.types), into), version, out, keep_parent, json)


def drop(model: str, /, *types: str, out: str, keep_parent: bool = False, json: bool = False) -> None:
    """Stop finding types: where one of them was found, there is no entity any more. Other types do not change.

    :param model: a version's folder, any token-classification checkpoint, or a hub name
    :param types: the types to drop, with commas or spaces between: A,B
    :param out: folder for the new version; must not exist
    :param keep_parent: keep what is needed to restore MODEL (retainer rollback) inside the new version
    :param json: print the record of the new version
    """
    require_free(out)
    version = _load(model)
    from retainer.versions import retype

    _save(retype.drop_types(version, _listed(types, version.types)), version, out, keep_parent, json)


def split(
    model: str, type: str, /, *, into: tuple[str, ...], out: str, keep_parent: bool = False, json: bool = False
) -> None:
    """Split a type into finer ones. The first is found where the type was, until `learn` teaches the difference.

    :param model: a version's folder, any token-classification checkpoint, or a hub name
    :param type: the type to split
    :param into: the names of the finer types, with commas: B,C; one of them may be the old name
    :param out: folder for the new version; must not exist
    :param keep_parent: keep what is needed to restore MODEL (retainer rollback) inside the new version
    :param json: print the record of the new version
    """
    require_free(out)
    version = _load(model)
    from retainer.versions import retype

    _save(retype.split_type(version, type, into), version, out, keep_parent, json)


def _load(model: str) -> Version:
    from retainer.versions.version import load

    return load(model, device="cpu", need_head=True)


def _listed(given: Sequence[str], known: Collection[str]) -> list[str]:
    """Read names with commas or spaces between; the name of a known type is one, whatever it holds."""
    return [name for one in given for name in ([one] if one in known else map(str.strip, one.split(",")))]


def _listed_pairs(given: str, known: Collection[str]) -> list[str]:
    """Read pairs with commas between; where one of them begins with no known type, the comma belongs to a name."""
    parts = [part.strip() for part in given.split(",")]
    return parts if all(any(part.startswith(f"{type_}=") for type_ in known) for part in parts) else [given]


def _pair(text: str, types: tuple[str, ...]) -> tuple[str, str]:
    """Read OLD=NEW; a name may hold the sign too, so the cut that gives a known type is the right one."""
    cuts = [(text[:at], text[at + 1 :]) for at, sign in enumerate(text) if sign == "="]
    if not cuts:
        raise InputError(f"{text!r} is not a pair of names; write OLD=NEW")
    return next((cut for cut in cuts if cut[0] in types), cuts[0])


def _save(made: Version, version: Version, out: str, keep_parent: bool, json: bool) -> None:
    """Write the new version, and say what it is and what it takes."""
    from retainer.versions.stored_parent import require_storable_parent

    parent = require_storable_parent(version.place, version.types) if keep_parent else None
    with disk_refusals(out):
        made.save(out, keep_parent=parent)
    record = made.lineage
    size = size_of(Path(out))
    if json:
        return say_json({"version": out, "bytes": size, **record.record})
    lines = [
        f"{describe_change(record.change)}",
        f"types     {', '.join(made.types)}",
        f"version   {out} ({short_hash(record.hash)}, {in_words(size)})",
    ]
    if record.change["verb"] == "split":
        first, *others = next(iter(record.change["became"].values()))
        lines += ["", f"Until they are learned, {first} is found instead of {', '.join(others)}. Teach the difference:"]
        lines.append(f"          retainer learn DATA --from {out} --out DIR")
    say("\n".join(lines))
