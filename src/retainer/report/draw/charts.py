"""Whole pictures: a chart for a page that has the styles, or SVG files that stand alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from textwrap import wrap

from markupsafe import Markup

from retainer.bench.result import CellResult
from retainer.report.draw import theme
from retainer.report.draw.runs import Run, one_decimal, runs_of, types_of_runs, valid_text
from retainer.report.draw.svg import LABEL_GAP, Frame, frame_of, join_parts, panel, shorten, text_at, text_width

_MARGIN = 28
_NOTES = (
    "F1 in percent, per entity type, after each task.",
    "A task annotates only its own types; the data of earlier tasks are never seen again.",
)


def describe_run(run: Run) -> str:
    """Describe what a panel shows, for readers who cannot see it."""
    rows = []
    for type_, start in run.start.items():
        values = ", ".join(one_decimal(run.f1(task, type_)) for task in range(start, len(run.tasks)))
        rows.append(f"{type_} from task {start + 1} on: {values}")
    return "; ".join(rows) + "."


def chart(run: Run, types: Sequence[str], frame: Frame, name: str, what: str = "F1 per entity type") -> Markup:
    """Draw one method's panel for a page that has the styles; ``name`` makes the ids unique."""
    shape = Markup(
        '<svg class="chart" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-labelledby="{}-title {}-desc">\n'
        '<title id="{}-title">{}: {} after each task</title>\n<desc id="{}-desc">{}</desc>\n{}\n</svg>'
    )
    drawing = panel(run, types, frame)
    return shape.format(
        frame.width, frame.height, name, name, name, run.heading, what, name, describe_run(run), drawing
    )


def swatch(index: int) -> Markup:
    """Draw a type's marker, which ties a table's column to its line."""
    shape = Markup(
        '<svg class="swatch chart" viewBox="-6 -6 12 12" aria-hidden="true"><path class="dot c{}" d="{}"/></svg>'
    )
    return shape.format(theme.hue(index), theme.marker(index))


def curves(results: Mapping[str, CellResult]) -> str:
    """Draw all methods as one SVG file that stands alone: F1 of every type."""
    runs = runs_of(results)
    types = types_of_runs(runs)
    return picture(runs, types, frame_of(runs, types), "F1 per entity type", _NOTES)


def picture(runs: Sequence[Run], types: Sequence[str], frame: Frame, what: str, notes: Iterable[str]) -> str:
    """Draw runs as one SVG file that stands alone, two panels to a row.

    It brings its own background, so it is readable on a light and on a dark page, whichever scheme the viewer picks.
    """
    columns = min(2, len(runs))
    rows = -(-len(runs) // columns)
    width = 2 * _MARGIN + columns * frame.width + (columns - 1) * _MARGIN
    note_lines = [line for note in notes for line in wrap(note, int((width - 2 * _MARGIN) / text_width("x")))]
    bottom = 34 + rows * (frame.height + 44)
    height = bottom + len(note_lines) * LABEL_GAP + 16
    shape = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {w:.0f} {h:.0f}" width="{w:.0f}" '
        'height="{h:.0f}" role="img" aria-labelledby="curves-title curves-desc">\n'
        '<title id="curves-title">{what} after each task</title>\n<desc id="curves-desc">{desc}</desc>\n'
        "<style>\n{style}\n</style>\n"
        '<rect class="backdrop" x="0.5" y="0.5" width="{rw:.0f}" height="{rh:.0f}" rx="10"/>\n'
        "{panels}\n{notes}\n</svg>\n"
    )
    drawing = shape.format(
        w=width,
        h=height,
        rw=width - 1,
        rh=height - 1,
        what=what,
        desc=" ".join(f"{run.heading}: {describe_run(run)}" for run in runs),
        style=Markup(_style()),
        panels=join_parts(_placed(run, types, frame, at, columns) for at, run in enumerate(runs)),
        notes=_notes(note_lines, bottom),
    )
    return valid_text(str(drawing))


def _notes(lines: Iterable[str], top: float) -> Markup:
    return join_parts(text_at("note", _MARGIN, top + (at + 0.5) * LABEL_GAP, line) for at, line in enumerate(lines))


def _placed(run: Run, types: Sequence[str], frame: Frame, at: int, columns: int) -> Markup:
    x = _MARGIN + at % columns * (frame.width + _MARGIN)
    y = 20 + at // columns * (frame.height + 44)
    heading = text_at("heading", 0, 20, shorten(run.heading, frame.width, 17))
    shape = Markup('<g transform="translate({:.1f} {:.1f})">\n{}\n<g transform="translate(0 36)">\n{}\n</g>\n</g>')
    return shape.format(x, y, heading, panel(run, types, frame))


def chart_css() -> str:
    """Return the styles of the charts, with colours as custom properties."""
    own = files("retainer.report").joinpath("templates", "chart.css").read_text(encoding="utf-8")
    return own + theme.hue_strokes()


def _style() -> str:
    light, dark = (theme.resolve(chart_css(), palette) for palette in (theme.LIGHT, theme.DARK))
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"
