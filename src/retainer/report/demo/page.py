"""The report: one HTML page that needs nothing but a browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from retainer.report.draw import theme
from retainer.report.draw.charts import chart, chart_css, swatch
from retainer.report.draw.examples import Example, gold, outcomes
from retainer.report.draw.runs import FALL, Run, number, runs_of, types_of, valid
from retainer.report.draw.svg import frame_of
from retainer.report.draw.tables import MEANS, heat_rows

_COUNTS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
).split()


def page(
    title: str,
    cells: Mapping[str, Mapping[str, Any]],
    examples: Sequence[Example],
    facts: Mapping[str, str],
) -> str:
    """Write the page: the finding, the curves, the tables, the sentences and how it all was made."""
    runs = runs_of(cells)
    types = types_of(runs)
    frame = frame_of(runs, types)
    headline = finding(runs)
    methods = [
        {"run": run, "chart": chart(run, types, frame, f"chart-{at}"), "rows": heat_rows(run, types)}
        for at, run in enumerate(runs, start=1)
    ]
    html = (
        environment()
        .get_template("page.html.j2")
        .render(
            title=title,
            finding=headline,
            plain_finding=headline.striptags(),
            methods=methods,
            types=types,
            swatches=[swatch(index) for index in range(len(types))],
            hues={type_: theme.hue(index) for index, type_ in enumerate(types)},
            means=[name for name, _ in MEANS],
            fall=f"{FALL:.0f}",
            examples=[_example(example, runs) for example in examples],
            facts=facts,
            styles=styles(),
        )
    )
    return valid(html)


def finding(runs: Sequence[Run]) -> Markup:
    """Say in one sentence what became of the old types, or what was learned while there are none."""
    tasks = max(len(run.tasks) for run in runs)
    opening = f"After {count(tasks)} task{'' if tasks == 1 else 's'}, "
    return Markup("{}{}.").format(opening, Markup("; ").join(_kept(run, at == 0) for at, run in enumerate(runs)))


def _kept(run: Run, first: bool) -> Markup:
    if run.kept is None:
        what = f" on its first type{'' if len(run.tasks[0]) == 1 else 's'}" if first else ""
        return Markup("{} reaches <b>{}</b> F1{}").format(run.name, number(run.newest), what)
    what = " F1 on the old types" if first else ""
    if run.learned is not None and run.kept >= run.learned:
        return Markup("{} stands at <b>{}</b>{}, up from {}").format(
            run.name, number(run.kept), what, number(run.learned)
        )
    return Markup("{} keeps <b>{}</b> of {}{}").format(run.name, number(run.kept), number(run.learned), what)


def count(amount: int) -> str:
    """Write a small number as a word."""
    return _COUNTS[amount] if amount < len(_COUNTS) else str(amount)


def _example(example: Example, runs: Sequence[Run]) -> dict[str, Any]:
    """Turn an example from methods with tasks into tasks with methods, which is how the page lists it."""
    judged = [outcomes(example, run) for run in runs]
    tasks = max(runs, key=lambda run: len(run.tasks)).tasks
    steps = [
        {"new": new, "outcomes": [outcome[at] if at < len(outcome) else None for outcome in judged]}
        for at, new in enumerate(tasks)
    ]
    return {"gold": gold(example.sentence), "steps": steps}


def environment() -> Environment:
    """Return the templates; whatever is put into them is text, never markup."""
    return Environment(
        loader=PackageLoader("retainer.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def styles() -> dict[str, Markup]:
    """Return the generated part of the style sheet; none of it comes from the user."""
    return {
        "light": Markup(theme.variables(theme.LIGHT)),
        "dark": Markup(theme.variables(theme.DARK)),
        "classes": Markup(theme.classes()),
        "chart": Markup(chart_css()),
    }
