"""Reliability plots as SVG: how often entities are right against their score, before and after calibration."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from retainer.report.draw import theme
from retainer.report.draw.svg import join, text_at
from retainer.report.evaluation.reliability_numbers import SIDES, Side, tenth_rows, total

LEFT, TOP, SIZE, STRIP = 36.0, 14.0, 250.0, 40.0
"""The square of the plot, and the strip below it that says how many entities stand behind a point."""
BOTTOM = TOP + SIZE + 34
WIDTH, HEIGHT = LEFT + SIZE + 14, BOTTOM + STRIP + 22
FEW = 10
"""Fewer entities than this in a tenth make a hollow mark: it may well be chance."""
LOOKS = {"plain": 1, "calibrated": 0}
"""The colour and the mark of each kind of score; lines differ in their dashes too, bars in being filled."""
DASHES = {"plain": "5 4", "calibrated": ""}


def plot(name: str, title: str, sides: Mapping[str, Side]) -> Markup:
    """Draw the plot of a type; ``name`` makes its ids unique."""
    shape = Markup(
        '<svg class="chart reliability" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-labelledby="{}-title {}-desc">\n'
        '<title id="{}-title">{}: how often entities are right, by score</title>\n<desc id="{}-desc">{}</desc>\n'
        "{}\n</svg>"
    )
    most = max((one["count"] for side in sides.values() for one in side["bins"]), default=0)
    parts = [_axes(most), *(_bars(side, kind, most) for kind, side in sides.items())]
    parts += [_line(side, kind) for kind, side in sides.items()]
    parts += [_marks(side, kind) for kind, side in sides.items()]
    return shape.format(WIDTH, HEIGHT, name, name, name, title, name, describe(sides), join(parts))


def key(kind: str) -> Markup:
    """Draw the line and mark of a kind of score, for the legend."""
    shape = Markup('<svg class="key-line chart" viewBox="0 -7 34 14" aria-hidden="true">{}{}</svg>')
    return shape.format(_path(kind, "2,0 32,0"), _mark(kind, 17, 0, ""))


def describe(sides: Mapping[str, Side]) -> str:
    """Say in words what a plot shows, for those who cannot see it."""
    told = []
    for kind, side in sides.items():
        rows = [
            f"score {score} percent, right {right} percent of {count}" for _, (count, score, right) in tenth_rows(side)
        ]
        told.append(f"{SIDES[kind]}: {'; '.join(rows) or 'nothing found'}")
    return ". ".join(told) + "."


def _x(share: float) -> float:
    return LEFT + SIZE * share


def _y(share: float) -> float:
    return TOP + SIZE * (1 - share)


def _axes(most: int) -> Markup:
    """Draw the grid, the diagonal on which scores mean what they say, and the axes' names."""
    grid = Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>')
    parts = []
    for percent in (0, 25, 50, 75, 100):
        share, kind = percent / 100, "grid base" if percent == 0 else "grid"
        parts += [
            grid.format(kind, LEFT, _y(share), LEFT + SIZE, _y(share)),
            grid.format(kind, _x(share), TOP, _x(share), TOP + SIZE),
            text_at("tick", LEFT - 6, _y(share) + 4, str(percent), "end"),
            text_at("tick", _x(share), TOP + SIZE + 16, str(percent), "middle"),
        ]
    parts.append(grid.format("ideal", _x(0), _y(0), _x(1), _y(1)))
    parts.append(text_at("tick", LEFT + 7, TOP + 14, "right, %"))
    parts.append(text_at("tick", LEFT + SIZE - 7, TOP + SIZE - 8, "score, %", "end"))
    parts.append(grid.format("grid base", LEFT, BOTTOM + STRIP, LEFT + SIZE, BOTTOM + STRIP))
    parts.append(text_at("tick", LEFT - 6, BOTTOM + STRIP + 4, "0", "end"))
    if most:
        parts.append(text_at("tick", LEFT - 6, BOTTOM + 8, f"{most:,}" if most < 10_000 else f"{most // 1000}k", "end"))
    parts.append(text_at("tick", LEFT + SIZE / 2, BOTTOM + STRIP + 17, "entities in each tenth of scores", "middle"))
    return join(parts)


def _bars(side: Side, kind: str, most: int) -> Markup:
    """Draw how many entities stand in each tenth: plain scores left and hollow, calibrated ones right and filled."""
    bar = Markup('<rect class="amount {} c{}" x="{:.1f}" y="{:.2f}" width="{:.1f}" height="{:.2f}"/>')
    width = SIZE / 10 / 2 - 3
    made = []
    for one in side["bins"]:
        x = _x(one["tenth"] / 10) + 2 + (width + 2) * (kind == "calibrated")
        height = max(1.0, STRIP * one["count"] / most)
        made.append(bar.format(kind, theme.hue(LOOKS[kind]), x, BOTTOM + STRIP - height, width, height))
    return join(made)


def _line(side: Side, kind: str) -> Markup:
    points = " ".join(f"{_x(one['score']):.1f},{_y(one['right']):.2f}" for one in side["bins"])
    return _path(kind, points) if len(side["bins"]) > 1 else Markup("")


def _path(kind: str, points: str) -> Markup:
    dashes = Markup(' stroke-dasharray="{}"').format(DASHES[kind]) if DASHES[kind] else ""
    return Markup('<polyline class="line c{}"{} points="{}"/>').format(theme.hue(LOOKS[kind]), dashes, points)


def _marks(side: Side, kind: str) -> Markup:
    """Mark every tenth; the title is what a mouse shows over it."""
    size = total(side)
    return join(
        _mark(
            kind,
            _x(one["score"]),
            _y(one["right"]),
            f"{SIDES[kind]}: score {100 * one['score']:.1f}, right {100 * one['right']:.1f} %, "
            f"{one['count']} of {size} entities",
            hollow=one["count"] < FEW,
        )
        for one in side["bins"]
    )


def _mark(kind: str, x: float, y: float, title: str, *, hollow: bool = False) -> Markup:
    shape = Markup('<path class="dot c{}{}" transform="translate({:.1f} {:.2f})" d="{}">{}</path>')
    told = Markup("<title>{}</title>").format(title) if title else ""
    look = LOOKS[kind]
    return shape.format(theme.hue(look), " few" if hollow else "", x, y, theme.marker(look), told)
