"""The commands of docs/versions.md do what the page says."""

import json
import re
import shlex
import shutil
from pathlib import Path

from retainer.cli import main

ROOT = Path(__file__).parents[1]


def test_every_command_runs(tmp_path, monkeypatch, capsys, encoder):
    """With a tiny encoder in the place of the built-in one, which takes longer."""
    monkeypatch.setattr("retainer.model.builtin_folder", lambda: encoder)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "versions.md").read_text(), flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert {tuple(shlex.split(line)[1:2]) for line in lines} == {
        (verb,) for verb in ("learn", "log", "verify", "rollback", "types")
    }
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0, f"{line}: {capsys.readouterr().err}"
    out = capsys.readouterr().out
    assert "learned city; knows artist, city" in out and "models/v1-again is as it was saved" in out
    assert Path("models/v2-kept/parent/kept.json").is_file() and not Path("models/v2/parent").exists()
    assert "the same weights, bit for bit" in out
    record = json.loads(Path("models/v2/retainer.json").read_text())
    assert set(record["scores"]["before"]) == {"artist"}
    assert Path("models/v1-again/retainer.json").read_bytes() == Path("models/v1/retainer.json").read_bytes()
