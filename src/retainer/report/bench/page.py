"""The page of a bench: which method to use, and whether the difference is real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from retainer.plurals import number_in_words
from retainer.report.bench.cases import LONGEST_SENTENCE, CaseStudy
from retainer.report.bench.folder import BenchFolder, CorpusSplits, types_of_setting
from retainer.report.bench.means import axis_start, mean_run, method_lines
from retainer.report.bench.method_comparison import (
    TEST_COLUMNS,
    MethodComparison,
    filled_columns,
    mean_gain,
    untested,
    verdict,
)
from retainer.report.bench.numbers import signed
from retainer.report.bench.ranking import COLUMNS, UPPER_BOUNDS
from retainer.report.bench.rows import MethodRow
from retainer.report.draw import theme
from retainer.report.draw.charts import chart, swatch
from retainer.report.draw.html import page_script, render
from retainer.report.draw.runs import FALL
from retainer.report.draw.svg import Frame, shorten, text_width
from retainer.report.draw.tables import MEANS, heat_rows

_LABEL_MOST = 240.0


def bench_page(
    folder: BenchFolder,
    comparisons: Sequence[MethodComparison],
    *,
    parts: CorpusSplits | None = None,
    study: CaseStudy | None = None,
    facts: Mapping[str, str],
) -> str:
    """Write the page: the answer, the scores and tests, curves, heat maps, cost, sentences, data, how it was made."""
    scored, tested = filled_columns(comparisons)
    everything = tuple(dict.fromkeys(type_ for one in comparisons for type_ in types_of_setting(one.rows)))
    return render(
        "bench.html.j2",
        bench_finding(comparisons),
        title=f"Bench of {folder.preset}",
        more=[text for comparison in comparisons if (text := leader_text(comparison))],
        glances=_glances(comparisons),
        settings=[_setting(comparison, scored, tested) for comparison in comparisons],
        printed=next((comparison.published.encoder for comparison in comparisons if comparison.published.scores), ""),
        bounds=_bounds(comparisons),
        score_columns={name: COLUMNS[name].meaning for name in scored},
        test_columns={name: TEST_COLUMNS[name] for name in tested},
        untested=untested(comparisons),
        charts=_charts(comparisons),
        heats=[_heats(comparison) for comparison in comparisons],
        means=[name for name, _ in MEANS],
        fall=f"{FALL:.0f}",
        costs=_costs(comparisons),
        study=study,
        longest=LONGEST_SENTENCE,
        hues={type_: theme.hue(at) for at, type_ in enumerate(everything)},
        data=corpus_statistics(parts, everything) if parts else None,
        facts=facts,
        **page_script("bench.js"),
    )


def _bounds(comparisons: Sequence[MethodComparison]) -> dict[str, str]:
    """Return the upper bounds that were measured, and what they see."""
    measured = {row.method for comparison in comparisons for row in comparison.rows}
    return {name: meaning for name, meaning in UPPER_BOUNDS.items() if name in measured}


def bench_finding(comparisons: Sequence[MethodComparison]) -> Markup:
    """Report in one sentence how the chosen method compares with its best rival."""
    gains = [comparison.gain for comparison in comparisons if comparison.gain is not None]
    mean = mean_gain(comparisons)
    if mean is None:
        best = max((row for one in comparisons for row in one.rows), key=lambda row: (not row.joint, row.mean("macro")))
        return Markup("{} reaches <b>{:.1f}</b> macro F1; no rival was measured beside it.").format(
            best.name, best.mean("macro")
        )
    chosen = next(comparison.chosen.name for comparison in comparisons if comparison.gain and comparison.chosen)
    real = sum(gain.test is not None and gain.test.real and gain.macro * mean[1] > 0 for gain in gains)
    where = "" if len(gains) == 1 else f" on average over {number_in_words(len(gains))} settings"
    return Markup("{} {} its best measured rival by <b>{:.1f}</b> macro F1{}; {}.").format(
        chosen, "beats" if mean[1] > 0 else "stays behind", abs(mean[1]), where, _certainty(real, gains)
    )


def _certainty(real: int, gains: Sequence[Any]) -> str:
    if all(gain.test is None or gain.test.p is None for gain in gains):
        return "too few seeds to say whether that is real"
    if len(gains) == 1:
        return "the difference is real beyond chance" if real else "that could be chance"
    if real == len(gains):
        return f"in {'both' if real == 2 else 'all of them'} the difference is real beyond chance"
    return f"that is real beyond chance in {number_in_words(real) if real else 'none'} of them"


def leader_text(comparison: MethodComparison) -> str:
    """Name the method that leads a setting, which may be a variant of the chosen one."""
    best, chosen = comparison.best, comparison.chosen
    if best is None:
        return ""
    start = f"{comparison.setting}: highest, upper bounds aside, is {best.name} at {best.mean('macro'):.2f}"
    if chosen is None or best is chosen:
        return start + "."
    test = comparison.tests[best.name]
    gain = "no seed in common with" if test.gain is None else f"{signed(test.gain)} on the seeds it shares with"
    return f"{start}; {gain} {chosen.name}, {verdict(test)}."


def _glances(comparisons: Sequence[MethodComparison]) -> list[dict[str, str]]:
    """Put the gain over the best rival on cards: one per setting, and their mean."""
    cards = [
        {
            "setting": comparison.setting,
            "gain": signed(gain.macro, 1),
            "what": f"macro F1 {_side(gain.macro)} {gain.rival.name}, "
            f"the best measured rival of {comparison.chosen.name}",
            "note": f"{verdict(gain.test)}; micro F1 {signed(gain.micro)}",
        }
        for comparison in comparisons
        if (gain := comparison.gain) and comparison.chosen
    ]
    if len(cards) > 1 and (both := mean_gain(comparisons)):
        what = f"macro F1, the mean of {number_in_words(len(cards))} settings"
        cards.append(
            {"setting": "Imp.", "gain": signed(both[1], 1), "what": what, "note": f"micro F1 {signed(both[0])}"}
        )
    return cards


def _side(gain: float) -> str:
    """Return the word for the side of its rival a method is on; the number has the sign."""
    return "over" if gain >= 0 else "against"


def _setting(comparison: MethodComparison, scored: Sequence[str], tested: Sequence[str]) -> dict[str, Any]:
    """Lay out the two tables of a setting; in the first a rule divides the upper bounds from the others."""
    lines_ = [
        {
            "name": row.name,
            "joint": row.joint,
            "chosen": row is comparison.chosen,
            "fields": comparison.fields(row, scored),
            "places": {score: comparison.place(row, score) for score in ("micro", "macro")},
        }
        for row in comparison.rows
    ]
    gain = comparison.gain
    imp = gain and {"rival": gain.rival.name, "micro": signed(gain.micro), "macro": signed(gain.macro)}
    tests = [
        {
            "name": row.name,
            "fields": comparison.test_fields(row, tested),
            "real": comparison.tests[row.name].real,
            "few": comparison.tests[row.name].p is None,
        }
        for row in comparison.compared
    ]
    chosen = comparison.chosen.name if comparison.chosen else ""
    caveats = comparison.published.caveats
    return {
        "name": comparison.setting,
        "groups": [group for first in (True, False) if (group := [one for one in lines_ if one["joint"] is first])],
        "imp": imp,
        "tests": tests,
        "chosen": chosen,
        "caveats": caveats,
    }


def _order(comparisons: Sequence[MethodComparison]) -> list[str]:
    """Return all rows in the order of their colours: the chosen one first."""
    every: dict[str, MethodRow] = {row.name: row for comparison in comparisons for row in comparison.rows}
    chosen = {comparison.chosen.name for comparison in comparisons if comparison.chosen}
    return sorted(every, key=lambda name: (name not in chosen, every[name].variant != ""))


def _charts(comparisons: Sequence[MethodComparison]) -> list[dict[str, Any]]:
    names = _order(comparisons)
    drawn = [method_lines(comparison.setting, comparison.rows) for comparison in comparisons]
    widest = max(text_width(shorten(name, _LABEL_MOST)) for name in names)
    charts = []
    for at, one in enumerate(drawn, 1):
        frame = Frame(
            len(one.tasks),
            len(one.values),
            widest,
            plot_width=540,
            least_height=400,
            low=axis_start(drawn),
            label_most=_LABEL_MOST,
        )
        picture = chart(one, names, frame, f"setting-{at}", "macro F1 of all types so far")
        charts.append({"name": one.method, "picture": picture})
    return charts


def _heats(comparison: MethodComparison) -> dict[str, Any]:
    types = types_of_setting(comparison.rows)
    rival = comparison.gain.rival if comparison.gain else None
    first = (comparison.chosen, rival, comparison.best, comparison.rows[0])
    shown = list({row.name: row for row in first if row is not None}.values())[:4]
    rest = [row for row in comparison.rows if row not in shown]
    opened, closed = (
        [{"run": run, "rows": heat_rows(run, types)} for run in map(mean_run, some)] for some in (shown, rest)
    )
    return {
        "name": comparison.setting,
        "types": types,
        "swatches": [swatch(at) for at in range(len(types))],
        "open": opened,
        "closed": closed,
    }


def _costs(comparisons: Sequence[MethodComparison]) -> list[dict[str, Any]]:
    """Lay out seconds and memory per method, a pair of columns per setting."""
    by_setting = [{row.name: row for row in comparison.rows} for comparison in comparisons]
    names = {name: [row.seconds or 0.0 for one in by_setting if (row := one.get(name))] for name in _order(comparisons)}
    quickest = sorted(names, key=lambda name: sum(names[name]) / len(names[name]))
    return [{"name": name, "fields": [_cost(one.get(name)) for one in by_setting]} for name in quickest]


def _cost(row: MethodRow | None) -> tuple[str, str]:
    seconds, peak = (None, None) if row is None else (row.seconds, row.peak)
    return "–" if seconds is None else f"{seconds:.1f}", "–" if peak is None else f"{peak / 2**30:.2f} GiB"


def corpus_statistics(parts: CorpusSplits, types: Sequence[str]) -> dict[str, Any]:
    """Count the data, as papers do in their first table: a column per split, a row per type."""
    named = {name: part for name, part in zip(("train", "dev", "test"), parts, strict=True) if part is not None}
    counted = list(named.values())
    used = [[part.counts[type_] for part in counted] for type_ in types]
    lines_ = [
        ("types", [sum(part.counts[type_] > 0 for type_ in types) for part in counted]),
        ("sentences", [len(part) for part in counted]),
        ("words", [sum(len(sentence.words) for sentence in part) for part in counted]),
        ("entities of these types", [sum(column) for column in zip(*used, strict=True)]),
        ("entities of other types", [part.counts.total() - sum(part.counts[t] for t in types) for part in counted]),
    ]
    if not any(lines_[-1][1]):
        del lines_[-1]
    return {"parts": list(named), "lines": lines_, "types": list(zip(types, used, strict=True))}
