"""The page of two versions: what was kept and gained, in words and numbers, and every text in which they differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from retainer.report.compare.rows import (
    AGREEMENT_COLUMNS,
    SCORE_COLUMNS,
    agreement_rows,
    compared_amount,
    comparison_finding,
    comparison_remarks,
    mean_rows,
    percent,
    score_rows,
)
from retainer.report.draw import theme
from retainer.report.draw.html import page_script, render

if TYPE_CHECKING:
    from retainer.comparison.changes import Case, Change
    from retainer.comparison.compare import Difference
    from retainer.comparison.gates import GateOutcome
    from retainer.data.spans import Span

MOST_TEXTS = 10_000
"""The most texts on a page; with more, browsers become slow."""
_CONTEXT = 200
"""Characters of a long text shown on each side of a change."""
_LONG_TEXT = 1200
"""Characters from which a text is long."""

_KIND_NAMES = {
    "lost": "lost",
    "relabelled": "relabelled",
    "moved": "boundary moved",
    "gained": "gained",
    "kept": "kept (beside a change)",
}


@dataclass(frozen=True)
class _Piece:
    """A stretch of text; with a kind, an entity. ``note`` says what happened to it."""

    text: str
    kind: str = ""
    type: str = ""
    note: str = ""


def compare_page(
    difference: Difference, old: str, new: str, outcomes: Sequence[GateOutcome], facts: Mapping[str, str]
) -> str:
    """Write the page: the verdict, the scores, the agreement, the texts, how it was made."""
    types = (*difference.types.old, *difference.types.gained)
    differing = sum(case.differs for case in difference.cases)
    return render(
        "compare.html.j2",
        comparison_finding(difference, old, new),
        title=f"{old} → {new}",
        more=[*comparison_remarks(difference), *(f"{note[0].upper()}{note[1:]}." for note in difference.types.notes())],
        outcomes=outcomes,
        glances=_glances(difference),
        score_columns=SCORE_COLUMNS,
        scores=score_rows(difference),
        means=mean_rows(difference),
        agreement_columns=AGREEMENT_COLUMNS,
        agreements=agreement_rows(difference),
        kinds=_KIND_NAMES,
        types=types,
        scored=bool(difference.scored_types),
        cases=islice(_cases(difference), MOST_TEXTS),
        differing=differing,
        most=MOST_TEXTS,
        amount=compared_amount(difference),
        unit="line" if difference.types.annotated is None else "sentence",
        hues={type_: theme.hue(at) for at, type_ in enumerate(types)},
        facts=facts,
        **page_script("compare.js"),
    )


def _glances(difference: Difference) -> list[dict[str, str]]:
    """Put the means on cards."""
    cards = [
        {"name": name, "number": number, "what": what, "note": f"95 %: {between}" if between else ""}
        for name, what, number, between in mean_rows(difference)
    ]
    total = difference.total
    if total.agreement is not None:
        note = f"95 %: {total.low:.1f} to {total.high:.1f}"
        what = "F1 on the old types with the old version’s entities as gold"
        cards.append({"name": "agreement", "number": percent(total.agreement), "what": what, "note": note})
    return cards


def _cases(difference: Difference) -> Iterator[dict[str, Any]]:
    """Lay out the texts in which the versions differ."""
    scored = set(difference.scored_types)
    for case in difference.cases:
        if case.differs:
            gold = set(case.gold)
            listed = [[one.kind, list(one.types), one.right(gold, scored)] for one in case.changes]
            shown = _window(case)
            yield {
                "number": case.number,
                "kinds": ", ".join(dict.fromkeys(one.kind for one in case.changes if one.kind != "kept")),
                "changes": json.dumps(listed),
                "gold": _pieces(case.text, [(span, "kept", "") for span in case.gold], shown),
                "old": _pieces(case.text, _side(case, "old", gold, scored), shown),
                "new": _pieces(case.text, _side(case, "new", gold, scored), shown),
            }


_Marks = list[tuple["Span", str, str]]


def _side(case: Case, side: str, gold: set[Span], scored: set[str]) -> _Marks:
    """Return the entities one version finds, each with what becomes of it and, if annotated, whether it is right."""
    marks: _Marks = []
    for change in case.changes:
        span: Span | None = getattr(change, side)
        if span is not None:
            right = ("✓" if span in gold else "✗") if span.type in scored else ""
            marks.append((span, change.kind, " ".join(part for part in (_fate(change, side), right) if part)))
    return sorted(marks)


def _fate(change: Change, side: str) -> str:
    """Describe in a word or two what becomes of an entity."""
    if change.kind == "relabelled" and change.old and change.new:
        return f"now {change.new.type}" if side == "old" else f"was {change.old.type}"
    return "" if change.kind == "kept" else change.kind


def _window(case: Case) -> list[tuple[int, int]]:
    """Return the parts of a text worth showing: all of it, or what is around the changes of a long one."""
    if len(case.text) <= _LONG_TEXT:
        return [(0, len(case.text))]
    parts: list[tuple[int, int]] = []
    for change in case.changes:
        if change.kind != "kept":
            start, end = (_to_space(case.text, change.place[0] - _CONTEXT, -1), change.place[1] + _CONTEXT)
            end = _to_space(case.text, end, 1)
            if parts and start <= parts[-1][1]:
                start, end = parts[-1][0], max(end, parts.pop()[1])
            parts.append((start, end))
    return parts


def _to_space(text: str, at: int, step: int) -> int:
    """Move an edge outwards to a space, but not far: some texts have none."""
    for place in range(at, at + 30 * step, step):
        if not 0 < place < len(text):
            break
        if text[place].isspace():
            return place
    return max(0, min(len(text), at))


def _pieces(text: str, marks: _Marks, shown: Sequence[tuple[int, int]]) -> list[_Piece]:
    """Cut the shown parts of a text at its entities."""
    pieces: list[_Piece] = []
    for start, end in shown:
        at = start
        pieces.append(_Piece("… " if start and not pieces else ""))
        for span, kind, note in marks:
            if start <= span.start and span.end <= end:
                pieces += [_Piece(text[at : span.start]), _Piece(text[span.start : span.end], kind, span.type, note)]
                at = span.end
        pieces.append(_Piece(text[at:end] + (" … " if end < len(text) else "")))
    return [piece for piece in pieces if piece.text]
