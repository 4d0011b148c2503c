"""A bench of a method of another package: cells with a place of their own, read later without the package."""

import json
import sys

import pytest

from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import write

PLUGIN = """
from dataclasses import dataclass

import retainer


@dataclass(frozen=True)
class Plain(retainer.Method):
    hold: float = 0.5

    def losses(self, student, teacher, given, targets):
        right = student.log_p.gather(-1, given.labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        return {"ce": -(right * given.annotated).sum() / given.annotated.sum().clamp(min=1)}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "plainplugin.py").write_text(PLUGIN)
    (tmp_path / "data").mkdir()
    for seed, name in enumerate(("train", "dev", "test")):
        write(generate(40, seed=seed, types=["artist", "city"]), tmp_path / "data" / f"{name}.csv", "csv")
    yield tmp_path
    sys.modules.pop("plainplugin", None)


def test_measured_resumed_and_reported_without_the_package(here, encoder, capsys):
    call = ["bench", "own", "--data", "data", "--methods", "plainplugin:Plain", "--seeds", "1", "--out", "out"]
    call += ["--encoder", str(encoder), "--set.epochs", "1", "--setting", "FG-1-PG-1", "--device", "cpu", "--json"]
    assert main(call) == 0, capsys.readouterr().err
    [cell] = json.loads(capsys.readouterr().out)
    [file] = (here / "out" / "own" / "FG-1-PG-1").rglob("seed-1.json")
    assert cell["method"] == "plainplugin:Plain" and file.parent.name.startswith("plainplugin:Plain")
    before = file.stat().st_mtime_ns
    assert main(call) == 0 and file.stat().st_mtime_ns == before, "nothing is measured again"
    capsys.readouterr()
    sys.modules.pop("plainplugin")
    (here / "plainplugin.py").unlink()
    assert main(["report", "out", "--markdown"]) == 0
    assert "| plainplugin:Plain" in capsys.readouterr().out and "plainplugin" not in sys.modules
    assert main(["report", "out"]) == 0
