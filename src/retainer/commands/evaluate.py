"""`retainer evaluate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retainer.commands.output import say, say_json, say_table, score_table, tell
from retainer.corpora import read

if TYPE_CHECKING:
    from retainer.version import Version


def evaluate(model: str, data: str, /, *, all: bool = False, json: bool = False, device: str = "auto") -> None:
    """Score a model on annotated data: precision, recall and F1 of whole entities, in percent.

    :param model: a version's folder, any token-classification checkpoint, or a hub name
    :param data: annotated file
    :param all: count types the model does not know as missed, instead of leaving them out
    :param json: print one JSON document
    :param device: auto, cpu or cuda
    """
    corpus = read(data)
    from retainer.version import load

    version = load(model, device=device, need_head=True)
    unknown = [type_ for type_ in corpus.types if type_ not in version.types]
    if unknown:
        told = "count as missed" if all else "are left out (--all counts them as missed)"
        tell(f"types the model does not know {told}: {', '.join(unknown)}")
    scores, reliability = version.assess(corpus, all=all)
    means = {"old_macro": scores.macro_of(version.old_types), "new_macro": scores.macro_of(version.new_types)}
    if json:
        facts = {**scores.as_dict(), **means, "calibration": reliability}
        say_json({"model": model, "data": data, "unknown_types": unknown, **facts})
    else:
        say_table(score_table(scores, f"{model} on {data}", _rows(version, means)))
        say(_trust(reliability, bool(version.lineage.calibration)))


def _trust(reliability: dict[str, Any], calibrated: bool) -> str:
    """Say how far scores can be taken at their word."""
    plain, better = (reliability[name]["error"] for name in ("plain", "calibrated"))
    if plain is None:
        return "nothing was found, so nothing can be said about scores"
    after = f"; {better:.1f} with --calibrated" if calibrated else ""
    return f"scores are {plain:.1f} points from the share of entities that is right{after}"


def _rows(version: Version, means: dict[str, float | None]) -> dict[str, float]:
    """Name the two means that tell a version from a model: what was kept and what was gained."""
    if not (version.new_types and version.old_types):
        return {}
    named = {"keep (old types)": means["old_macro"], "gain (new types)": means["new_macro"]}
    return {name: value for name, value in named.items() if value is not None}
