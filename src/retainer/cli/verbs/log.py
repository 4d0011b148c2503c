"""`retainer log`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retainer.cli.output import say, say_json
from retainer.methods import describe_method
from retainer.plurals import amount, entities, sentences
from retainer.versions.history import describe_prior, describe_version, short_hash, versions_of
from retainer.versions.lineage import Lineage
from retainer.versions.rollback import require_record, versions_beside


def log(model: str, /, *, json: bool = False) -> None:
    """Print the history of a version, newest first: what each step brought, how, from what, and how well.

    :param model: a version's folder
    :param json: print one JSON document
    """
    folder = Path(model)
    chain = versions_of(require_record(folder))
    places = {chain[-1].own_hash: folder} | {hash_: place for hash_, place in versions_beside(folder).items() if hash_}
    newest_first = [_facts(one, number, places) for number, one in reversed(list(enumerate(chain, 1)))]
    if json:
        say_json({"model": model, "versions": newest_first})
    else:
        say("\n".join([line for one in newest_first for line in _lines(one)] + [_beginning(chain[0])]))


def _facts(one: Lineage, number: int, places: dict[str, Path]) -> dict[str, Any]:
    place = places.get(one.own_hash)
    gained = [] if one.change else list(one.tasks[-1])
    return {
        "number": number,
        "gained": gained,
        "what": describe_version(one),
        "types": [type_ for task in one.tasks for type_ in task],
        "place": None if place is None else str(place),
        **one.record,
        "hash": one.own_hash,
    }


def _lines(one: dict[str, Any]) -> list[str]:
    where = one["place"] or ("never saved" if not one["weights"] else "")
    head = f"● {short_hash(one['hash'])}  {one['created'].replace('T', ' ')[:16]} UTC  {where}".rstrip()
    lines = [f"{one['what']}; knows {', '.join(one['types'])}"]
    if one["method"]:
        how = f"{describe_method(one['method'], one['fields'])}{_adapters(one['recipe'])}"
        lines.append(f"{how}, {_data(one['data'])}, seed {one['seed']}")
    if prior := describe_prior(one["prior"], one["blend"]):
        lines.append(f"prior correction: {prior}")
    lines += _scores(one["scores"], aside=one["data"].get("dev_given") is False)
    return [head, *(f"│   {line}" for line in lines), "│"]


def _adapters(recipe: dict[str, Any]) -> str:
    rank = recipe.get("adapter_rank", 0)
    return f" with adapters of rank {rank}" if rank else ""


def _data(data: dict[str, Any]) -> str:
    counts = ", ".join(f"{count} {type_}" for type_, count in data.get("entities", {}).items())
    kept = f", {amount(data['exemplars']['sentences'], 'exemplar')}" if "exemplars" in data else ""
    text = f", {sentences(data['text']['sentences'])} of text" if "text" in data else ""
    return f"{sentences(data.get('sentences', 0))} ({counts}){kept}{text}"


def _scores(scores: dict[str, Any], *, aside: bool) -> list[str]:
    """Write F1 by type, with the number of entities where `learn` set them aside, and what became of every type."""
    balance = scores.get("balance", {})
    said = [balance["in_words"]] if balance.get("old") else []  # of a first version the scores say it all
    if scores.get("dev") is None and not scores.get("per_type"):  # the last epoch of some data set aside has the latter
        return ["F1 not measured", *said] if scores else []
    before = scores.get("before", {})
    parts = [
        f"{type_} {one['f1']:.2f}"
        + (f" ({entities(one['support'])})" if aside else "")
        + (f" (before {before[type_]['f1']:.2f})" if type_ in before else "")
        for type_, one in scores.get("per_type", {}).items()
    ]
    where = "F1 on what was set aside:" if aside else "dev F1"
    return [f"{where} {', '.join(parts) or format(scores['dev'], '.2f')}", *said]


def _beginning(first: Lineage) -> str:
    """Say what the oldest version was made from."""
    foreign = first.change.get("types") or [type_ for task in first.tasks[:-1] for type_ in task]
    if foreign and not first.parent_name:
        return f"○ {short_hash(first.parent)} and older, of which an older retainer wrote down no more"
    if foreign:
        return f"○ {first.parent_name}, which knew {', '.join(foreign)}"
    return f"○ {first.encoder}, a bare encoder"
