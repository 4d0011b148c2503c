"""How far the scores of a version can be trusted: the numbers and the words behind its plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from retainer.report.draw.runs import one_decimal

if TYPE_CHECKING:
    from retainer.metrics.f1 import Scores

Reliability = Mapping[str, Any]
"""An error and its tenths, as `retainer.metrics.calibration.reliability` makes them."""

ALL_TYPES = "all types"
_ABOUT_RIGHT = 1.0
"""Points by which the mean score may differ from the share that is right and still be called about right."""
SCORE_KINDS = {"plain": "as predicted", "calibrated": "calibrated"}
"""The two kinds of scores, and their names on the page."""
RELIABILITY_COLUMNS = {
    "found": "entities the version finds",
    "right": "share of them that is right, in percent: the precision",
    "mean score": "in percent; above the share that is right the version is overconfident, below it underconfident",
    "error": "the expected calibration error: how far a tenth's mean score is from the share right, weighted by size",
    "calibrated mean": "the same of scores as predict --calibrated gives them",
    "calibrated error": "the same of scores as predict --calibrated gives them",
}


@dataclass(frozen=True)
class AssessedVersion:
    """A version, measured on some data: its scores, and how far they can be trusted."""

    name: str
    scores: Scores
    reliability: Mapping[str, Any]
    curves: tuple[str, ...] = ()
    """Types that are calibrated."""

    @property
    def types(self) -> tuple[str, ...]:
        """The types that can be measured, in the order of learning."""
        return tuple(self.reliability["plain"]["per_type"])

    def side(self, side: str, type_: str | None = None) -> Reliability:
        """Return what was measured of one type, or of all together."""
        whole = self.reliability[side]
        found: Reliability = whole if type_ is None else whole["per_type"][type_]
        return found

    def sides(self, type_: str | None = None) -> dict[str, Reliability]:
        """Return the kinds of scores to compare: without a curve, calibrated scores equal the plain ones."""
        calibrated = any(one in self.curves for one in (self.types if type_ is None else (type_,)))
        return {side: self.side(side, type_) for side in SCORE_KINDS if side == "plain" or calibrated}


def side_total(side: Reliability) -> int:
    """Count the entities of a side."""
    return sum(one["count"] for one in side["bins"])


def side_mean(side: Reliability, what: str) -> float | None:
    """Return the mean score of all entities (``score``), or the share that is right (``right``), in percent."""
    size = side_total(side)
    return 100 * sum(one["count"] * one[what] for one in side["bins"]) / size if size else None


def evaluation_finding(one: AssessedVersion) -> Markup:
    """Report in one sentence how well a version finds entities, and how far its scores can be trusted."""
    start = Markup("{} reaches <b>{}</b> micro F1").format(one.name, one_decimal(one.scores.micro))
    sides = one.sides()
    if sides["plain"]["error"] is None:
        return start + Markup("; it finds nothing, so its scores cannot be measured.")
    after = (
        Markup("; calibrated, <b>{}</b>").format(one_decimal(sides["calibrated"]["error"]))
        if "calibrated" in sides
        else ""
    )
    off = Markup("; its scores are <b>{}</b> points from the share of entities that is right{}.")
    return start + off.format(one_decimal(sides["plain"]["error"]), after)


def reliability_remarks(one: AssessedVersion) -> list[str]:
    """Report in which direction scores are wrong, for which type most, and what was not calibrated."""
    plain = one.side("plain")
    score, right = side_mean(plain, "score"), side_mean(plain, "right")
    if score is None or right is None:
        return []
    lean = "overconfident" if score > right else "underconfident"
    if abs(score - right) < _ABOUT_RIGHT:
        lean = "about right"
    remarks = [
        f"On average it is {lean}: the mean score is {one_decimal(score)}, and {one_decimal(right)} % are right."
    ]
    worst = [(side["error"], type_) for type_ in one.types if (side := one.side("plain", type_))["error"] is not None]
    if len(worst) > 1:
        off, type_ = max(worst)
        after = one.side("calibrated", type_)["error"]
        better = f", {one_decimal(after)} calibrated" if type_ in one.curves else ""
        remarks.append(f"Furthest off is {type_}: {one_decimal(off)} points{better}.")
    if bare := [type_ for type_ in one.types if type_ not in one.curves]:
        remarks.append(
            f"Not calibrated: {', '.join(bare)}; too few were seen in learning, or retainer did not teach them."
        )
    return remarks


def f1_rows(found: Sequence[AssessedVersion]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return columns and rows of the scores: all of one version, or F1 of several side by side."""
    newest = found[-1].scores.per_type
    if len(found) == 1:
        head = ["support", "precision", "recall", "F1"]
        rows = {
            type_: [str(one.support), *(f"{value:.2f}" for value in (one.precision, one.recall, one.f1))]
            for type_, one in newest.items()
        }
    else:
        head = ["support", *(f"F1 of {one.name}" for one in found)]
        types = dict.fromkeys(type_ for one in found for type_ in one.scores.per_type)
        rows = {type_: [_support(found, type_), *(_f1(one, type_) for one in found)] for type_ in types}
    means = {"micro": "micro", "macro": "macro"}
    space = [""] * (len(head) - len(found))
    return head, [
        *rows.items(),
        *((name, [*space, *(f"{getattr(one.scores, what):.2f}" for one in found)]) for name, what in means.items()),
    ]


def _support(found: Sequence[AssessedVersion], type_: str) -> str:
    return next(str(one.scores.per_type[type_].support) for one in found if type_ in one.scores.per_type)


def _f1(one: AssessedVersion, type_: str) -> str:
    return f"{one.scores.per_type[type_].f1:.2f}" if type_ in one.scores.per_type else ""


def reliability_rows(one: AssessedVersion) -> list[tuple[str, list[str]]]:
    """Return a row per type, and one of all together last: the columns of ``RELIABILITY_COLUMNS``."""
    return [(type_ or ALL_TYPES, _trust(one, type_)) for type_ in (*one.types, None)]


def _trust(one: AssessedVersion, type_: str | None) -> list[str]:
    sides = one.sides(type_)
    plain = sides["plain"]
    values = [
        side_mean(plain, "right"),
        *(v for side in sides.values() for v in (side_mean(side, "score"), side["error"])),
    ]
    shown = [str(side_total(plain)), *("" if value is None else f"{value:.1f}" for value in values)]
    return shown + [""] * (len(RELIABILITY_COLUMNS) - len(shown))


def tenth_rows(side: Reliability) -> list[tuple[str, list[str]]]:
    """Return the tenths of a plot as a table: for a screen reader, and to read without pointing a mouse."""
    return [
        (
            f"{10 * one['tenth']} to {10 * one['tenth'] + 10}",
            [str(one["count"]), f"{100 * one['score']:.1f}", f"{100 * one['right']:.1f}"],
        )
        for one in side["bins"]
    ]
