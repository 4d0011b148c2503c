"""The page of two versions: what was kept and gained in words and numbers, and every text in which they differ."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from retainer.report.compare.compare_rows import (
    DRIFT_COLUMNS,
    SCORE_COLUMNS,
    amount,
    drift_rows,
    headline,
    mean_rows,
    percent,
    remarks,
    score_rows,
)
from retainer.report.demo.page import environment, styles
from retainer.report.draw import theme
from retainer.report.draw.runs import valid

if TYPE_CHECKING:
    from retainer.comparison.changes import Case, Change
    from retainer.comparison.compare import Difference
    from retainer.comparison.gates import GateOutcome
    from retainer.data.spans import Span

MOST = 10_000
"""Texts on a page; with more, browsers become slow."""
CONTEXT = 200
"""Characters of a long text shown on each side of a change."""
LONG = 1200
"""Characters from which a text is long."""

KINDS = {
    "lost": "lost",
    "relabelled": "relabelled",
    "moved": "boundary moved",
    "gained": "gained",
    "kept": "kept (beside a change)",
}


@dataclass(frozen=True)
class Piece:
    """A stretch of text; with a kind, an entity. ``note`` says what happened to it."""

    text: str
    kind: str = ""
    type: str = ""
    note: str = ""


def version_page(
    difference: Difference, old: str, new: str, outcomes: Sequence[GateOutcome], facts: Mapping[str, str]
) -> str:
    """Write the page: the verdict, the scores, the drift, the texts, how it was made."""
    finding = headline(difference, old, new)
    script = files("retainer.report").joinpath("templates", "versions.js").read_text(encoding="utf-8")
    types = (*difference.types.old, *difference.types.gained)
    differing = sum(case.differs for case in difference.cases)
    html = (
        environment()
        .get_template("versions.html.j2")
        .render(
            title=f"{old} → {new}",
            finding=finding,
            plain_finding=finding.striptags(),
            more=[*remarks(difference), *(f"{note[0].upper()}{note[1:]}." for note in difference.types.notes())],
            outcomes=outcomes,
            glances=_glances(difference),
            score_columns=SCORE_COLUMNS,
            scores=score_rows(difference),
            means=mean_rows(difference),
            drift_columns=DRIFT_COLUMNS,
            drifts=drift_rows(difference),
            kinds=KINDS,
            types=types,
            scored=bool(difference.scored_types),
            cases=islice(_cases(difference), MOST),
            differing=differing,
            most=MOST,
            amount=amount(difference),
            unit="line" if difference.types.annotated is None else "sentence",
            hues={type_: theme.hue(at) for at, type_ in enumerate(types)},
            facts=facts,
            styles=styles(),
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )
    return valid(html)


def _glances(difference: Difference) -> list[dict[str, str]]:
    """Put the means on cards."""
    cards = [
        {"name": name, "number": number, "what": what, "note": f"95 %: {between}" if between else ""}
        for name, what, number, between in mean_rows(difference)
    ]
    total = difference.total
    if total.agreement is not None:
        note = f"95 %: {total.low:.1f} to {total.high:.1f}"
        what = "F1 on the old types if the old version’s entities were the truth"
        cards.append({"name": "agreement", "number": percent(total.agreement), "what": what, "note": note})
    return cards


def _cases(difference: Difference) -> Iterator[dict[str, Any]]:
    """Lay out the texts in which the versions differ."""
    scored = set(difference.scored_types)
    for case in difference.cases:
        if case.differs:
            gold = set(case.gold)
            told = [[one.kind, list(one.types), one.right(gold, scored)] for one in case.changes]
            kept = _window(case)
            yield {
                "number": case.number,
                "kinds": ", ".join(dict.fromkeys(one.kind for one in case.changes if one.kind != "kept")),
                "changes": json.dumps(told),
                "gold": _pieces(case.text, [(span, "kept", "") for span in case.gold], kept),
                "old": _pieces(case.text, _side(case, "old", gold, scored), kept),
                "new": _pieces(case.text, _side(case, "new", gold, scored), kept),
            }


Marks = list[tuple["Span", str, str]]


def _side(case: Case, side: str, gold: set[Span], scored: set[str]) -> Marks:
    """Return the entities one version finds, each with what becomes of it and, where one can tell, if it is right."""
    marks: Marks = []
    for change in case.changes:
        span: Span | None = getattr(change, side)
        if span is not None:
            right = ("✓" if span in gold else "✗") if span.type in scored else ""
            marks.append((span, change.kind, " ".join(part for part in (_fate(change, side), right) if part)))
    return sorted(marks)


def _fate(change: Change, side: str) -> str:
    """Say what becomes of an entity in a word or two."""
    if change.kind == "relabelled" and change.old and change.new:
        return f"now {change.new.type}" if side == "old" else f"was {change.old.type}"
    return "" if change.kind == "kept" else change.kind


def _window(case: Case) -> list[tuple[int, int]]:
    """Return the parts of a text worth showing: all of it, or what is around the changes of a long one."""
    if len(case.text) <= LONG:
        return [(0, len(case.text))]
    parts: list[tuple[int, int]] = []
    for change in case.changes:
        if change.kind != "kept":
            start, end = (_to_blank(case.text, change.place[0] - CONTEXT, -1), change.place[1] + CONTEXT)
            end = _to_blank(case.text, end, 1)
            if parts and start <= parts[-1][1]:
                start, end = parts[-1][0], max(end, parts.pop()[1])
            parts.append((start, end))
    return parts


def _to_blank(text: str, at: int, step: int) -> int:
    """Move an edge outwards to a blank, but not far: some texts have none."""
    for place in range(at, at + 30 * step, step):
        if not 0 < place < len(text):
            break
        if text[place].isspace():
            return place
    return max(0, min(len(text), at))


def _pieces(text: str, marks: Marks, kept: Sequence[tuple[int, int]]) -> list[Piece]:
    """Cut the shown parts of a text at its entities."""
    pieces: list[Piece] = []
    for start, end in kept:
        at = start
        pieces.append(Piece("… " if start and not pieces else ""))
        for span, kind, note in marks:
            if start <= span.start and span.end <= end:
                pieces += [Piece(text[at : span.start]), Piece(text[span.start : span.end], kind, span.type, note)]
                at = span.end
        pieces.append(Piece(text[at:end] + (" … " if end < len(text) else "")))
    return [piece for piece in pieces if piece.text]
