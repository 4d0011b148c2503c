"""Methods and formats of other packages, from a real installed package: names, records, and what goes wrong."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from retainer.cli.main import main
from retainer.data.formats.table import find_format
from retainer.data.io import read, write
from retainer.errors import InputError
from retainer.methods import method, recorded_name
from retainer.methods.finetune import Finetune

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "plugins.md").read_text("utf-8")
SHY = (ROOT / "examples" / "shy.py").read_text("utf-8")
MORE = """
import retainer
from retainer.data.formats.conll import read_conll, write_conll

PIPES = retainer.Format(
    lambda text, source: read_conll(text.replace("|", "\\t"), source),
    lambda sentences: write_conll(sentences).replace("\\t", "|"),
    lambda line: False,
)
class Bare(retainer.Method):
    pass
"""
BROKEN = "import nothing_of_this_name"
POINTS = """[retainer.methods]
shy = shy_package.shy:Shy
retain = shy_package.shy:Shy
broken = shy_package.broken:X
twice = shy_package.shy:Shy
bare = shy_package.more:Bare
[retainer.formats]
pipes = shy_package.more:PIPES
nopipes = shy_package.shy:Shy
"""

READING = """
import asyncio, sys
from retainer.cli.main import main
from serving import serving

old, new, data = sys.argv[1:]
for words in (
    ["log", new],
    ["verify", new],
    ["types", new],
    ["predict", new, "in oslo"],
    ["evaluate", new, data],
    ["compare", old, new, data],
):
    assert main(words) == 0, words
    assert "shy_package" not in str(sys.modules), words

async def serve():
    async with serving({"old": old, "new": new}) as (client, _):
        said = [
            await client.post("/v1/predict", json={"texts": ["in oslo"], "version": "new"}),
            await client.post("/v1/compare", json={"texts": ["in oslo"], "old": "old", "new": "new"}),
            await client.get("/v1/versions"),
        ]
        assert [one.status_code for one in said] == [200] * 3, [one.text for one in said]

asyncio.run(serve())
assert "shy_package" not in str(sys.modules)
from retainer.methods import method
method("shy_package.shy:Shy")
assert "shy_package" in str(sys.modules)
print("no module of the package, until it is named")
"""
"""What reads versions, in a process of its own; after each verb it asks whether the package of the method is there."""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """Install a tiny package, and another that offers a method by the same name."""
    site = tmp_path_factory.mktemp("site")
    (site / "shy_package").mkdir()
    for name, text in {"__init__": "", "shy": SHY, "more": MORE, "broken": BROKEN}.items():
        (site / "shy_package" / f"{name}.py").write_text(text)
    other = "[retainer.methods]\ntwice = shy_package.more:Bare\n"
    for name, points in (("shy_package", POINTS), ("other_package", other)):
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(points)
    return site


@pytest.fixture
def installed(package, monkeypatch):
    monkeypatch.syspath_prepend(str(package))
    return package


def refusal(name):
    with pytest.raises(InputError) as raised:
        method(name)
    return str(raised.value)


class TestMethods:
    def test_by_entry_point_and_by_class(self, installed):
        assert type(method("shy")).__name__ == "Shy"
        assert method("shy_package.shy:Shy", {"hold": 0.8}).hold == 0.8
        assert recorded_name("shy", method("shy")) == "shy_package.shy:Shy"
        with pytest.raises(InputError, match=r"method shy has no field 'hld' \(did you mean 'hold'"):
            method("shy", {"hld": 1})

    def test_what_is_refused(self, installed):
        assert "cannot be imported (ModuleNotFoundError: No module named 'nothing_of_this_name')" in refusal("broken")
        assert "several packages offer a method 'twice': other-package (shy_package.more:Bare) and" in refusal("twice")
        assert "is not a method: expected a class with @dataclass(frozen=True)" in refusal("bare")
        assert "shy_package.shy has no Shi" in refusal("shy_package.shy:Shi")
        assert "is not a method" in refusal("os:path") and "is not a method" in refusal("retainer:Method")
        assert "cannot be imported (ModuleNotFoundError" in refusal("no_such_package:X")

    def test_an_unknown_name_lists_all_and_says_what_is_hidden(self, installed):
        said = refusal("shi")
        assert "did you mean 'shy'?" in said and "twice" in said
        assert "the method retain of shy-package is hidden by ours, and called shy_package.shy:Shy" in said
        assert type(method("retain")).__module__ == "retainer.methods.retain"

    def test_a_class_of_the_users_own_is_recorded_by_its_module(self):
        @dataclass(frozen=True)
        class Mine(Finetune):
            pass

        assert recorded_name("", Mine()).endswith(
            "TestMethods.test_a_class_of_the_users_own_is_recorded_by_its_module.<locals>.Mine"
        )


def test_formats(installed, tmp_path):
    write(read(ROOT / "examples" / "both.conll"), tmp_path / "x", "pipes")
    assert "|B-" in (tmp_path / "x").read_text()
    assert len(read(tmp_path / "x", "pipes")) == len(read(ROOT / "examples" / "both.conll"))
    with pytest.raises(InputError, match="shy_package.shy:Shy is not a format: expected a retainer.Format"):
        find_format("nopipes")
    with pytest.raises(InputError, match="known are brat, .*, nopipes, pipes"):
        find_format("conl")


@pytest.mark.long
def test_a_record_names_the_class_and_runs_no_code(installed, tmp_path, encoder, capsys, monkeypatch):
    data, old, new = str(ROOT / "examples" / "cities.jsonl"), str(tmp_path / "v1"), str(tmp_path / "v2")
    how = ["--epochs", "1", "--device", "cpu", "--quiet"]
    artists = str(ROOT / "examples" / "artists.conll")
    assert main(["learn", artists, "--from", str(encoder), "--out", old, *how]) == 0
    call = ["learn", data, "--from", old, "--out", new, "--method", "shy", "--set.hold", "0.8", *how]
    assert main(call) == 0
    capsys.readouterr()
    assert main(["log", new]) == 0 and "shy_package.shy:Shy" in capsys.readouterr().out
    again = ["learn", data, "--config", f"{new}/retainer.json", "--out", str(tmp_path / "v3"), "--quiet"]
    assert main(again) == 2
    assert "name it again: --method shy_package.shy:Shy" in capsys.readouterr().err
    assert main([*again, "--method", "shy"]) == 0
    assert "the same weights, bit for bit" in capsys.readouterr().out
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), *sys.path])}
    call = [sys.executable, "-c", READING, old, new, data]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "no module of the package, until it is named"), done


def test_entry_points_are_looked_up_for_unknown_names_alone(installed, monkeypatch, capsys):
    looked_up = []
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **group: looked_up.append(group) or ())
    assert main(["--help"]) == 0 and main(["check", str(ROOT / "examples" / "cities.jsonl")]) == 0
    method("retain")
    assert not looked_up
    assert "there is no method" in refusal("shi") and looked_up


def test_the_page_shows_the_example():
    assert f"```python\n{SHY}```" in PAGE
