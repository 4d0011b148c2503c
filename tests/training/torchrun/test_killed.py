"""A process of a run under torchrun is killed: one sentence, a state, and the same result in the end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertModel

from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.tasks import hide
from retainer.model.predict import tag
from retainer.training.learn import learn
from retainer.training.recipe import Recipe
from retainer.versions.version import load

SET = ["--set.batch", "8", "--set.lr", "3e-4", "--set.precision", "full", "--set.patience", "0"]
SLOW = 25
"""Epochs: enough to be killed in the middle."""


@pytest.fixture(scope="module")
def place(tmp_path_factory, wordpiece):
    folder = tmp_path_factory.mktemp("torchrun")
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    off = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = BertConfig(vocab_size=len(wordpiece), max_position_embeddings=64, **sizes, **off)
    BertModel(config).save_pretrained(folder / "encoder")
    wordpiece.save_pretrained(folder / "encoder")
    data = generate(150, seed=5, types=["artist", "city"])
    write(hide(data, ["city"]), folder / "city.conll", "conll")
    recipe = Recipe(epochs=4, batch=8, base_lr=3e-3, precision="full")
    learn(hide(data, ["artist"]), folder / "encoder", recipe=recipe, device="cpu", out=folder / "v1")
    assert main([*call(folder, "alone")]) == 0
    return folder


def call(folder, out):
    told = ["learn", folder / "city.conll", "--from", folder / "v1", "--method", "rdp", "--device", "cpu"]
    return [str(part) for part in (*told, "--epochs", SLOW, *SET, "--out", folder / out)]


def of_rank(torchrun, rank):
    """Return the process of a rank."""
    for child in Path(f"/proc/{torchrun}/task/{torchrun}/children").read_text().split():
        if f"RANK={rank}".encode() in Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
            return int(child)
    raise AssertionError(f"there is no rank {rank}")


@pytest.mark.parametrize("rank", [0, 1])
def test_the_others_end_and_the_run_goes_on(place, rank):
    out, said = f"killed-{rank}", place / f"said-{rank}"
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "retainer"]
    with said.open("w") as stderr:
        run = subprocess.Popen([*launcher, *call(place, out)], stderr=stderr, stdout=subprocess.DEVNULL)
        until = time.monotonic() + 90
        while "epoch 2/" not in said.read_text():
            assert time.monotonic() < until and run.poll() is None, said.read_text()
            time.sleep(0.02)
        os.kill(of_rank(run.pid, rank), signal.SIGKILL)
        assert run.wait(timeout=60) != 0
    sentences = [line for line in said.read_text().splitlines() if line.startswith("retainer: ")]
    assert len(sentences) == 1 and sentences[0].endswith("run the same command again to continue from what was kept")
    assert not (place / out).exists() and (place / f"{out}.partial" / "state.safetensors").is_file()
    assert main(call(place, out)) == 0
    alone, again = (load(place / name, device="cpu") for name in ("alone", out))
    assert not (place / f"{out}.partial").exists()
    for epoch, other in zip(alone.lineage.scores["history"], again.lineage.scores["history"], strict=True):
        assert epoch["losses"] == pytest.approx(other["losses"], abs=1e-5)
    sentences = generate(80, seed=21, types=["artist", "city"]).sentences
    found = [tag(one.tagger, one.tagger.tokenize(sentences, "cpu")).ids.tolist() for one in (alone, again)]
    assert found[0] == found[1]
