"""The README's table is that of the results, the demo shows what it claims, and methods are told with their fields."""

import dataclasses
import json
import re
from pathlib import Path
from statistics import mean, stdev

import pytest

from retainer.cli.main import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def small_demo(tmp_path_factory):
    """The demo on a small size: what `retainer demo` does, with a third of the sentences."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    assert main(["demo", "--out", str(folder), "--sentences", "800", "--device", "cpu"]) == 0
    return folder


def test_forgetting_happens_and_does_not_happen(small_demo):
    cells = json.loads((small_demo / "cells.json").read_text())
    old = {method: cell["tasks"][-1]["old_macro"] for method, cell in cells.items()}
    assert old["finetune"] < 10, "plain fine-tuning forgets"
    assert old["rdp"] > 80, "RDP does not"
    assert cells["finetune"]["tasks"][0]["per_type"] == cells["rdp"]["tasks"][0]["per_type"], "the same first version"
    assert all(cell["tasks"][-1]["new_macro"] > 60 for cell in cells.values()), "both learn the new type"


def test_the_demo_writes_a_page_and_a_picture(small_demo):
    page = (small_demo / "report.html").read_text()
    assert "<svg" in page and "restaurant" in page and not re.search(r'(?:src|href)="https?:', page)
    assert (small_demo / "curves.svg").read_text().startswith("<svg")


def test_the_table_and_the_curve_are_those_of_the_cells(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import readme

    text, drawing = readme.written()
    assert text == README and drawing == readme.PICTURE.read_text(), "run make readme"
    assert text.count("**`rdp`**") == 1 and "± " in text


def measured():
    """Seeds and macro F1 (averaged, of the old types, of the new ones) by method, for each setting of the table."""
    table = (ROOT / "results" / "bench" / "conll2003" / "table.md").read_text()
    for sheet in re.findall(r"^\| method \| seeds .*?\n\n", table, flags=re.MULTILINE | re.DOTALL):
        rows = [line.strip("| ").split(" | ") for line in sheet.strip().splitlines()]
        yield {row[0]: (row[1], row[3].split(" ")[0], row[5], row[6]) for row in rows}


def test_the_guide_has_the_numbers_of_the_table():
    guide = (ROOT / "docs" / "which-method.md").read_text()
    pairs = r" ([\d.]+) · ([\d.]+) \|" * 3
    rows = re.findall(rf"^\| `(\w+)` \| (\d) \|{pairs}", guide, flags=re.MULTILINE)
    assert len(rows) == 12
    for name, seeds, *shown in rows:
        first, second = (setting[name] for setting in measured())
        assert seeds == first[0] == second[0]
        assert shown == [value for pair in zip(first[1:], second[1:], strict=True) for value in pair], name


def test_the_table_of_fewnerd_is_that_of_the_cells():
    text = (ROOT / "results" / "README.md").read_text()
    section = text[text.index("## Few-NERD, 18 types") : text.index("## Cells per minute")]
    rows = re.findall(r"^\| `([\w-]+)` \| (\d) \| (.*) \|$", section, flags=re.MULTILINE)
    assert len(rows) == 17
    for name, seeds, shown in rows:
        for setting, field in zip(
            ("FG-1-PG-1", "FG-2-PG-2", "FG-8-PG-1", "FG-8-PG-2"), shown.split(" | "), strict=True
        ):
            files = sorted((ROOT / "results" / "bench" / "fewnerd" / setting / name).glob("seed-?.json"))
            scores = [json.loads(file.read_text())["average"] for file in files]
            micro, macro = ([score[kind] for score in scores] for kind in ("micro", "macro"))
            spread = f" ± {stdev(macro):.1f}" if len(scores) > 1 else ""
            assert field == f"{mean(micro):.1f} / {mean(macro):.1f}{spread}" and len(scores) == int(seeds), name


def test_methods_and_their_fields_are_told():
    """The help of learn names every method it takes, and docs/methods.md all fields with their defaults."""
    from retainer.cli.verbs.learn import learn
    from retainer.methods import METHODS
    from retainer.model.quirks import NONE

    told = learn.__doc__.split(":param method:")[1].split(":param")[0]
    names = [name for name, one in METHODS.items() if one.quirks == NONE]
    assert sorted(
        re.findall(r"[\w-]+", told.split("types:")[1].split("(docs")[0].replace("or rdp without a part of it", ""))
    ) == sorted(names)
    page, checked = (ROOT / "docs" / "methods.md").read_text(), []
    for name, fields in re.findall(
        r"^\| `([\w-]+)` \| [^|]+ \| ((?:`\w+` [\w.]+(?:, )?)+) \|$", page, flags=re.MULTILINE
    ):
        known = {field.name: getattr(METHODS[name], field.name) for field in dataclasses.fields(METHODS[name])}
        written = dict(re.findall(r"`(\w+)` ([\w.]+)", fields))
        assert written == {key: value if isinstance(value, str) else f"{value:g}" for key, value in known.items()}, name
        checked.append(name)
    assert {"cfner", "cpfd", "frozen", "rdp", "tbcl"} <= set(checked)
