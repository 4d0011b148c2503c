"""A process of a run under torchrun is killed: one sentence, a state, and the same result in the end."""

import contextlib
import os
import re
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
from retainer.training.process_group import GO_ON
from retainer.training.recipe import Recipe
from retainer.versions.version import load

SET = ["--set.batch", "8", "--set.lr", "3e-4", "--set.precision", "full", "--set.patience", "0"]
SLOW = 25
"""Epochs: enough to be killed in the middle."""
PATIENCE = 180.0
"""Seconds that anything may take: the machine may be busy with something else."""


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


@contextlib.contextmanager
def killed(place, out, rank, *options):
    """Start a run of two processes, kill one in the middle, and yield torchrun and what is said, which goes on."""
    said = place / f"{out}.said"
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", *options, "-m", "retainer"]
    with said.open("w") as stderr:
        run = subprocess.Popen([*launcher, *call(place, out)], stderr=stderr, stdout=subprocess.DEVNULL)
        try:
            until = time.monotonic() + PATIENCE
            while "epoch 2/" not in said.read_text():
                assert time.monotonic() < until and run.poll() is None, said.read_text()
                time.sleep(0.02)
            os.kill(of_rank(run.pid, rank), signal.SIGKILL)
            yield run, said
        finally:
            if run.poll() is None:
                run.terminate()  # it ends its processes
                run.wait(timeout=PATIENCE)


def sentences(said):
    return [line for line in said.read_text().splitlines() if line.startswith("retainer: ")]


def is_what_one_process_learns(place, out):
    """Compare a version with that of the run that nothing has happened to, and return its record."""
    alone, again = (load(place / name, device="cpu") for name in ("alone", out))
    assert not (place / f"{out}.partial").exists()
    for epoch, other in zip(alone.lineage.scores["history"], again.lineage.scores["history"], strict=True):
        assert epoch["losses"] == pytest.approx(other["losses"], abs=1e-5)
    texts = generate(80, seed=21, types=["artist", "city"]).sentences
    found = [tag(one.tagger, one.tagger.tokenize(texts, "cpu")).ids.tolist() for one in (alone, again)]
    assert found[0] == found[1]
    return again.lineage


def test_the_first_ends_with_the_second_and_one_process_goes_on(place):
    out = "killed"
    with killed(place, out, 1) as (run, said):
        assert run.wait(timeout=PATIENCE) != 0
    assert len(sentences(said)) == 1 and sentences(said)[0].endswith(GO_ON)
    assert not (place / out).exists() and (place / f"{out}.partial" / "state.safetensors").is_file()
    assert main(call(place, out)) == 0
    assert "processes" not in is_what_one_process_learns(place, out).scores


def test_torchrun_goes_on_by_itself(place):
    """The first process is killed, so the second keeps the state from which both go on.

    The version says whether the run has ended well, not the exit status: gloo may abort a process that has finished.
    """
    with killed(place, "restarted", 0, "--max-restarts", "1") as (run, said):
        run.wait(timeout=PATIENCE)
    assert len(sentences(said)) == 1 and sentences(said)[0].endswith(GO_ON)
    assert re.search(r"resuming an unfinished run after epoch [1-9]", said.read_text())
    assert is_what_one_process_learns(place, "restarted").scores["processes"] == 2
