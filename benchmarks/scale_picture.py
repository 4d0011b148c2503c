"""Draw what `benchmarks/scale.py` measured: CPU seconds and memory against the size, on log axes, with slopes.

    python benchmarks/scale_picture.py docs/scale.svg results/scale-cpu.json results/scale-learn-cpu.json

Of a part that several files have, the last one counts.
"""

import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from retainer.report.draw import theme
from retainer.report.draw.charts import chart_css
from retainer.report.draw.svg import LABEL_GAP, join_parts, spread_apart, text_at

UNITS = {
    "learn-sentences": "learn: sentences",
    "learn-types": "learn: types known",
    "learn-tasks": "learn: tasks before",
    "predict": "predict: texts",
    "predict-out": "predict --out: texts",
    "compare": "compare: texts",
    "report": "report: cells",
    "log": "log: versions",
}
"""The parts, by what they are measured against."""
LEFT, TOP, WIDTH, HEIGHT, LABELS = 50.0, 64.0, 330.0, 330.0, 200.0
"""The place of a plot, and the room for the names beside it."""


@dataclass(frozen=True)
class Axis:
    """Powers of ten along a line."""

    low: int
    high: int
    place: Callable[[float], float]
    """Where a share of the axis lies."""

    def __call__(self, value: float) -> float:
        """Place a value."""
        return self.place((math.log10(value) - self.low) / (self.high - self.low))

    @property
    def ticks(self) -> list[float]:
        """Return its powers of ten."""
        return [10.0**power for power in range(self.low, self.high + 1)]


def power(value: float) -> str:
    """Write a power of ten for a reader."""
    return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k" if value >= 1e3 else f"{value:g}"


def grid(x: Axis, y: Axis) -> Markup:
    """Draw the powers of ten."""
    shape = Markup('<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>')
    across = [shape.format(LEFT, LEFT + WIDTH, y(value), y(value)) for value in y.ticks]
    along = [shape.format(x(value), x(value), TOP, TOP + HEIGHT) for value in x.ticks]
    names = [text_at("tick", LEFT - 6, y(value) + 4, power(value), "end") for value in y.ticks]
    names += [text_at("tick", x(value), TOP + HEIGHT + 18, power(value), "middle") for value in x.ticks]
    return join_parts([*across, *along, *names])


def series(index: int, points: Sequence[tuple[float, float]]) -> Markup:
    """Draw the line and the marks of a part."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    line = Markup('<polyline class="line c{}"{} points="{}"/>').format(theme.hue(index), _dashes(index), path)
    dot = Markup('<path class="dot c{}" transform="translate({:.1f} {:.1f})" d="{}"/>')
    return join_parts([line, *(dot.format(theme.hue(index), x, y, theme.marker(index)) for x, y in points)])


def _dashes(index: int) -> Markup:
    return Markup(' stroke-dasharray="{}"').format(theme.dash(index)) if theme.dash(index) else Markup("")


def panel(parts: dict[str, Any], field: str, heading: str, y: Axis) -> Markup:
    """Draw one quantity of all parts."""
    x = x_axis()
    drawn, ends = [grid(x, y)], list[tuple[float, float, int, str]]()
    for index, (part, unit) in enumerate(UNITS.items()):
        points = [point for point in parts.get(part, {"points": []})["points"] if point["size"]]
        places = [(x(point["size"]), y(point[field])) for point in points]
        if places:
            drawn.append(series(index, places))
            slope = parts[part]["slopes"][field]
            ends.append((places[-1][1], places[-1][0], index, f"{unit}{_slope(slope)}"))
    ends.sort()
    heights = spread_apart([end[0] for end in ends], LABEL_GAP, TOP, TOP + HEIGHT)
    leader = Markup('<path class="leader c{}" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>')
    for (height, at, index, name), place in zip(ends, heights, strict=True):
        drawn.append(leader.format(theme.hue(index), at + 6, height, LEFT + WIDTH + 6, place))
        drawn.append(text_at(f"name c{theme.hue(index)}", LEFT + WIDTH + 10, place + 4.5, name))
    return join_parts([text_at("heading", LEFT, 34, heading), *drawn])


def x_axis() -> Axis:
    """Return the axis of sizes, which all panels share."""
    return Axis(0, 6, lambda share: LEFT + WIDTH * share)


def _upwards(share: float) -> float:
    return TOP + HEIGHT * (1 - share)


def _slope(slope: dict[str, float]) -> str:
    return f" ({slope['last']:.2f})" if slope else ""


def picture(document: dict[str, Any]) -> str:
    """Draw both panels as one file that stands alone, readable on a light and on a dark page."""
    parts = document["parts"]
    panels = [
        panel(parts, "cpu_seconds", "CPU seconds", Axis(-1, 3, _upwards)),
        panel(parts, "peak_mib", "peak memory, MiB", Axis(1, 4, _upwards)),
    ]
    wide, high = LEFT + WIDTH + LABELS, TOP + HEIGHT + 62
    light, dark = (theme.resolve(chart_css(), palette) for palette in (theme.LIGHT, theme.DARK))
    note = "Log axes; the start is in every point. In brackets the slope of the last two points beyond it: 1 is linear."
    shape = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {w:.0f} {h:.0f}" width="{w:.0f}" '
        'height="{h:.0f}" role="img" aria-labelledby="scale-title">\n<title id="scale-title">CPU seconds and peak '
        "memory against the size of the work, on log axes</title>\n<style>\n{style}\n</style>\n"
        '<rect class="backdrop" x="0.5" y="0.5" width="{rw:.0f}" height="{rh:.0f}" rx="10"/>\n'
        '{first}\n<g transform="translate({shift:.0f} 0)">\n{second}\n</g>\n{note}\n</svg>\n'
    )
    style = Markup(f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}")
    drawing = shape.format(
        w=2 * wide,
        h=high,
        rw=2 * wide - 1,
        rh=high - 1,
        style=style,
        first=panels[0],
        second=panels[1],
        shift=wide,
        note=text_at("note", LEFT, high - 18, note),
    )
    return str(drawing)


def table(document: dict[str, Any]) -> str:
    """Write the slopes as Markdown."""
    rows = ["| what grows | from, to | CPU seconds at the end | slope | MiB at the end | slope |", "| --- " * 6 + "|"]
    for part, unit in UNITS.items():
        if len(points := document["parts"].get(part, {}).get("points", [])) > 1:
            slopes, last = document["parts"][part]["slopes"], points[-1]
            cpu, memory = (_cell(slopes[field]) for field in ("cpu_seconds", "peak_mib"))
            span = f"{points[1]['size']:,} to {last['size']:,}"
            rows.append(f"| {unit} | {span} | {last['cpu_seconds']:.1f} | {cpu} | {last['peak_mib']:.0f} | {memory} |")
    return "\n".join(rows)


def _cell(slope: dict[str, float]) -> str:
    return f"{slope['all']:.2f}, at the end {slope['last']:.2f}" if slope else "flat"


if __name__ == "__main__":
    target, *given = map(Path, sys.argv[1:])
    measured = [json.loads(file.read_text(encoding="utf-8"))["parts"] for file in given]
    document = {"parts": {name: part for parts in measured for name, part in parts.items()}}
    target.write_text(picture(document), encoding="utf-8")
    print(table(document))
