"""The page of a bench: which method to use, and whether the difference is real."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from retainer.report.bench.cases import LONGEST, Study
from retainer.report.bench.folder import Folder, Parts, types_of
from retainer.report.bench.means import lines, lowest, mean_run
from retainer.report.bench.method_comparison import TEST_COLUMNS, Standing, filled, mean_gain, untested, verdict
from retainer.report.bench.numbers import signed
from retainer.report.bench.ranking import COLUMNS
from retainer.report.bench.rows import Row
from retainer.report.demo.page import count, environment, styles
from retainer.report.draw import theme
from retainer.report.draw.charts import chart, swatch
from retainer.report.draw.runs import FALL, valid
from retainer.report.draw.svg import Frame, shorten, text_width
from retainer.report.draw.tables import MEANS, heat_rows

_LABEL_MOST = 240.0


def bench_page(
    folder: Folder,
    found: Sequence[Standing],
    *,
    parts: Parts | None = None,
    study: Study | None = None,
    facts: Mapping[str, str],
) -> str:
    """Write the page: the answer, the scores and tests, curves, heat maps, cost, sentences, data, how it was made."""
    headline = finding(found)
    scored, tested = filled(found)
    script = files("retainer.report").joinpath("templates", "bench.js").read_text(encoding="utf-8")
    everything = tuple(dict.fromkeys(type_ for standing in found for type_ in types_of(standing.rows)))
    html = (
        environment()
        .get_template("bench.html.j2")
        .render(
            title=f"Bench of {folder.preset}",
            finding=headline,
            plain_finding=headline.striptags(),
            more=[text for standing in found if (text := highest(standing))],
            glances=_glances(found),
            standings=[_setting(standing, scored, tested) for standing in found],
            printed=next((standing.published.encoder for standing in found if standing.published.scores), ""),
            score_columns={name: COLUMNS[name].meaning for name in scored},
            test_columns={name: TEST_COLUMNS[name] for name in tested},
            untested=untested(found),
            charts=_charts(found),
            heats=[_heats(standing) for standing in found],
            means=[name for name, _ in MEANS],
            fall=f"{FALL:.0f}",
            costs=_costs(found),
            study=study,
            longest=LONGEST,
            hues={type_: theme.hue(at) for at, type_ in enumerate(everything)},
            data=statistics_of(parts, everything) if parts else None,
            facts=facts,
            styles=styles(),
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )
    return valid(html)


def finding(found: Sequence[Standing]) -> Markup:
    """Say in one sentence how the chosen method compares with its best rival."""
    gains = [standing.gain for standing in found if standing.gain is not None]
    mean = mean_gain(found)
    if mean is None:
        best = max((row for one in found for row in one.rows), key=lambda row: (not row.joint, row.mean("macro")))
        return Markup("{} reaches <b>{:.1f}</b> macro F1; no rival was measured beside it.").format(
            best.name, best.mean("macro")
        )
    chosen = next(standing.chosen.name for standing in found if standing.gain and standing.chosen)
    real = sum(gain.test is not None and gain.test.real and gain.macro * mean[1] > 0 for gain in gains)
    where = "" if len(gains) == 1 else f" on average over {count(len(gains))} settings"
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
    return f"that is real beyond chance in {count(real) if real else 'none'} of them"


def highest(standing: Standing) -> str:
    """Say which method leads a setting, which may be a relative of the chosen one."""
    best, chosen = standing.best, standing.chosen
    if best is None:
        return ""
    start = f"{standing.setting}: highest without joint training is {best.name} at {best.mean('macro'):.2f}"
    if chosen is None or best is chosen:
        return start + "."
    test = standing.tests[best.name]
    gain = "no seed in common with" if test.gain is None else f"{signed(test.gain)} on the seeds it shares with"
    return f"{start}; {gain} {chosen.name}, {verdict(test)}."


def _glances(found: Sequence[Standing]) -> list[dict[str, str]]:
    """Put the gain over the best rival on cards: one per setting, and their mean."""
    cards = [
        {
            "setting": standing.setting,
            "gain": signed(gain.macro, 1),
            "what": f"macro F1 {_side(gain.macro)} {gain.rival.name}, "
            f"the best measured rival of {standing.chosen.name}",
            "note": f"{verdict(gain.test)}; micro F1 {signed(gain.micro)}",
        }
        for standing in found
        if (gain := standing.gain) and standing.chosen
    ]
    if len(cards) > 1 and (both := mean_gain(found)):
        what = f"macro F1, the mean of {count(len(cards))} settings"
        cards.append(
            {"setting": "Imp.", "gain": signed(both[1], 1), "what": what, "note": f"micro F1 {signed(both[0])}"}
        )
    return cards


def _side(gain: float) -> str:
    """Say on which side of its rival a method is; the number has the sign."""
    return "over" if gain >= 0 else "against"


def _setting(standing: Standing, scored: Sequence[str], tested: Sequence[str]) -> dict[str, Any]:
    """Lay out the two tables of a setting."""
    lines_ = [
        {
            "name": row.name,
            "joint": row.joint,
            "chosen": row is standing.chosen,
            "fields": standing.fields(row, scored),
            "places": {score: standing.place(row, score) for score in ("micro", "macro")},
        }
        for row in standing.rows
    ]
    gain = standing.gain
    imp = gain and {"rival": gain.rival.name, "micro": signed(gain.micro), "macro": signed(gain.macro)}
    tests = [
        {
            "name": row.name,
            "fields": standing.comparison(row, tested),
            "real": standing.tests[row.name].real,
            "few": standing.tests[row.name].p is None,
        }
        for row in standing.compared
    ]
    chosen = standing.chosen.name if standing.chosen else ""
    caveats = standing.published.caveats
    return {"name": standing.setting, "lines": lines_, "imp": imp, "tests": tests, "chosen": chosen, "caveats": caveats}


def _order(found: Sequence[Standing]) -> list[str]:
    """Return all rows in the order of their colours: the chosen one first, which the eye looks for."""
    every: dict[str, Row] = {row.name: row for standing in found for row in standing.rows}
    chosen = {standing.chosen.name for standing in found if standing.chosen}
    return sorted(every, key=lambda name: (name not in chosen, every[name].variant != ""))


def _charts(found: Sequence[Standing]) -> list[dict[str, Any]]:
    names = _order(found)
    drawn = [lines(standing.setting, standing.rows) for standing in found]
    widest = max(text_width(shorten(name, _LABEL_MOST)) for name in names)
    made = []
    for at, one in enumerate(drawn, 1):
        frame = Frame(
            len(one.tasks),
            len(one.values),
            widest,
            plot_width=540,
            least_height=400,
            low=lowest(drawn),
            label_most=_LABEL_MOST,
        )
        picture = chart(one, names, frame, f"setting-{at}", "macro F1 of all types so far")
        made.append({"name": one.method, "picture": picture})
    return made


def _heats(standing: Standing) -> dict[str, Any]:
    types = types_of(standing.rows)
    rival = standing.gain.rival if standing.gain else None
    first = (standing.chosen, rival, standing.best, standing.rows[0])
    shown = list({row.name: row for row in first if row is not None}.values())[:4]
    rest = [row for row in standing.rows if row not in shown]
    opened, closed = (
        [{"run": run, "rows": heat_rows(run, types)} for run in map(mean_run, some)] for some in (shown, rest)
    )
    return {
        "name": standing.setting,
        "types": types,
        "swatches": [swatch(at) for at in range(len(types))],
        "open": opened,
        "closed": closed,
    }


def _costs(found: Sequence[Standing]) -> list[dict[str, Any]]:
    """Lay out seconds and memory per method, a pair of columns per setting."""
    by_setting = [{row.name: row for row in standing.rows} for standing in found]
    names = {name: [row.seconds or 0.0 for one in by_setting if (row := one.get(name))] for name in _order(found)}
    quickest = sorted(names, key=lambda name: sum(names[name]) / len(names[name]))
    return [{"name": name, "fields": [_cost(one.get(name)) for one in by_setting]} for name in quickest]


def _cost(row: Row | None) -> tuple[str, str]:
    seconds, peak = (None, None) if row is None else (row.seconds, row.peak)
    return "–" if seconds is None else f"{seconds:.1f}", "–" if peak is None else f"{peak / 2**30:.2f} GiB"


def statistics_of(parts: Parts, types: Sequence[str]) -> dict[str, Any]:
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
