"""Write the README's table and curve out of the measured cells, so that nobody types a number.

    python benchmarks/readme.py            # or: make readme

The table stands between two marks in README.md; the curve is docs/conll2003.svg. A test compares both with the cells.
"""

from pathlib import Path

from retainer.report.bench.folder import read_bench
from retainer.report.bench.means import axis_start, method_lines
from retainer.report.bench.numbers import mean_and_deviation, two_decimals
from retainer.report.bench.ranking import Ranking
from retainer.report.bench.rows import MethodRow
from retainer.report.draw.charts import picture
from retainer.report.draw.svg import Frame, text_width

ROOT = Path(__file__).parents[1]
PRESET = "conll2003"
README, PICTURE = ROOT / "README.md", ROOT / "docs" / f"{PRESET}.svg"
BEGIN, END = "<!-- what make readme writes begins -->", "<!-- what make readme writes ends -->"
NOTES = {
    "joint": "all data, all types: the upper bound",
    "finetune": "the lower bound",
    "rdp_paper": "the letter of the formulas",
    "rdp_released": "what the authors' code computes",
    "rdp_released (recipe paper)": "and as they trained it",
}
"""What a reader of the table needs to know about a row."""
ABLATIONS = "rdp-no-"
"""Rows that only the whole table has."""
DRAWN = ("rdp", "joint", "cfner", "extend_ner", "finetune")
"""Lines of the curve: few enough to be told apart; the place decides the colour."""


def table(ranked: list[Ranking]) -> str:
    """Write a row per method: every setting's averages, and what is left of the old types at the end."""
    shown = [row for row in ranked[0].rows if not row.name.startswith(ABLATIONS)]
    head = ["method", "seeds", *(text for one in ranked for text in (one.setting, "old types"))]
    body = [_line(row, [found[row.name] for found in map(_by_name, ranked)]) for row in shown]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *body])


def _by_name(ranking: Ranking) -> dict[str, MethodRow]:
    return {row.name: row for row in ranking.rows}


def _line(row: MethodRow, settings: list[MethodRow]) -> list[str]:
    name = f"**`{row.name}`**" if row.name == "rdp" else f"`{row.name}`"
    scores = [
        text
        for one in settings
        for text in (
            f"{mean_and_deviation(one.values('micro'))} / {mean_and_deviation(one.values('macro'))}",
            two_decimals(one.last("old_macro")),
        )
    ]
    note = f" ({NOTES[row.name]})" if row.name in NOTES else ""
    return [name + note, str(len(row.cells)), *scores]


def curve(ranked: list[Ranking]) -> str:
    """Draw macro F1 of all types so far over the tasks, a panel per setting."""
    drawn = [method_lines(one.setting, [row for row in one.rows if row.name in DRAWN]) for one in ranked]
    tasks = max(len(one.tasks) for one in drawn)
    frame = Frame(tasks, len(DRAWN), max(map(text_width, DRAWN)), plot_width=300, low=axis_start(drawn))
    notes = ["Macro F1 in percent of all types learned so far, after each task; means over seeds."]
    return picture(drawn, DRAWN, frame, "Macro F1 of all types so far", notes)


def written() -> tuple[str, str]:
    """Return the README and the picture as they should be."""
    ranked = read_bench(ROOT / "results" / "bench" / PRESET).rankings
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table(ranked)}\n{END}{after}", curve(ranked)


if __name__ == "__main__":
    readme, drawing = written()
    README.write_text(readme, encoding="utf-8")
    PICTURE.write_text(drawing, encoding="utf-8")
