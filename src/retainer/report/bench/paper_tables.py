"""A bench for other programs: Markdown, LaTeX as papers set it, and CSV."""

from __future__ import annotations

import csv
import io
import json
import re
import statistics
from collections.abc import Iterable, Sequence

from retainer.bench.result import CellResult, TaskScores
from retainer.decimals import MINUS
from retainer.report.bench.folder import BenchFolder
from retainer.report.bench.method_comparison import TEST_COLUMNS, MethodComparison, filled_columns, mean_gain, untested
from retainer.report.bench.numbers import mean_and_deviation, signed
from retainer.report.bench.ranking import legend
from retainer.report.bench.rows import Average, MethodRow

_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    MINUS: "$-$",
    "±": r"$\pm$",
} | {char: "\\" + char for char in "&%$#_{}"}


def paper_markdown(comparisons: Sequence[MethodComparison]) -> str:
    """Write every setting as two Markdown tables: the scores, and whether differences are real."""
    parts = []
    scored, tested = filled_columns(comparisons)
    for comparison in comparisons:
        parts.append(f"## {_md(comparison.setting)}")
        parts.append(_table(("method", *scored), _score_lines(comparison, scored)))
        parts += [_md(f"{caveat}.") for caveat in comparison.published.caveats]
        if comparison.chosen is not None and comparison.compared:
            parts.append(f"Against {_md(comparison.chosen.name)}:")
            lines = [[row.name, *comparison.test_fields(row, tested)] for row in comparison.compared]
            parts.append(_table(("method", *tested), [list(map(_md, line)) for line in lines]))
    parts += [_md(line) for line in untested(comparisons)]
    if (both := mean_gain(comparisons)) and len(comparisons) > 1:
        parts.append(f"Mean gain over settings: micro {signed(both[0])}, macro {signed(both[1])}.")
    meanings = legend(scored) + [f"{name}: {TEST_COLUMNS[name]}" for name in tested if name != "seeds"]
    marks = "**best** and *second best* that is not an upper bound; *: below 0.05 after Holm's correction"
    return "\n\n".join([*parts, _md("; ".join(meanings)) + "; " + marks + "."]) + "\n"


def _score_lines(comparison: MethodComparison, columns: Sequence[str]) -> list[list[str]]:
    lines = []
    for row in comparison.rows:
        fields = {name: _md(text) for name, text in comparison.fields(row, columns).items()}
        for score in ("micro", "macro"):
            mark = {1: "**", 2: "*"}.get(comparison.place(row, score), "")
            fields[score] = f"{mark}{fields[score]}{mark}"
        lines.append([_md(row.name), *fields.values()])
    if gain := comparison.gain:
        gained = {"micro": signed(gain.micro), "macro": signed(gain.macro)}
        lines.append([f"Imp. over {_md(gain.rival.name)}", *(gained.get(name, "") for name in columns)])
    return lines


def _md(text: str) -> str:
    r"""Keep names from becoming markup: ``\`` before what Markdown would read, and line ends as spaces."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", " ".join(text.split()))


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    table = [head, ("---",) * len(head), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in table)


def paper_latex(comparisons: Sequence[MethodComparison]) -> str:
    """Write one booktabs table: a row per method, micro and macro per setting; it needs only booktabs."""
    every = {row.name: row for comparison in comparisons for row in comparison.rows}
    ranked = sorted(every.values(), key=lambda row: _behind(comparisons, row.name))
    bounds, others = ([row.name for row in ranked if row.joint is first] for first in (True, False))
    groups = " & ".join(rf"\multicolumn{{2}}{{c}}{{{escape_latex(comparison.setting)}}}" for comparison in comparisons)
    rules = " ".join(rf"\cmidrule(lr){{{2 * at + 2}-{2 * at + 3}}}" for at in range(len(comparisons)))
    lines = [
        "% needs \\usepackage{booktabs}",
        rf"\begin{{tabular}}{{l{'cc' * len(comparisons)}}}",
        r"\toprule",
        rf" & {groups} \\",
        rules,
        rf"method & {' & '.join(['micro F1 & macro F1'] * len(comparisons))} \\",
        r"\midrule",
        *[_tex_line(name, comparisons) for name in bounds],
        *([r"\midrule"] if bounds and others else []),
        *[_tex_line(name, comparisons) for name in others],
    ]
    if any(comparison.gain for comparison in comparisons):
        lines += [r"\midrule", rf"Imp. & {' & '.join(_tex_gain(comparison) for comparison in comparisons)} \\"]
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*lines, *_tex_legend(comparisons)]) + "\n"


def _behind(comparisons: Sequence[MethodComparison], name: str) -> float:
    """Return how far a row is behind the best, a mean over the settings it has: the order of the page, over all."""
    gaps = [
        max(one.mean("macro") for one in comparison.rows) - row.mean("macro")
        for comparison in comparisons
        for row in comparison.rows
        if row.name == name
    ]
    return statistics.fmean(gaps)


def _tex_line(name: str, comparisons: Sequence[MethodComparison]) -> str:
    return rf"{escape_latex(name)} & {' & '.join(_tex_scores(name, comparison) for comparison in comparisons)} \\"


def _tex_scores(name: str, comparison: MethodComparison) -> str:
    row = next((row for row in comparison.rows if row.name == name), None)
    if row is None:
        return "-- & --"
    return f"{_tex_score(row, comparison, 'micro')} & {_tex_score(row, comparison, 'macro')}"


def _tex_score(row: MethodRow, comparison: MethodComparison, score: Average) -> str:
    text = escape_latex(mean_and_deviation(row.values(score)))
    mark = {1: r"\textbf", 2: r"\underline"}.get(comparison.place(row, score))
    test = comparison.tests.get(row.name)
    dagger = r"$^{\dagger}$" if score == "macro" and test is not None and test.real else ""
    return (f"{mark}{{{text}}}" if mark else text) + dagger


def _tex_gain(comparison: MethodComparison) -> str:
    gain = comparison.gain
    return "-- & --" if gain is None else f"{escape_latex(signed(gain.micro))} & {escape_latex(signed(gain.macro))}"


def _tex_legend(comparisons: Sequence[MethodComparison]) -> list[str]:
    """Explain the marks in comments, for the author of the caption."""
    chosen = next((comparison.chosen.name for comparison in comparisons if comparison.chosen is not None), "")
    lines = ["F1 averaged over tasks, mean ± standard deviation over seeds; bold: best, underlined: second best."]
    if any(row.joint for comparison in comparisons for row in comparison.rows):
        lines.append("Above the rule: upper bounds, which see all data and are not contenders.")
    if chosen:
        lines.append(f"dagger: differs from {chosen}, paired t-test over seeds, p < 0.05 after Holm's correction.")
    for comparison in comparisons:
        if gain := comparison.gain:
            lines.append(f"Imp. in {comparison.setting}: over {gain.rival.name}.")
    return ["% " + " ".join(line.split()) for line in lines]


def escape_latex(text: str) -> str:
    """Escape a text for LaTeX; names may hold anything."""
    return "".join(_TEX.get(char, char) for char in " ".join(text.split()))


def cells_csv(folder: BenchFolder) -> str:
    """Write CSV, one row per cell and task, numbers in full; lists of types are JSON, since names may hold commas."""
    types = sorted({type_ for cell in folder.cells for task in cell.tasks for type_ in task.per_type})
    out = io.StringIO()
    writer = csv.DictWriter(out, [*_FACTS, *_NUMBERS, *_OF_CELL, *(f"f1 {name}" for name in types)], restval="")
    writer.writeheader()
    for cell in folder.cells:
        for number, task in enumerate(cell.tasks, 1):
            writer.writerow(_record(cell, number, task))
    return out.getvalue()


_FACTS = ("preset", "setting", "method", "variant", "encoder", "seed", "task", "types")
_NUMBERS = ("micro", "macro", "old_macro", "new_macro", "seconds")
_OF_CELL = ("guesses_precision", "guesses_recall", "dev_micro", "dev_macro", "peak_bytes")


def _record(cell: CellResult, number: int, task: TaskScores) -> dict[str, object]:
    types = json.dumps(task.types, ensure_ascii=False)
    facts = {name: getattr(cell, name, "") for name in _FACTS} | {"task": number, "types": types}
    numbers = {name: getattr(task, name) for name in _NUMBERS} | {"peak_bytes": cell.peak_bytes}
    guesses, dev = dict(task.pseudo_labels or {}), dict(task.dev or {})
    numbers |= {f"guesses_{name}": guesses.get(name) for name in ("precision", "recall")}
    numbers |= {f"dev_{name}": dev.get(name) for name in ("micro", "macro")}
    return facts | numbers | {f"f1 {name}": score["f1"] for name, score in task.per_type.items()}
