"""The demo shows what it claims, with the built-in encoder and half of its sentences."""

import json

from retainer.cli.main import main


def test_forgetting_happens_and_does_not_happen(tmp_path):
    folder = tmp_path / "demo"
    assert main(["demo", "--out", str(folder), "--sentences", "800", "--device", "cpu"]) == 0
    cells = json.loads((folder / "cells.json").read_text())
    old = {method: cell["tasks"][-1]["old_macro"] for method, cell in cells.items()}
    assert old["finetune"] < 10, "plain fine-tuning forgets"
    assert old["retain"] > 80, "retain does not"
    plain, ours = (cells[name]["tasks"][0]["per_type"] for name in ("finetune", "retain"))
    assert plain == ours, "the same first version"
    assert all(cell["tasks"][-1]["new_macro"] > 60 for cell in cells.values()), "both learn the new type"
