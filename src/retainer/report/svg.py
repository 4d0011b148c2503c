"""Line charts as SVG: F1 per type over the tasks, one panel per method."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from textwrap import wrap
from typing import Any

from markupsafe import Markup

from retainer.report import theme
from retainer.report.runs import Run, number, runs_of, types_of, valid

Point = tuple[float, float]

_TEXT = 13
_LABEL_GAP = 18
_LABEL_MOST = 150
_TICK_LEAST = 44
_MARGIN = 28
_NOTES = (
    "F1 in percent, per entity type, after each task.",
    "A task annotates only its own types; the data of earlier tasks are never seen again.",
)


@dataclass(frozen=True)
class Frame:
    """The geometry all panels of a report share, so that they can be compared by eye."""

    tasks: int
    labels: int
    label_width: float
    left: float = 34
    top: float = 26
    plot_width: float = 270
    inset: float = 16
    least_height: float = 240
    low: int = 0
    label_most: float = _LABEL_MOST

    @property
    def plot_height(self) -> float:
        """Room for the curves and for one label per type."""
        return max(self.least_height, self.labels * _LABEL_GAP)

    @property
    def right(self) -> float:
        """Where the plot ends."""
        return self.left + self.plot_width

    @property
    def width(self) -> float:
        """The whole panel's width."""
        return self.right + 58 + self.label_width

    @property
    def height(self) -> float:
        """The whole panel's height."""
        return self.top + self.plot_height + 46

    @property
    def step(self) -> float:
        """The distance of two tasks."""
        return (self.plot_width - 2 * self.inset) / max(1, self.tasks - 1)

    def x(self, task: int) -> float:
        """Place a task; a single one stands in the middle."""
        return self.left + (self.inset + task * self.step if self.tasks > 1 else self.plot_width / 2)

    def y(self, f1: float) -> float:
        """Place an F1 in percent; the axis ends at 100 and may begin above nought."""
        return self.top + self.plot_height * (100 - f1) / (100 - self.low)


def frame_of(runs: Sequence[Run], types: Sequence[str]) -> Frame:
    """Lay out panels that fit all runs."""
    widest = max((text_width(shorten(type_, _LABEL_MOST)) for type_ in types), default=0)
    return Frame(max(len(run.tasks) for run in runs), len(types), max(44.0, widest))


def text_width(text: str, size: float = _TEXT) -> float:
    """Guess the width of a text from its characters; fonts differ, so guess high."""
    return sum(size * (1.0 if unicodedata.east_asian_width(c) in "WF" else 0.62) for c in text)


def shorten(text: str, room: float, size: float = _TEXT) -> str:
    """Cut a text that is too wide and end it with an ellipsis."""
    if text_width(text, size) <= room:
        return text
    while text and text_width(text, size) + size > room:
        text = text[:-1]
    return text.rstrip() + "…"


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move sorted positions as little as possible so that neighbours are ``gap`` apart and all lie in the range.

    Subtracting the gaps turns this into the search for the nearest non-decreasing sequence, which pooling neighbours
    that stand in the wrong order solves exactly.
    """
    pools: list[list[float]] = []
    for index, position in enumerate(wanted):
        pools.append([position - index * gap, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, n), (b, m) = pools.pop(-2), pools.pop()
            pools.append([(a * n + b * m) / (n + m), n + m])
    flat = [value for value, count in pools for _ in range(int(count))]
    most = max(low, high - gap * (len(wanted) - 1))
    return [min(most, max(low, value)) + index * gap for index, value in enumerate(flat)]


# ---------------------------------------------------------------------------------------------------------- one panel


def panel(run: Run, types: Sequence[str], frame: Frame) -> Markup:
    """Draw one method's curves."""
    series = [(index, type_, _points(run, type_, frame)) for index, type_ in enumerate(types)]
    drawn = [(index, type_, points) for index, type_, points in series if points]
    parts = [_axes(frame), _task_names(run, frame)]
    parts += [_line(index, points) for index, _, points in drawn]
    parts += [_dots(run, index, type_, frame) for index, type_, _ in drawn]
    parts.append(_labels(run, drawn, frame))
    return _join(parts)


def _points(run: Run, type_: str, frame: Frame) -> list[Point]:
    values = ((task, run.f1(task, type_)) for task in range(len(run.tasks)))
    return [(frame.x(task), frame.y(f1)) for task, f1 in values if f1 is not None]


def _axes(frame: Frame) -> Markup:
    parts = [_text("tick", frame.left - 8, frame.top - 13, "F1", "end")]
    for value in range(100, frame.low - 1, -25 if frame.low == 0 else -10):
        y = frame.y(value)
        grid = Markup('<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.2f}" y2="{:.2f}"/>')
        parts.append(grid.format("grid" if value > frame.low else "grid base", frame.left, frame.right, y, y))
        parts.append(_text("tick", frame.left - 8, y + 4, str(value), "end"))
    return _join(parts)


def _task_names(run: Run, frame: Frame) -> Markup:
    """Write the tasks under the axis: always their numbers, and what is new in them where there is room."""
    room = frame.step - 6 if frame.tasks > 1 else frame.plot_width
    every = 1 if frame.step >= 18 or frame.tasks == 1 else 2
    bottom = frame.top + frame.plot_height
    roomy = room >= _TICK_LEAST
    parts = []
    for task, new in enumerate(run.tasks):
        if task % every == 0:
            label = f"task {task + 1}" if roomy else str(task + 1)
            parts.append(_text("tick", frame.x(task), bottom + 19, label, "middle"))
        if roomy:
            parts.append(_text("tick", frame.x(task), bottom + 36, "+ " + _news(new, room), "middle"))
    if not roomy:
        parts.append(_text("tick", frame.left + frame.plot_width / 2, bottom + 38, "tasks", "middle"))
    return _join(parts)


def _news(new: Sequence[str], room: float) -> str:
    whole = ", ".join(new)
    if len(new) > 1 and text_width(whole, 12) > room:
        whole = f"{len(new)} types"
    return shorten(whole, room - 12, 12)


def _line(index: int, points: Sequence[Point]) -> Markup:
    if len(points) < 2:
        return Markup("")
    path = " ".join(f"{x:.1f},{y:.2f}" for x, y in points)
    dashes = Markup(' stroke-dasharray="{}"').format(theme.dash(index)) if theme.dash(index) else ""
    return Markup('<polyline class="line c{}"{} points="{}"/>').format(theme.hue(index), dashes, path)


def _dots(run: Run, index: int, type_: str, frame: Frame) -> Markup:
    """Mark every measurement; the title is what a mouse shows over it."""
    dot = Markup('<path class="dot c{}" transform="translate({:.1f} {:.2f})" d="{}"><title>{}</title></path>')
    values = ((task, run.f1(task, type_)) for task in range(len(run.tasks)))
    return _join(
        dot.format(
            theme.hue(index),
            frame.x(task),
            frame.y(f1),
            theme.marker(index),
            f"{type_} after task {task + 1}: {number(f1)}",
        )
        for task, f1 in values
        if f1 is not None
    )


def _labels(run: Run, drawn: Iterable[tuple[int, str, list[Point]]], frame: Frame) -> Markup:
    """Name each line at its end, moved apart where lines end together."""
    ends = sorted((points[-1][1], index, type_, points[-1][0]) for index, type_, points in drawn)
    bottom = frame.top + frame.plot_height
    heights = spread([end[0] for end in ends], _LABEL_GAP, frame.top, bottom)
    return _join(
        _label(run, index, type_, (x, y), at, frame) for (y, index, type_, x), at in zip(ends, heights, strict=True)
    )


def _label(run: Run, index: int, type_: str, end: Point, at: float, frame: Frame) -> Markup:
    hue, (x, y) = theme.hue(index), end
    value = next(f1 for task in reversed(range(len(run.tasks))) if (f1 := run.f1(task, type_)) is not None)
    leader = Markup('<path class="leader c{}" d="M{:.1f} {:.2f}L{:.1f} {:.2f}H{:.1f}"/>')
    return _join(
        [
            leader.format(hue, x + 6, y, frame.right + 4, at, frame.right + 9),
            _text("value", frame.right + 45, at + 4.5, number(value), "end"),
            _text(f"name c{hue}", frame.right + 52, at + 4.5, shorten(type_, frame.label_most)),
        ]
    )


def _text(kind: str, x: float, y: float, text: str, anchor: str = "start") -> Markup:
    shape = Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
    return shape.format(kind, x, y, anchor, text)


def _join(parts: Iterable[Markup]) -> Markup:
    return Markup("\n").join(parts)


# ------------------------------------------------------------------------------------------------------- whole pictures


def describe(run: Run) -> str:
    """Say in words what a panel shows, for those who cannot see it."""
    rows = []
    for type_, start in run.start.items():
        values = ", ".join(number(run.f1(task, type_)) for task in range(start, len(run.tasks)))
        rows.append(f"{type_} from task {start + 1} on: {values}")
    return "; ".join(rows) + "."


def chart(run: Run, types: Sequence[str], frame: Frame, name: str, what: str = "F1 per entity type") -> Markup:
    """Draw one method's panel for the page, which brings the styles; ``name`` makes the ids unique."""
    shape = Markup(
        '<svg class="chart" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-labelledby="{}-title {}-desc">\n'
        '<title id="{}-title">{}: {} after each task</title>\n<desc id="{}-desc">{}</desc>\n{}\n</svg>'
    )
    drawing = panel(run, types, frame)
    return shape.format(frame.width, frame.height, name, name, name, run.heading, what, name, describe(run), drawing)


def swatch(index: int) -> Markup:
    """Draw a type's marker, to tie a table's column to its line."""
    shape = Markup(
        '<svg class="swatch chart" viewBox="-6 -6 12 12" aria-hidden="true"><path class="dot c{}" d="{}"/></svg>'
    )
    return shape.format(theme.hue(index), theme.marker(index))


def curves(cells: Mapping[str, Mapping[str, Any]]) -> str:
    """Draw all methods as one SVG file that stands alone, two panels to a row.

    It brings its own background, so it can be read on a light and on a dark page whichever scheme the viewer picks.
    """
    runs = runs_of(cells)
    types = types_of(runs)
    frame = frame_of(runs, types)
    columns = min(2, len(runs))
    rows = -(-len(runs) // columns)
    width = 2 * _MARGIN + columns * frame.width + (columns - 1) * _MARGIN
    notes = [line for note in _NOTES for line in wrap(note, int((width - 2 * _MARGIN) / text_width("x")))]
    bottom = 34 + rows * (frame.height + 44)
    height = bottom + len(notes) * _LABEL_GAP + 16
    panels = _join(_placed(run, types, frame, at, columns) for at, run in enumerate(runs))
    shape = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {w:.0f} {h:.0f}" width="{w:.0f}" '
        'height="{h:.0f}" role="img" aria-labelledby="curves-title curves-desc">\n'
        '<title id="curves-title">F1 per entity type after each task</title>\n<desc id="curves-desc">{desc}</desc>\n'
        "<style>\n{style}\n</style>\n"
        '<rect class="backdrop" x="0.5" y="0.5" width="{rw:.0f}" height="{rh:.0f}" rx="10"/>\n'
        "{panels}\n{notes}\n</svg>\n"
    )
    drawing = shape.format(
        w=width,
        h=height,
        rw=width - 1,
        rh=height - 1,
        desc=" ".join(f"{run.heading}: {describe(run)}" for run in runs),
        style=Markup(_style()),
        panels=panels,
        notes=_join(_text("note", _MARGIN, bottom + (at + 0.5) * _LABEL_GAP, line) for at, line in enumerate(notes)),
    )
    return valid(str(drawing))


def _placed(run: Run, types: Sequence[str], frame: Frame, at: int, columns: int) -> Markup:
    x = _MARGIN + at % columns * (frame.width + _MARGIN)
    y = 20 + at // columns * (frame.height + 44)
    heading = _text("heading", 0, 20, shorten(run.heading, frame.width, 17))
    shape = Markup('<g transform="translate({:.1f} {:.1f})">\n{}\n<g transform="translate(0 36)">\n{}\n</g>\n</g>')
    return shape.format(x, y, heading, panel(run, types, frame))


def chart_css() -> str:
    """Return the styles of the charts, with colours as custom properties."""
    own = files("retainer.report").joinpath("templates", "chart.css").read_text(encoding="utf-8")
    return own + theme.hue_strokes()


def _style() -> str:
    light, dark = (theme.resolve(chart_css(), palette) for palette in (theme.LIGHT, theme.DARK))
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"
