"""`retainer evaluate`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from retainer.about import __version__
from retainer.cli.columns import Columns
from retainer.cli.output import note, say, say_json, say_table, score_table
from retainer.data.corpus import Corpus
from retainer.data.io import read
from retainer.files import require_writable, write_document
from retainer.plurals import sentences

if TYPE_CHECKING:
    from retainer.metrics.f1 import Scores
    from retainer.report.evaluation.reliability_numbers import AssessedVersion
    from retainer.versions.version import Version


def evaluate(
    model: str,
    data: str,
    /,
    *,
    all: bool = False,
    json: bool = False,
    page: str | None = None,
    device: str = "auto",
    columns: Columns = {},  # noqa: B006 (never changed)
) -> None:
    """Score a model on annotated data: precision, recall and F1 of whole entities, in percent.

    Types of the model that are annotated nowhere in the data are named, and not scored: O means "not annotated".

    :param model: a version's folder, any token-classification checkpoint, or a hub name
    :param data: annotated file or folder in any format of docs/formats.md; detected from the content
    :param all: count types the model does not know as missed, instead of leaving them out
    :param json: print one JSON document
    :param page: also write an HTML page: how often entities are right against their scores, plain and calibrated
    :param device: auto, cpu or cuda
    :param columns: {columns}
    """
    target = None if page is None else require_writable(page)
    corpus = read(data, columns=columns)
    from retainer.versions.version import load

    version = load(model, device=device, need_head=True)
    unknown = [type_ for type_ in corpus.types if type_ not in version.types]
    if unknown:
        fate = "count as missed" if all else "are left out (--all counts them as missed)"
        note(f"types the model does not know {fate}: {', '.join(unknown)}")
    everything, reliability = version.assess(corpus, all=all)
    scores, bare = everything.only(corpus.types), unscored(version, corpus)
    tell_unscored(bare)
    if target is not None:
        called = shlex.join(["retainer", "evaluate", model, data, *(["--all"] if all else [])])
        write_document(target, page_of([assessed(version, model, scores, reliability)], data, corpus, called))
        note(f"page written to {target}")
    means = {
        "old_macro": everything.macro_of(version.old_types),
        "new_macro": everything.macro_of(version.new_types),
    }
    if json:
        total = {"micro_precision": scores.total.precision, "micro_recall": scores.total.recall}
        named = {"keep": means["old_macro"], "gain": means["new_macro"]}
        facts = {**scores.as_dict(), **total, **means, **named, "calibration": reliability}
        say_json({"model": model, "data": data, "unknown_types": unknown, "unscored_types": bare, **facts})
    else:
        say_table(score_table(scores, f"{model} on {data}", _rows(version, means)))
        say(_trust(reliability, bool(version.lineage.calibration)))


def unscored(version: Version, corpus: Corpus) -> list[str]:
    """Return the types of a version that the data have nowhere: whether a find of them is right cannot be known."""
    return [type_ for type_ in version.types if type_ not in corpus.types]


def tell_unscored(types: Iterable[str]) -> None:
    """Name the types that are not scored, if there are any."""
    if named := ", ".join(types):
        note(f"not in the data, so not scored: {named}")


def assessed(version: Version, name: str, scores: Scores, reliability: dict[str, Any]) -> AssessedVersion:
    """Put together what the page says about a version."""
    from retainer.report.evaluation.reliability_numbers import AssessedVersion

    return AssessedVersion(name, scores, reliability, tuple(version.lineage.calibration))


def page_of(found: list[AssessedVersion], data: str, corpus: Corpus, called: str) -> str:
    """Write the page of one version or of several; it holds no text of the data."""
    from retainer.report.evaluation.page import evaluation_page

    counts = ", ".join(f"{count} {type_}" for type_, count in sorted(corpus.counts.items()))
    facts = {
        "version" if len(found) == 1 else "versions": ", ".join(one.name for one in found),
        "data": f"{data}, {sentences(len(corpus))} ({counts})",
        "page made by": f"retainer {__version__}",
        "command": called,
    }
    return evaluation_page(found, data, facts)


def _trust(reliability: dict[str, Any], calibrated: bool) -> str:
    """Say how far scores can be taken at their word."""
    plain, better = (reliability[name]["error"] for name in ("plain", "calibrated"))
    if plain is None:
        return "nothing was found, so nothing can be said about scores"
    after = f"; {better:.1f} with predict --calibrated" if calibrated else ""
    return f"scores are {plain:.1f} points from the share of entities that is right (docs/scores.md){after}"


def _rows(version: Version, means: dict[str, float | None]) -> dict[str, float]:
    """Name the two means a version has beside a model's: what was kept and what was gained."""
    if not (version.new_types and version.old_types):
        return {}
    named = {"keep (old types)": means["old_macro"], "gain (new types)": means["new_macro"]}
    return {name: value for name, value in named.items() if value is not None}
