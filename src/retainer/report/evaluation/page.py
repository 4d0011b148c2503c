"""The page of an evaluation: how well a version finds its types, and how far its scores can be taken at their word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from retainer.report.demo.page import environment, styles
from retainer.report.draw.runs import number, valid
from retainer.report.evaluation.reliability_numbers import (
    ALL,
    SIDES,
    TRUST_COLUMNS,
    Assessed,
    finding,
    remarks,
    score_rows,
    tenth_rows,
    trust_rows,
)
from retainer.report.evaluation.reliability_plots import FEW, key, plot


def evaluation_page(found: Sequence[Assessed], data: str, facts: Mapping[str, str]) -> str:
    """Write the page of a version, or of a chain of them, oldest first: the finding is about the newest."""
    newest = found[-1]
    headline = finding(newest)
    head, rows = score_rows(found)
    html = (
        environment()
        .get_template("evaluation.html.j2")
        .render(
            title=f"{newest.name} on {data}",
            finding=headline,
            plain_finding=headline.striptags(),
            more=remarks(newest),
            glances=_glances(newest),
            score_head=head,
            score_rows=rows,
            trust_columns=TRUST_COLUMNS,
            versions=[_version(one, at) for at, one in reversed(list(enumerate(found, 1)))],
            keys={kind: (key(kind), what) for kind, what in SIDES.items()},
            calibrated=any("calibrated" in one.sides() for one in found),
            few=FEW,
            facts=facts,
            styles=styles(),
        )
    )
    return valid(html)


def _glances(one: Assessed) -> list[dict[str, str]]:
    """Put the error on cards, before and after."""
    return [
        {
            "name": f"scores {what}",
            "number": number(side["error"]),
            "what": "points from the share of entities that is right",
        }
        for kind, what in SIDES.items()
        if (side := one.sides().get(kind)) is not None and side["error"] is not None
    ]


def _version(one: Assessed, at: int) -> dict[str, Any]:
    """Lay out the plots and the numbers of a version."""
    plots = [
        {
            "type": type_ or ALL,
            "picture": plot(f"plot-{at}-{place}", f"{one.name}, {type_ or ALL}", one.sides(type_)),
            "note": _note(one, type_),
            "tenths": [(SIDES[kind], tenth_rows(side)) for kind, side in one.sides(type_).items()],
        }
        for place, type_ in enumerate((None, *one.types))
    ]
    return {"name": one.name, "plots": plots, "rows": trust_rows(one)}


def _note(one: Assessed, type_: str | None) -> str:
    """Write the errors under the name of a plot."""
    values = [number(side["error"]) for side in one.sides(type_).values()]
    if values == ["–"]:
        return "nothing found"
    return f"{values[0]} points off" + (f", {values[1]} calibrated" if len(values) > 1 else ", not calibrated")
