"""Line charts as SVG: F1 per type over the tasks, one panel per method."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from retainer.report.draw import theme
from retainer.report.draw.runs import Run, one_decimal

Point = tuple[float, float]

_TEXT = 13
LABEL_GAP = 18
_LABEL_MOST = 150
_TICK_LEAST = 44


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
        return max(self.least_height, self.labels * LABEL_GAP)

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
        """Place an F1 in percent; the axis ends at 100 and may begin above zero."""
        return self.top + self.plot_height * (100 - f1) / (100 - self.low)


def frame_of(runs: Sequence[Run], types: Sequence[str]) -> Frame:
    """Lay out panels that fit all runs."""
    widest = max((text_width(shorten(type_, _LABEL_MOST)) for type_ in types), default=0)
    return Frame(max(len(run.tasks) for run in runs), len(types), max(44.0, widest))


def text_width(text: str, size: float = _TEXT) -> float:
    """Estimate the width of a text from its characters, rather too wide, since fonts differ."""
    return sum(size * (1.0 if unicodedata.east_asian_width(c) in "WF" else 0.62) for c in text)


def shorten(text: str, room: float, size: float = _TEXT) -> str:
    """Cut a text that is too wide and end it with an ellipsis."""
    if text_width(text, size) <= room:
        return text
    while text and text_width(text, size) + size > room:
        text = text[:-1]
    return text.rstrip() + "…"


def spread_apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
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
    return join_parts(parts)


def _points(run: Run, type_: str, frame: Frame) -> list[Point]:
    values = ((task, run.f1(task, type_)) for task in range(len(run.tasks)))
    return [(frame.x(task), frame.y(f1)) for task, f1 in values if f1 is not None]


def _axes(frame: Frame) -> Markup:
    parts = [text_at("tick", frame.left - 8, frame.top - 13, "F1", "end")]
    for value in range(100, frame.low - 1, -25 if frame.low == 0 else -10):
        y = frame.y(value)
        grid = Markup('<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.2f}" y2="{:.2f}"/>')
        parts.append(grid.format("grid" if value > frame.low else "grid base", frame.left, frame.right, y, y))
        parts.append(text_at("tick", frame.left - 8, y + 4, str(value), "end"))
    return join_parts(parts)


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
            parts.append(text_at("tick", frame.x(task), bottom + 19, label, "middle"))
        if roomy:
            parts.append(text_at("tick", frame.x(task), bottom + 36, "+ " + _news(new, room), "middle"))
    if not roomy:
        parts.append(text_at("tick", frame.left + frame.plot_width / 2, bottom + 38, "tasks", "middle"))
    return join_parts(parts)


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
    return join_parts(
        dot.format(
            theme.hue(index),
            frame.x(task),
            frame.y(f1),
            theme.marker(index),
            f"{type_} after task {task + 1}: {one_decimal(f1)}",
        )
        for task, f1 in values
        if f1 is not None
    )


def _labels(run: Run, drawn: Iterable[tuple[int, str, list[Point]]], frame: Frame) -> Markup:
    """Name each line at its end, moved apart where lines end together."""
    ends = sorted((points[-1][1], index, type_, points[-1][0]) for index, type_, points in drawn)
    bottom = frame.top + frame.plot_height
    heights = spread_apart([end[0] for end in ends], LABEL_GAP, frame.top, bottom)
    return join_parts(
        _label(run, index, type_, (x, y), at, frame) for (y, index, type_, x), at in zip(ends, heights, strict=True)
    )


def _label(run: Run, index: int, type_: str, end: Point, at: float, frame: Frame) -> Markup:
    hue, (x, y) = theme.hue(index), end
    value = next(f1 for task in reversed(range(len(run.tasks))) if (f1 := run.f1(task, type_)) is not None)
    leader = Markup('<path class="leader c{}" d="M{:.1f} {:.2f}L{:.1f} {:.2f}H{:.1f}"/>')
    return join_parts(
        [
            leader.format(hue, x + 6, y, frame.right + 4, at, frame.right + 9),
            text_at("value", frame.right + 45, at + 4.5, one_decimal(value), "end"),
            text_at(f"name c{hue}", frame.right + 52, at + 4.5, shorten(type_, frame.label_most)),
        ]
    )


def text_at(kind: str, x: float, y: float, text: str, anchor: str = "start") -> Markup:
    """Write a text at a place."""
    shape = Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
    return shape.format(kind, x, y, anchor, text)


def join_parts(parts: Iterable[Markup]) -> Markup:
    """Put parts below each other."""
    return Markup("\n").join(parts)
