"""The page of an evaluation: how well a version finds its types, and how far its scores can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from retainer.report.draw.html import render
from retainer.report.draw.runs import one_decimal
from retainer.report.evaluation.reliability_numbers import (
    ALL_TYPES,
    RELIABILITY_COLUMNS,
    SCORE_KINDS,
    AssessedVersion,
    evaluation_finding,
    f1_rows,
    reliability_remarks,
    reliability_rows,
    tenth_rows,
)
from retainer.report.evaluation.reliability_plots import FEW_IN_A_TENTH, legend_key, reliability_plot


def evaluation_page(found: Sequence[AssessedVersion], data: str, facts: Mapping[str, str]) -> str:
    """Write the page of a version, or of a chain of them, oldest first: the finding is about the newest."""
    newest = found[-1]
    head, rows = f1_rows(found)
    return render(
        "evaluation.html.j2",
        evaluation_finding(newest),
        title=f"{newest.name} on {data}",
        more=reliability_remarks(newest),
        glances=_glances(newest),
        score_head=head,
        score_rows=rows,
        reliability_columns=RELIABILITY_COLUMNS,
        versions=[_version(one, at) for at, one in reversed(list(enumerate(found, 1)))],
        keys={kind: (legend_key(kind), what) for kind, what in SCORE_KINDS.items()},
        calibrated=any("calibrated" in one.sides() for one in found),
        few=FEW_IN_A_TENTH,
        facts=facts,
    )


def _glances(one: AssessedVersion) -> list[dict[str, str]]:
    """Put the error on cards, before and after."""
    return [
        {
            "name": f"scores {what}",
            "number": one_decimal(side["error"]),
            "what": "points from the share of entities that is right",
        }
        for kind, what in SCORE_KINDS.items()
        if (side := one.sides().get(kind)) is not None and side["error"] is not None
    ]


def _version(one: AssessedVersion, at: int) -> dict[str, Any]:
    """Lay out the plots and the numbers of a version."""
    plots = [
        {
            "type": type_ or ALL_TYPES,
            "picture": reliability_plot(f"plot-{at}-{place}", f"{one.name}, {type_ or ALL_TYPES}", one.sides(type_)),
            "note": _note(one, type_),
            "tenths": [(SCORE_KINDS[kind], tenth_rows(side)) for kind, side in one.sides(type_).items()],
        }
        for place, type_ in enumerate((None, *one.types))
    ]
    return {"name": one.name, "plots": plots, "rows": reliability_rows(one)}


def _note(one: AssessedVersion, type_: str | None) -> str:
    """Write the errors under the name of a plot."""
    values = [one_decimal(side["error"]) for side in one.sides(type_).values()]
    if values == ["–"]:
        return "nothing found"
    return f"{values[0]} points off" + (f", {values[1]} calibrated" if len(values) > 1 else ", not calibrated")
