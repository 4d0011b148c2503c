"""Reliability plots as SVG: how often entities are right against their score, before and after calibration."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from retainer.report.draw import theme
from retainer.report.draw.svg import join_parts, text_at
from retainer.report.evaluation.reliability_numbers import SCORE_KINDS, Reliability, side_total, tenth_rows

_LEFT, _TOP, _SIZE, _STRIP = 36.0, 14.0, 250.0, 40.0
"""The square of the plot, and the strip below it that shows how many entities each point stands for."""
_BOTTOM = _TOP + _SIZE + 34
_WIDTH, _HEIGHT = _LEFT + _SIZE + 14, _BOTTOM + _STRIP + 22
FEW_IN_A_TENTH = 10
"""Fewer entities than this in a tenth make a hollow mark: the share may well be chance."""
_LOOKS = {"plain": 1, "calibrated": 0}
"""The colour and the mark of each kind of score; lines differ in their dashes too, bars in being filled."""
_DASHES = {"plain": "5 4", "calibrated": ""}


def reliability_plot(name: str, title: str, sides: Mapping[str, Reliability]) -> Markup:
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
    return shape.format(_WIDTH, _HEIGHT, name, name, name, title, name, describe_plot(sides), join_parts(parts))


def legend_key(kind: str) -> Markup:
    """Draw the line and mark of a kind of score, for the legend."""
    shape = Markup('<svg class="key-line chart" viewBox="0 -7 34 14" aria-hidden="true">{}{}</svg>')
    return shape.format(_path(kind, "2,0 32,0"), _mark(kind, 17, 0, ""))


def describe_plot(sides: Mapping[str, Reliability]) -> str:
    """Describe what a plot shows, for readers who cannot see it."""
    parts = []
    for kind, side in sides.items():
        rows = [
            f"score {score} percent, right {right} percent of {count}" for _, (count, score, right) in tenth_rows(side)
        ]
        parts.append(f"{SCORE_KINDS[kind]}: {'; '.join(rows) or 'nothing found'}")
    return ". ".join(parts) + "."


def _x(share: float) -> float:
    return _LEFT + _SIZE * share


def _y(share: float) -> float:
    return _TOP + _SIZE * (1 - share)


def _axes(most: int) -> Markup:
    """Draw the grid, the diagonal on which scores mean what they say, and the axes' names."""
    grid = Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>')
    parts = []
    for percent in (0, 25, 50, 75, 100):
        share, kind = percent / 100, "grid base" if percent == 0 else "grid"
        parts += [
            grid.format(kind, _LEFT, _y(share), _LEFT + _SIZE, _y(share)),
            grid.format(kind, _x(share), _TOP, _x(share), _TOP + _SIZE),
            text_at("tick", _LEFT - 6, _y(share) + 4, str(percent), "end"),
            text_at("tick", _x(share), _TOP + _SIZE + 16, str(percent), "middle"),
        ]
    parts.append(grid.format("ideal", _x(0), _y(0), _x(1), _y(1)))
    parts.append(text_at("tick", _LEFT + 7, _TOP + 14, "right, %"))
    parts.append(text_at("tick", _LEFT + _SIZE - 7, _TOP + _SIZE - 8, "score, %", "end"))
    parts.append(grid.format("grid base", _LEFT, _BOTTOM + _STRIP, _LEFT + _SIZE, _BOTTOM + _STRIP))
    parts.append(text_at("tick", _LEFT - 6, _BOTTOM + _STRIP + 4, "0", "end"))
    if most:
        parts.append(
            text_at("tick", _LEFT - 6, _BOTTOM + 8, f"{most:,}" if most < 10_000 else f"{most // 1000}k", "end")
        )
    parts.append(
        text_at("tick", _LEFT + _SIZE / 2, _BOTTOM + _STRIP + 17, "entities in each tenth of scores", "middle")
    )
    return join_parts(parts)


def _bars(side: Reliability, kind: str, most: int) -> Markup:
    """Draw how many entities each tenth has: plain scores left and hollow, calibrated ones right and filled."""
    bar = Markup('<rect class="amount {} c{}" x="{:.1f}" y="{:.2f}" width="{:.1f}" height="{:.2f}"/>')
    width = _SIZE / 10 / 2 - 3
    bars = []
    for one in side["bins"]:
        x = _x(one["tenth"] / 10) + 2 + (width + 2) * (kind == "calibrated")
        height = max(1.0, _STRIP * one["count"] / most)
        bars.append(bar.format(kind, theme.hue(_LOOKS[kind]), x, _BOTTOM + _STRIP - height, width, height))
    return join_parts(bars)


def _line(side: Reliability, kind: str) -> Markup:
    points = " ".join(f"{_x(one['score']):.1f},{_y(one['right']):.2f}" for one in side["bins"])
    return _path(kind, points) if len(side["bins"]) > 1 else Markup("")


def _path(kind: str, points: str) -> Markup:
    dashes = Markup(' stroke-dasharray="{}"').format(_DASHES[kind]) if _DASHES[kind] else ""
    return Markup('<polyline class="line c{}"{} points="{}"/>').format(theme.hue(_LOOKS[kind]), dashes, points)


def _marks(side: Reliability, kind: str) -> Markup:
    """Mark every tenth; the title is what a mouse shows over it."""
    size = side_total(side)
    return join_parts(
        _mark(
            kind,
            _x(one["score"]),
            _y(one["right"]),
            f"{SCORE_KINDS[kind]}: score {100 * one['score']:.1f}, right {100 * one['right']:.1f} %, "
            f"{one['count']} of {size} entities",
            hollow=one["count"] < FEW_IN_A_TENTH,
        )
        for one in side["bins"]
    )


def _mark(kind: str, x: float, y: float, title: str, *, hollow: bool = False) -> Markup:
    shape = Markup('<path class="dot c{}{}" transform="translate({:.1f} {:.2f})" d="{}">{}</path>')
    tooltip = Markup("<title>{}</title>").format(title) if title else ""
    look = _LOOKS[kind]
    return shape.format(theme.hue(look), " few" if hollow else "", x, y, theme.marker(look), tooltip)
