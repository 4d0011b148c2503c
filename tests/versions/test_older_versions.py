"""Versions written by an older retainer: they load, predict, verify, log, reproduce and roll back with today's code."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from retainer.cli.main import main
from retainer.versions.version import load

ROOT = Path(__file__).parents[2]
FIXTURE = ROOT / "tests" / "fixtures" / "version-0.1.0"
EXAMPLES = ROOT / "examples"


@pytest.fixture
def older(tmp_path):
    """A copy of the older versions, so that nothing can change the originals."""
    return Path(shutil.copytree(FIXTURE, tmp_path / "older"))


@pytest.fixture
def output(capsys):
    """Run a command and return its status and what it printed as a result."""

    def run(*words):
        return main([str(word) for word in words]), capsys.readouterr().out

    return run


def weights(folder):
    state = load_file(folder / "model.safetensors")
    return torch.cat([state[name].flatten() for name in sorted(state) if "classifier" not in name])


@pytest.mark.parametrize("name", ["v1", "v2"])
class TestEveryVersion:
    def test_it_is_whole_and_has_its_history(self, older, output, name, monkeypatch):
        monkeypatch.chdir(older)
        assert output("verify", name)[0] == 0
        assert output("log", name) == (0, (older / "expected" / f"{name}.log.txt").read_text())

    def test_it_finds_what_it_found(self, older, name):
        version = load(older / name, device="cpu")
        for line in (older / "expected" / f"{name}.predict.jsonl").read_text().splitlines():
            expected = json.loads(line)
            found = version.predict(expected["text"])
            assert [(e["entity_group"], e["start"], e["end"]) for e in found] == [
                (e["entity_group"], e["start"], e["end"]) for e in expected["entities"]
            ]
            assert [e["score"] for e in found] == pytest.approx([e["score"] for e in expected["entities"]], abs=1e-4)


@pytest.mark.parametrize(
    ("name", "data", "start"),
    [
        ("v1", [EXAMPLES / "artists.conll"], "encoder"),
        ("v2", [EXAMPLES / "cities.jsonl", "--dev", EXAMPLES / "both.conll"], "v1"),
    ],
)
def test_its_run_is_reproduced(older, output, name, data, start):
    """Bit for bit on the machine it was made on; elsewhere rounding differs, but far less than training moves."""
    config = ["--config", older / name / "retainer.json", "--from", older / start]
    status, out = output("learn", *data, *config, "--out", older / "again", "--device", "cpu", "--json")
    assert status == 0 and "same_weights" in json.loads(out)["replays"]
    parent, before, after = (weights(older / folder) for folder in (start, name, "again"))
    assert (after - before).norm() < 0.2 * (before - parent).norm()
    assert main(["verify", str(older / "again")]) == 0


def test_it_rolls_back_to_the_last_byte(older, output):
    shutil.rmtree(older / "v1")
    assert output("rollback", older / "v2", "--out", older / "back")[0] == 0
    original = {
        file.relative_to(FIXTURE / "v1"): file.read_bytes() for file in (FIXTURE / "v1").rglob("*") if file.is_file()
    }
    assert {file.relative_to(older / "back"): file.read_bytes() for file in (older / "back").rglob("*")} == original


def test_it_learns_on(older, output):
    data = EXAMPLES / "cities.jsonl"
    status, _ = output("learn", data, "--from", older / "v1", "--out", older / "next", "--epochs", 1, "--device", "cpu")
    assert status == 0 and load(older / "next", device="cpu").types == ("artist", "city")
