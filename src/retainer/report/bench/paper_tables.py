"""A bench for other programs: Markdown, LaTeX as papers set it, and CSV."""

from __future__ import annotations

import csv
import io
import json
import re
import statistics
from collections.abc import Iterable, Sequence

from retainer.report.bench.folder import Folder
from retainer.report.bench.method_comparison import TEST_COLUMNS, Standing, filled, mean_gain, untested
from retainer.report.bench.numbers import signed, spread
from retainer.report.bench.ranking import legend
from retainer.report.bench.rows import Cell, Row

_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "−": "$-$",
    "±": r"$\pm$",
} | {char: "\\" + char for char in "&%$#_{}"}


def markdown(found: Sequence[Standing]) -> str:
    """Write every setting as two Markdown tables: the scores, and whether differences are real."""
    parts = []
    scored, tested = filled(found)
    for standing in found:
        parts.append(f"## {_md(standing.setting)}")
        parts.append(_table(("method", *scored), _score_lines(standing, scored)))
        parts += [_md(f"{caveat}.") for caveat in standing.published.caveats]
        if standing.chosen is not None and standing.compared:
            parts.append(f"Against {_md(standing.chosen.name)}:")
            lines = [[row.name, *standing.comparison(row, tested)] for row in standing.compared]
            parts.append(_table(("method", *tested), [list(map(_md, line)) for line in lines]))
    parts += [_md(line) for line in untested(found)]
    if (both := mean_gain(found)) and len(found) > 1:
        parts.append(f"Mean gain over settings: micro {signed(both[0])}, macro {signed(both[1])}.")
    meanings = legend(scored) + [f"{name}: {TEST_COLUMNS[name]}" for name in tested if name != "seeds"]
    marks = "**best** and *second best* that is not joint; *: below 0.05 after Holm's correction"
    return "\n\n".join([*parts, _md("; ".join(meanings)) + "; " + marks + "."]) + "\n"


def _score_lines(standing: Standing, columns: Sequence[str]) -> list[list[str]]:
    lines = []
    for row in standing.rows:
        fields = {name: _md(text) for name, text in standing.fields(row, columns).items()}
        for score in ("micro", "macro"):
            mark = {1: "**", 2: "*"}.get(standing.place(row, score), "")
            fields[score] = f"{mark}{fields[score]}{mark}"
        lines.append([_md(row.name), *fields.values()])
    if gain := standing.gain:
        gained = {"micro": signed(gain.micro), "macro": signed(gain.macro)}
        lines.append([f"Imp. over {_md(gain.rival.name)}", *(gained.get(name, "") for name in columns)])
    return lines


def _md(text: str) -> str:
    r"""Keep names from becoming markup: ``\`` before whatever Markdown would read, and lines kept whole."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", " ".join(text.split()))


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    table = [head, ("---",) * len(head), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in table)


def latex(found: Sequence[Standing]) -> str:
    """Write one booktabs table: a row per method, micro and macro per setting; it needs only booktabs."""
    every = {row.name: row for standing in found for row in standing.rows}
    ranked = sorted(every.values(), key=lambda row: _behind(found, row.name))
    joint, others = ([row.name for row in ranked if row.joint is first] for first in (True, False))
    groups = " & ".join(rf"\multicolumn{{2}}{{c}}{{{tex(standing.setting)}}}" for standing in found)
    rules = " ".join(rf"\cmidrule(lr){{{2 * at + 2}-{2 * at + 3}}}" for at in range(len(found)))
    lines = [
        "% needs \\usepackage{booktabs}",
        rf"\begin{{tabular}}{{l{'cc' * len(found)}}}",
        r"\toprule",
        rf" & {groups} \\",
        rules,
        rf"method & {' & '.join(['micro F1 & macro F1'] * len(found))} \\",
        r"\midrule",
        *[_tex_line(name, found) for name in joint],
        *([r"\midrule"] if joint and others else []),
        *[_tex_line(name, found) for name in others],
    ]
    if any(standing.gain for standing in found):
        lines += [r"\midrule", rf"Imp. & {' & '.join(_tex_gain(standing) for standing in found)} \\"]
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*lines, *_tex_legend(found)]) + "\n"


def _behind(found: Sequence[Standing], name: str) -> float:
    """Return how far a row is behind the best, a mean over the settings it has: the order of the page, over all."""
    gaps = [
        max(one.mean("macro") for one in standing.rows) - row.mean("macro")
        for standing in found
        for row in standing.rows
        if row.name == name
    ]
    return statistics.fmean(gaps)


def _tex_line(name: str, found: Sequence[Standing]) -> str:
    return rf"{tex(name)} & {' & '.join(_tex_scores(name, standing) for standing in found)} \\"


def _tex_scores(name: str, standing: Standing) -> str:
    row = next((row for row in standing.rows if row.name == name), None)
    if row is None:
        return "-- & --"
    return f"{_tex_score(row, standing, 'micro')} & {_tex_score(row, standing, 'macro')}"


def _tex_score(row: Row, standing: Standing, score: str) -> str:
    text = tex(spread(row.values(score)))
    mark = {1: r"\textbf", 2: r"\underline"}.get(standing.place(row, score))
    test = standing.tests.get(row.name)
    dagger = r"$^{\dagger}$" if score == "macro" and test is not None and test.real else ""
    return (f"{mark}{{{text}}}" if mark else text) + dagger


def _tex_gain(standing: Standing) -> str:
    gain = standing.gain
    return "-- & --" if gain is None else f"{tex(signed(gain.micro))} & {tex(signed(gain.macro))}"


def _tex_legend(found: Sequence[Standing]) -> list[str]:
    """Say as comments what the marks mean; whoever writes the caption has it at hand."""
    chosen = next((standing.chosen.name for standing in found if standing.chosen is not None), "")
    lines = ["F1 averaged over tasks, mean ± standard deviation over seeds; bold: best, underlined: second best."]
    if chosen:
        lines.append(f"dagger: differs from {chosen}, paired t-test over seeds, p < 0.05 after Holm's correction.")
    for standing in found:
        if gain := standing.gain:
            lines.append(f"Imp. in {standing.setting}: over {gain.rival.name}.")
    return ["% " + " ".join(line.split()) for line in lines]


def tex(text: str) -> str:
    """Escape a text for LaTeX; names may hold anything."""
    return "".join(_TEX.get(char, char) for char in " ".join(text.split()))


def table(folder: Folder) -> str:
    """Write CSV, one row per cell and task, numbers in full; lists of types are JSON, since names may hold commas."""
    types = sorted({type_ for cell in folder.cells for task in cell["tasks"] for type_ in task["per_type"]})
    out = io.StringIO()
    writer = csv.DictWriter(out, [*_FACTS, *_NUMBERS, *_OF_CELL, *(f"f1 {name}" for name in types)], restval="")
    writer.writeheader()
    for cell in folder.cells:
        for number, task in enumerate(cell["tasks"], 1):
            writer.writerow(_record(cell, number, task))
    return out.getvalue()


_FACTS = ("preset", "setting", "method", "variant", "encoder", "seed", "task", "types")
_NUMBERS = ("micro", "macro", "old_macro", "new_macro", "seconds")
_OF_CELL = ("guesses_precision", "guesses_recall", "dev_micro", "dev_macro", "peak_bytes")


def _record(cell: Cell, number: int, task: Cell) -> dict[str, object]:
    types = json.dumps(task["types"], ensure_ascii=False)
    facts = {name: cell.get(name, "") for name in _FACTS} | {"task": number, "types": types}
    numbers = {name: task.get(name) for name in _NUMBERS} | {"peak_bytes": cell.get("peak_bytes")}
    for kind, names in (("guesses", ("precision", "recall")), ("dev", ("micro", "macro"))):
        numbers |= {f"{kind}_{name}": (task.get(kind) or {}).get(name) for name in names}
    return facts | numbers | {f"f1 {name}": score["f1"] for name, score in task["per_type"].items()}
