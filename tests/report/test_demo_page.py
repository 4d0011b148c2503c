"""The report: what it says follows from the cells, whatever the names, and nothing in it reaches for the network."""

import io
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import combinations

import pytest
from html_reader import Reader, headline, words
from rich.console import Console

from retainer.bench.result import CellResult, TaskScores
from retainer.data.spans import Sentence, Span
from retainer.report.demo.page import demo_page
from retainer.report.draw import theme
from retainer.report.draw.charts import curves
from retainer.report.draw.examples import Example, outcomes_by_task
from retainer.report.draw.runs import runs_of
from retainer.report.draw.svg import shorten, spread_apart, text_width
from retainer.report.draw.tables import text_table

SVG = "{http://www.w3.org/2000/svg}"


def cell(method, tasks, values):
    """Build a cell; ``values[t][type]`` is F1 after task t."""
    learned, rows = [], []
    for new, f1 in zip(tasks, values, strict=True):
        old = [f1[t] for t in learned]
        learned += new
        rows.append(
            {
                "types": list(new),
                "micro": sum(f1.values()) / len(f1),
                "macro": sum(f1.values()) / len(f1),
                "old_macro": sum(old) / len(old) if old else None,
                "new_macro": sum(f1[t] for t in new) / len(new),
                "per_type": {t: {"precision": v, "recall": v, "f1": v, "support": 9} for t, v in f1.items()},
                "seconds": 1.0,
            }
        )
    means = {"micro": 0.0, "macro": 0.0}
    return CellResult(method, 1, "e", tuple(TaskScores.of(row) for row in rows), means, {}, {}, 3.0, {})


TASKS = [["artist"], ["city"], ["song"]]
FORGETS = [{"artist": 90.0}, {"artist": 5.0, "city": 80.0}, {"artist": 1.0, "city": 2.0, "song": 95.5}]
KEEPS = [{"artist": 91.0}, {"artist": 89.0, "city": 81.0}, {"artist": 87.25, "city": 65.0, "song": 94.0}]


@pytest.fixture
def cells():
    return {"finetune": cell("finetune", TASKS, FORGETS), "rdp": cell("rdp", TASKS, KEEPS)}


@pytest.fixture
def example():
    text = "Play Windowlicker by Aphex Twin in Berlin."
    sentence = Sentence.from_text(text, [Span(5, 17, "song"), Span(21, 31, "artist"), Span(35, 41, "city")])
    song, artist, city = sentence.spans
    wrong = Span(artist.start, artist.end, "song")
    return Example(
        sentence, {"finetune": [(artist,), (city,), (wrong,)], "rdp": [(artist,), (artist, city), sentence.spans]}
    )


# ---------------------------------------------------------------------------------------------------------------- page


def test_page_is_well_formed_and_complete(cells, example):
    html = demo_page("A title", cells, [example], {"encoder": "tiny", "command": "retainer demo"})
    reader = Reader(html)
    text = words(reader.text)
    assert html.startswith("<!doctype html>")
    assert ("lang", "en") in reader.attributes
    for type_ in ("artist", "city", "song"):
        assert f"+ {type_}" in text
    for task in (1, 2, 3):
        assert f"after task {task}" in text
    for expected in ("A title", "Plain fine-tuning", "RDP", "encoder", "tiny", "retainer demo", "Windowlicker", "87.2"):
        assert expected in text
    assert reader.seen.count("table") == reader.seen.count("caption") == 2
    assert [value for name, value in reader.attributes if name == "role"].count("img") == 2


def test_page_reaches_for_nothing(cells, example):
    html = demo_page("t", cells, [example], {})
    reader = Reader(html)
    assert not re.search(r"https?:|url\(|@import|//\w", html)
    assert not {"script", "link", "img", "iframe"} & set(reader.seen)
    assert not {"src", "href"} & {name for name, _ in reader.attributes}


def test_the_legend_has_no_numbers_that_were_not_measured(cells):
    legend = re.search(r'<ul class="legend">.*?</ul>', demo_page("t", cells, [], {}), re.DOTALL)[0]
    assert re.findall(r"(?<!F)\d+", re.sub("<[^>]+>", "", legend)) == ["20"]


def test_headline_follows_from_the_cells(cells):
    expected = "After three tasks, plain fine-tuning keeps 1.5 of 85.0 F1 on the old types; RDP keeps 76.1 of 86.0."
    assert headline(demo_page("t", cells, [], {})) == expected
    *earlier, last = cells["rdp"].tasks
    cells["rdp"] = replace(cells["rdp"], tasks=(*earlier, replace(last, old_macro=33.3)))
    cells["finetune"].tasks[0].per_type["artist"]["f1"] = 70.0
    expected = "After three tasks, plain fine-tuning keeps 1.5 of 75.0 F1 on the old types; RDP keeps 33.3 of 86.0."
    assert headline(demo_page("t", cells, [], {})) == expected


def test_headline_of_a_single_task():
    html = demo_page("t", {"rdp": cell("rdp", [["a"]], [{"a": 77.0}])}, [], {})
    assert headline(html) == "After one task, RDP reaches 77.0 F1 on its first type."


def test_table_marks_what_was_learned_and_what_fell(cells):
    text = words(Reader(demo_page("t", cells, [], {})).text)
    assert "80.0, just learned" in text
    assert "1.0, 89.0 below its best" in text
    assert "not learned yet" in text
    assert "65.0, 16.0 below" not in text


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a/b-c & \"d\" 'e'", "{{ 7 * 7 }}", "\x00\ud800</svg>"])
def test_hostile_names_stay_text(name):
    tasks = [[name], ["x" + name]]
    values = [{name: 90.0}, {name: 10.0, "x" + name: 80.0}]
    cells = {name: cell(name, tasks, values)}
    sentence = Sentence(("one", name), (Span(1, 2, name),))
    html = demo_page(name, cells, [Example(sentence, {name: [(Span(1, 2, name),), (Span(0, 1, name),)]})], {name: name})
    reader = Reader(html)
    shown = name.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    assert "script" not in reader.seen
    assert shown in reader.text
    html.encode()
    picture = ET.fromstring(curves(cells))
    assert any(shown in (element.text or "") for element in picture.iter())
    assert picture.findall(f".//{SVG}script") == []


@pytest.mark.parametrize(("methods", "tasks", "per_task"), [(1, 1, 1), (4, 20, 2), (3, 1, 40), (2, 7, 3)])
def test_all_sizes(methods, tasks, per_task):
    plan = [[f"type-{t}-{k}" for k in range(per_task)] for t in range(tasks)]
    values = [{type_: 90.0 - t for new in plan[: t + 1] for type_ in new} for t in range(tasks)]
    cells = {f"m{m}": cell(f"m{m}", plan, values) for m in range(methods)}
    text = Reader(demo_page("t", cells, [], {})).text
    assert all(type_ in text for new in plan for type_ in new)
    picture = ET.fromstring(curves(cells))
    names = [e for e in picture.iter(f"{SVG}text") if e.get("class", "").startswith("name ")]
    assert len(names) == methods * tasks * per_task


# ------------------------------------------------------------------------------------------------------------ examples


def test_outcomes_are_found_forgotten_missed_and_wrong(cells, example):
    finetune, rdp = runs_of(cells)
    kinds = [[(p.kind, p.type) for p in o.pieces if p.kind != "plain"] for o in outcomes_by_task(example, finetune)]
    assert kinds == [
        [("found", "artist")],
        [("forgotten", "artist"), ("found", "city")],
        [("missed", "song"), ("wrong", "song"), ("forgotten", "city")],
    ]
    assert [(o.found, o.wanted) for o in outcomes_by_task(example, rdp)] == [(1, 1), (2, 2), (3, 3)]
    for outcome in outcomes_by_task(example, finetune):
        assert "".join(piece.text for piece in outcome.pieces) == example.sentence.text


def test_examples_say_it_in_words(cells, example):
    text = words(Reader(demo_page("t", cells, [example], {})).text)
    assert "Aphex Twin [artist forgotten]" in text
    assert "Aphex Twin [✗ song is wrong: in truth Aphex Twin (artist)]" in text
    assert "Windowlicker [song missed]" in text
    assert "1 of 2 found" in text


def test_examples_may_lack_predictions(cells, example):
    short = Example(example.sentence, {"rdp": example.predictions["rdp"][:1]})
    assert "no predictions" in Reader(demo_page("t", cells, [short], {})).text


# -------------------------------------------------------------------------------------------------------------- curves


def test_points_lie_where_their_values_say(cells):
    picture = ET.fromstring(curves(cells))
    assert picture.tag == f"{SVG}svg"
    assert picture.get("viewBox")
    panels = [group for group in picture.findall(f"{SVG}g")]
    assert len(panels) == 2
    for panel, run in zip(panels, runs_of(cells), strict=True):
        grid = sorted(float(line.get("y1")) for line in panel.iter(f"{SVG}line"))
        top, bottom = grid[0], grid[-1]
        dots = [e for e in panel.iter(f"{SVG}path") if e.get("class").startswith("dot")]
        seen = {}
        for dot in dots:
            x, y = map(float, re.findall(r"[\d.]+", dot.get("transform")))
            type_, task = re.match(r"(\w+) after task (\d+)", dot.find(f"{SVG}title").text).groups()
            seen[type_, int(task) - 1] = x, (bottom - y) / (bottom - top) * 100
        expected = {(t, task): run.f1(task, t) for t in run.start for task in range(run.start[t], 3)}
        assert {key: y for key, (_, y) in seen.items()} == pytest.approx(expected, abs=0.01)
        assert seen["artist", 2][0] == seen["song", 2][0] > seen["city", 1][0] > seen["artist", 0][0]


def test_lines_pass_through_their_points(cells):
    picture = ET.fromstring(curves(cells))
    lines = [line.get("points").split() for line in picture.iter(f"{SVG}polyline")]
    assert [len(points) for points in lines] == [3, 2, 3, 2]


def test_curves_bring_background_and_both_schemes(cells):
    svg = curves(cells)
    assert "var(" not in svg
    assert "prefers-color-scheme: dark" in svg
    assert svg.count("http") == 1
    assert ET.fromstring(svg).find(f"{SVG}rect").get("class") == "backdrop"


def test_labels_never_overlap():
    wanted = [10.0, 10.0, 11.0, 50.0, 99.0, 100.0, 100.0]
    placed = spread_apart(wanted, 8, 0, 100)
    assert all(b - a >= 8 - 1e-9 for a, b in zip(placed, placed[1:], strict=False))
    assert placed[0] >= 0
    assert placed[-1] <= 100 + 1e-9
    assert placed[3] == 50.0
    assert spread_apart([], 8, 0, 100) == []


def test_long_names_are_cut():
    assert shorten("short", 100) == "short"
    cut = shorten("x" * 80, 100)
    assert cut.endswith("…")
    assert text_width(cut) <= 105


# --------------------------------------------------------------------------------------------------------------- theme


def luminance(colour):
    parts = [value / 255 for value in bytes.fromhex(colour[1:])]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [theme.LIGHT, theme.DARK])
def test_text_has_contrast(palette):
    for name, colour in palette.items():
        if re.fullmatch(r"c\d", name):
            assert contrast(colour, palette["onsolid"]) >= 4.5
            assert contrast(colour, palette["card"]) >= 4.5
        if re.fullmatch(r"[th]\d+|page|card", name):
            assert contrast(colour, palette["ink"]) >= 4.5
    for ground in ("page", "card"):
        assert contrast(palette["muted"], palette[ground]) >= 4.5
        assert contrast(palette["accent"], palette[ground]) >= 4.5


def test_forty_types_look_different():
    looks = [(theme.hue(i), theme.dash(i)) for i in range(40)]
    marks = [(theme.hue(i), theme.marker(i)) for i in range(40)]
    assert all(a != b for a, b in combinations(looks, 2))
    assert all(a != b for a, b in combinations(marks, 2))


# ------------------------------------------------------------------------------------------------------------ terminal


def rendered(table, **options):
    console = Console(file=io.StringIO(), width=120, **options)
    console.print(table)
    return console.file.getvalue()


def test_text_table(cells):
    lines = [
        [part.strip() for part in re.split("[│┃]", line)[1:-1]]
        for line in rendered(text_table(cells["finetune"])).splitlines()
    ]
    assert [line for line in lines if line] == [
        ["after task", "artist", "city", "song", "all", "old", "new"],
        ["1 artist", "*90.0", "·", "·", "90.0", "-", "90.0"],
        ["2 city", "!5.0", "*80.0", "·", "42.5", "5.0", "80.0"],
        ["3 song", "!1.0", "!2.0", "*95.5", "32.8", "1.5", "95.5"],
    ]
    assert "87.2" in rendered(text_table(cells["rdp"]))


def test_text_table_colours_and_names():
    out = rendered(
        text_table(cell("m", [["[red]x"], ["b"]], [{"[red]x": 50.0}, {"[red]x": 29.9, "b": 1.0}])), force_terminal=True
    )
    assert "[red]x" in out
    assert re.search(r"\x1b\[1;31m *!29.9", out)
    assert re.search(r"\x1b\[2m *·", out)


def test_import_is_light():
    code = "import sys, retainer.report; print([m for m in ('torch', 'transformers', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
