"""The page of the demo: what plain fine-tuning forgets and another method keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from retainer.bench.result import CellResult
from retainer.plurals import number_in_words
from retainer.report.draw import theme
from retainer.report.draw.charts import chart, swatch
from retainer.report.draw.examples import Example, gold_pieces, outcomes_by_task
from retainer.report.draw.html import render
from retainer.report.draw.runs import FALL, Run, one_decimal, runs_of, types_of_runs
from retainer.report.draw.svg import frame_of
from retainer.report.draw.tables import MEANS, heat_rows


def demo_page(
    title: str,
    results: Mapping[str, CellResult],
    examples: Sequence[Example],
    facts: Mapping[str, str],
) -> str:
    """Write the page: the finding, the curves, the tables, the sentences and how it all was made."""
    runs = runs_of(results)
    types = types_of_runs(runs)
    frame = frame_of(runs, types)
    methods = [
        {"run": run, "chart": chart(run, types, frame, f"chart-{at}"), "rows": heat_rows(run, types)}
        for at, run in enumerate(runs, start=1)
    ]
    return render(
        "demo.html.j2",
        demo_finding(runs),
        title=title,
        methods=methods,
        types=types,
        swatches=[swatch(index) for index in range(len(types))],
        hues={type_: theme.hue(index) for index, type_ in enumerate(types)},
        means=[name for name, _ in MEANS],
        fall=f"{FALL:.0f}",
        examples=[_example(example, runs) for example in examples],
        facts=facts,
    )


def demo_finding(runs: Sequence[Run]) -> Markup:
    """Report in one sentence what became of the old types, or what was learned while there are none."""
    tasks = max(len(run.tasks) for run in runs)
    opening = f"After {number_in_words(tasks)} task{'' if tasks == 1 else 's'}, "
    return Markup("{}{}.").format(opening, Markup("; ").join(_kept(run, at == 0) for at, run in enumerate(runs)))


def _kept(run: Run, first: bool) -> Markup:
    if run.kept is None:
        what = f" on its first type{'' if len(run.tasks[0]) == 1 else 's'}" if first else ""
        return Markup("{} reaches <b>{}</b> F1{}").format(run.name, one_decimal(run.newest), what)
    what = " F1 on the old types" if first else ""
    if run.learned is not None and run.kept >= run.learned:
        return Markup("{} stands at <b>{}</b>{}, up from {}").format(
            run.name, one_decimal(run.kept), what, one_decimal(run.learned)
        )
    return Markup("{} keeps <b>{}</b> of {}{}").format(run.name, one_decimal(run.kept), one_decimal(run.learned), what)


def _example(example: Example, runs: Sequence[Run]) -> dict[str, Any]:
    """Turn an example from tasks by method into methods by task, which is how the page lists it."""
    by_method = [outcomes_by_task(example, run) for run in runs]
    tasks = max(runs, key=lambda run: len(run.tasks)).tasks
    steps = [
        {"new": new, "outcomes": [outcome[at] if at < len(outcome) else None for outcome in by_method]}
        for at, new in enumerate(tasks)
    ]
    return {"gold": gold_pieces(example.sentence), "steps": steps}
