"""Write what pages say about the results and about the code, so that no number and no flag is typed by hand.

    python benchmarks/readme.py            # or: make readme

Each text stands between two marks that name it; the curve is docs/conll2003.svg. A test compares all of them.
"""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import code_tables
from decision import corpora, decision, situations
from label_studio import CONFIG

from retainer.methods import DEFAULT_METHOD
from retainer.report.bench.folder import read_bench
from retainer.report.bench.means import axis_start, method_lines
from retainer.report.bench.numbers import mean_and_deviation, two_decimals
from retainer.report.bench.ranking import Ranking
from retainer.report.bench.rows import MethodRow
from retainer.report.draw.charts import picture
from retainer.report.draw.svg import Frame, text_width

ROOT = Path(__file__).parents[1]
PRESET = "conll2003"
PICTURE = ROOT / "docs" / f"{PRESET}.svg"
CORPORA = {"conll2003": "CoNLL2003", "fewnerd": "Few-NERD", "wnut17": "WNUT17", "snips": "SNIPS"}
"""What each preset with committed cells is called."""
BEGIN, END = "<!-- make readme begins: {} -->", "<!-- make readme ends: {} -->"
NOTES = {
    "joint": "all data, all types: the upper bound",
    "partial_joint": "all data, each slice annotated with its own types",
    "finetune": "the lower bound",
    "retain": "ours, the default",
    "rdp": "CIKM 2023",
    "rdp_paper": "the letter of the formulas",
    "rdp_released": "what the authors' code computes",
    "rdp_released (recipe paper)": "and as they trained it",
}
"""What a reader of the table needs to know about a row."""
FEW = ("joint", "partial_joint", "retain", "tbcl", "rdp", "cfner", "finetune")
"""Rows of the README: all bounds, ours, rdp, the best published method above it and the next one below it."""
ABLATIONS = ("rdp-no-", "retain-no-")
"""Rows that only the table of the bench has, as do those with other values of fields."""
DRAWN = ("retain", "joint", "rdp", "extend_ner", "finetune")
"""Lines of the curve: few enough to be told apart; the place decides the colour."""


def table(ranked: Sequence[Ranking]) -> str:
    """Write a row per method: micro and macro averages of every setting, and the old types after the last task."""
    return _table(ranked, [row.name for row in ranked[0].rows if _usual(row)], ("micro", "macro"))


def _usual(row: MethodRow) -> bool:
    """Leave out ablations, other values of fields, and other encoders than the built-in one."""
    own = not row.name.startswith(ABLATIONS) and "=" not in row.name
    return own and all(cell.encoder == "builtin" for cell in row.cells)


def short_table(ranked: Sequence[Ranking]) -> str:
    """Write the few rows and columns of the README."""
    return _table(ranked, [row.name for row in ranked[0].rows if row.name in FEW], ("macro",))


def _table(ranked: Sequence[Ranking], names: Sequence[str], scores: Sequence[str]) -> str:
    settings = [{row.name: row for row in one.rows} for one in ranked]
    head = ["method", "seeds", *(text for one in ranked for text in (one.setting, "old types"))]
    return code_tables.markdown([head, *(_line([rows[name] for rows in settings], scores) for name in names)])


def _line(settings: Sequence[MethodRow], scores: Sequence[str]) -> list[str]:
    """Write the row of one method, which is given once for every setting."""
    first = settings[0]
    name = f"**`{first.name}`**" if first.name == DEFAULT_METHOD else f"`{first.name}`"
    cells = [
        text
        for one in settings
        for text in (
            " / ".join(mean_and_deviation(one.values(score)) for score in scores),
            two_decimals(one.last("old_macro")),
        )
    ]
    note = f" ({NOTES[first.name]})" if first.name in NOTES else ""
    return [name + note, str(len(first.cells)), *cells]


def curve(ranked: Sequence[Ranking]) -> str:
    """Draw macro F1 of all types so far over the tasks, a panel per setting."""
    drawn = [method_lines(one.setting, [row for row in one.rows if row.name in DRAWN]) for one in ranked]
    tasks = max(len(one.tasks) for one in drawn)
    frame = Frame(tasks, len(DRAWN), max(map(text_width, DRAWN)), plot_width=300, low=axis_start(drawn))
    notes = ["Macro F1 in percent of all types learned so far, after each task; means over seeds."]
    return picture(drawn, DRAWN, frame, "Macro F1 of all types so far", notes)


@cache
def _ranked(preset: str = PRESET) -> tuple[Ranking, ...]:
    return tuple(read_bench(ROOT / "results" / "bench" / preset).rankings)


def _fenced(text: str, language: str = "") -> str:
    """Return a text as a block of a page."""
    return f"\n```{language}\n{text.rstrip()}\n```\n"


TEXTS: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {"results": lambda: short_table(_ranked()), "rooms": code_tables.rooms},
    "CONTRIBUTING.md": {"rooms": code_tables.everything},
    "docs/which-method.md": {
        "decision": lambda: decision(_ranked(), _ranked("fewnerd")),
        "situations": lambda: situations(_ranked()),
        "corpora": lambda: corpora({name: _ranked(preset) for preset, name in CORPORA.items()}),
        "results": lambda: table(_ranked()),
    },
    "docs/label-studio.md": {
        "label config": lambda: _fenced(CONFIG, "xml"),
        "label studio": lambda: _fenced((ROOT / "results" / "label-studio.txt").read_text(encoding="utf-8")),
    },
    "docs/cli.md": {
        "verbs": code_tables.verbs,
        "shared flags": code_tables.shared_flags,
        "recipe": code_tables.recipe_fields,
        **{f"options of {' '.join(words)}": code_tables.options_of(words) for words in code_tables.COMMANDS},
    },
}
"""The generated texts of every page, by name."""


def replaced(page: str, name: str, text: str) -> str:
    """Return a page with the text of this name put between its marks."""
    begin, end = BEGIN.format(name), END.format(name)
    before, rest = page.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n{text}\n{end}{after}"


def written() -> dict[Path, str]:
    """Return the pages and the picture as they should be."""
    files = {PICTURE: curve(_ranked())}
    for name, texts in TEXTS.items():
        page = (ROOT / name).read_text(encoding="utf-8")
        for title, make in texts.items():
            page = replaced(page, title, make())
        files[ROOT / name] = page
    return files


if __name__ == "__main__":
    for path, content in written().items():
        path.write_text(content, encoding="utf-8")
