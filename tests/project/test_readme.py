"""Tables of README and docs are those of results and code, the demo shows what it claims, methods are described."""

import dataclasses
import json
import re
from pathlib import Path
from statistics import mean, stdev

import pytest

from retainer.cli.main import main
from retainer.methods import DEFAULT_METHOD

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "retainer"
ARCHITECTURE = ROOT / "tests" / "project" / "test_architecture.py"
README, CONTRIBUTING = ((ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md"))


@pytest.fixture(scope="module")
def small_demo(tmp_path_factory, encoder):
    """The demo with a tiny encoder and few sentences; tests/docs/test_demo.py runs it with the built-in one."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("retainer.model.tagger.builtin_folder", lambda: encoder)
        assert main(["demo", "--out", str(folder), "--sentences", "160", "--epochs", "1", "--device", "cpu"]) == 0
    return folder


def test_both_methods_begin_with_the_same_version(small_demo):
    cells = json.loads((small_demo / "cells.json").read_text())
    assert list(cells) == ["finetune", "retain"] and all(len(cell["tasks"]) == 4 for cell in cells.values())
    assert cells["finetune"]["tasks"][0]["per_type"] == cells["retain"]["tasks"][0]["per_type"], (
        "the same first version"
    )


def test_the_demo_writes_a_page_and_a_picture(small_demo):
    page = (small_demo / "report.html").read_text()
    assert "<svg" in page and "restaurant" in page and not re.search(r'(?:src|href)="https?:', page)
    assert (small_demo / "curves.svg").read_text().startswith("<svg")


@pytest.fixture
def generator(monkeypatch):
    """What `make readme` runs."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import readme

    return readme


def test_what_is_generated_is_up_to_date(generator):
    for path, text in generator.written().items():
        assert text == path.read_text("utf-8"), f"{path.relative_to(ROOT)} is not up to date: run make readme"


def test_the_table_and_the_curve_are_those_of_the_cells(generator):
    whole = (ROOT / "docs" / "which-method.md").read_text()
    assert generator.PICTURE in generator.written() and generator.PICTURE.name in whole
    for text in (README, whole):
        assert text.count(f"**`{DEFAULT_METHOD}`**") == 1 and "± " in text
    rows = [
        re.findall(r"^\| \**`([\w (]+\)?)`", _between(text, "results"), flags=re.MULTILINE) for text in (README, whole)
    ]
    assert len(rows[0]) == 7 and len(rows[1]) == 19 and set(rows[0]) <= set(rows[1])


def _between(text, name):
    return text.split(f"<!-- make readme begins: {name} -->")[1].split(f"<!-- make readme ends: {name} -->")[0]


def test_the_readme_is_short_and_soon_runs():
    assert len(README.split()) <= 1200
    before, block = README.split("```", 1)
    assert len(before.split()) < 200 and block.split("\n")[1].startswith("make demo") and "\nmake test" in block


@pytest.mark.parametrize("page", ["README.md", "docs/compare.md", "docs/ci.md"])
def test_gates_that_are_shown_ask_whether_anything_was_learned(page):
    """A version that learned nothing has forgotten nothing: a gate on what is lost lets it pass."""
    calls = re.findall(r"^.*retainer compare .*--max-drop.*$", (ROOT / page).read_text(), flags=re.MULTILINE)
    assert calls and all("--min-gain" in call for call in calls)


def test_what_is_where(generator):
    rooms = [room.name for room in SOURCE.iterdir() if (room / "__init__.py").is_file()]
    table = re.findall(r"^\| `(\w+)/` \| (.+) \|$", _between(README, "rooms"), flags=re.MULTILINE)
    assert sorted(room for room, _ in table) == sorted(rooms)
    for room, said in table:
        assert said.replace("`", "") in (SOURCE / room / "__init__.py").read_text().replace("`", "")
    order = re.search(r"^ROOMS = \((.*?)\)", ARCHITECTURE.read_text(), flags=re.MULTILINE | re.DOTALL)[1]
    assert [room for room, _ in table] == re.findall(r"\w+", order), "the order of the table is the order of imports"
    names = re.findall(r"^\| `([\w/.]+)` \|", _between(CONTRIBUTING, "rooms"), flags=re.MULTILINE)
    assert {path.name for path in SOURCE.glob("*.py")} - {"__init__.py", "__main__.py"} <= set(names)
    assert {f"{path.parent.relative_to(SOURCE)}/" for path in SOURCE.glob("*/**/__init__.py")} <= set(names)


def measured():
    """Seeds and macro F1 (averaged, of the old types, of the new ones) by method, for each setting of the table."""
    table = (ROOT / "results" / "bench" / "conll2003" / "table.md").read_text()
    for sheet in re.findall(r"^\| method \| seeds .*?\n\n", table, flags=re.MULTILINE | re.DOTALL):
        head, _, *lines = [line.strip("| ").split(" | ") for line in sheet.strip().splitlines()]
        rows = [dict(zip(head, line, strict=False)) for line in lines]
        yield {row["method"]: (row["seeds"], row["macro"].split(" ")[0], row["old"], row["new"]) for row in rows}


def test_the_guide_has_the_numbers_of_the_table():
    guide = (ROOT / "docs" / "which-method.md").read_text()
    pairs = r" ([\d.]+) · ([\d.]+) \|" * 3
    rows = re.findall(rf"^\| `(\w+)` \| (\d) \|{pairs}", guide, flags=re.MULTILINE)
    assert len(rows) == 14
    for name, seeds, *shown in rows:
        first, second = (setting[name] for setting in measured())
        assert seeds == first[0] == second[0]
        assert shown == [value for pair in zip(first[1:], second[1:], strict=True) for value in pair], name


def test_the_guide_begins_with_a_decision_that_the_cells_bear_out():
    """Five lines before the first section; retain is ahead, and a quick look measures all that is recommended."""
    from retainer.bench.preset import QUICK
    from retainer.methods import METHODS

    begins = (ROOT / "docs" / "which-method.md").read_text().split("\n## ")[0]
    lines = re.findall(r"^\d\. \*\*.*$", begins, flags=re.MULTILINE)
    assert len(lines) == 5 and "`retain`" in lines[0] and "bench own" in lines[4]
    assert ("default" in lines[0]) == (DEFAULT_METHOD == "retain")
    bounds = {"joint", "partial_joint"}
    for setting in measured():
        defaults = {name: float(scores[1]) for name, scores in setting.items() if name in METHODS.keys() - bounds}
        assert max(defaults, key=defaults.get) == "retain"
    named = {name for line in lines for name in re.findall(r"`([\w-]+)`", line) if name in METHODS} - {"joint"}
    assert {"retain", "cpfd", "rdp", "rdp-no-ppl"} <= named <= set(QUICK)


def test_the_table_of_fewnerd_is_that_of_the_cells():
    text = (ROOT / "results" / "README.md").read_text()
    section = text[text.index("## Few-NERD, 18 types") : text.index("## WNUT17 and SNIPS")]
    rows = re.findall(r"^\| `([\w-]+)` \| (\d) \| (.*) \|$", section, flags=re.MULTILINE)
    assert len(rows) == 20
    for name, seeds, shown in rows:
        for setting, field in zip(
            ("FG-1-PG-1", "FG-2-PG-2", "FG-8-PG-1", "FG-8-PG-2"), shown.split(" | "), strict=True
        ):
            files = sorted((ROOT / "results" / "bench" / "fewnerd" / setting / name).glob("seed-?.json"))
            scores = [json.loads(file.read_text())["average"] for file in files]
            if not scores:
                assert not field.strip(), f"{name} is not measured in {setting}"
                continue
            micro, macro = ([score[kind] for score in scores] for kind in ("micro", "macro"))
            spread = f" ± {stdev(macro):.1f}" if len(scores) > 1 else ""
            assert field == f"{mean(micro):.1f} / {mean(macro):.1f}{spread}" and len(scores) == int(seeds), name


def test_methods_and_their_fields_are_described():
    """The help of learn names every method it takes, and docs/methods.md all fields with their defaults."""
    from retainer.cli.arguments import build
    from retainer.cli.verbs.learn import learn
    from retainer.methods import METHODS
    from retainer.model.quirks import NONE

    [help_] = [action.help for action in build("learn", learn)._actions if action.dest == "method"]
    names = [name for name, one in METHODS.items() if one.quirks == NONE]
    assert sorted(re.findall(r"[\w-]+", help_.split("types:")[1].split("(docs")[0])) == sorted(names)
    page, checked = (ROOT / "docs" / "methods.md").read_text(), []
    for name, fields in re.findall(
        r"^\| `([\w-]+)` \| [^|]+ \| ((?:`\w+` [\w.]+(?:, )?)+) \|$", page, flags=re.MULTILINE
    ):
        known = {field.name: getattr(METHODS[name], field.name) for field in dataclasses.fields(METHODS[name])}
        written = dict(re.findall(r"`(\w+)` ([\w.]+)", fields))
        assert written == {key: value if isinstance(value, str) else f"{value:g}" for key, value in known.items()}, name
        checked.append(name)
    assert {"cfner", "cpfd", "frozen", "rdp", "tbcl"} <= set(checked)
