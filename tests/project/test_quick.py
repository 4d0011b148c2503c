"""`make quick` runs the tests that start no process, browser or training, and no other."""

import multiprocessing
import subprocess
from pathlib import Path

import pytest
import slow_work
import torch
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]


@pytest.fixture
def quick(monkeypatch):
    hook = slow_work.refuse(monkeypatch)
    yield
    hook.remove()


def browse():
    with sync_playwright():
        pass


def train():
    weight = torch.zeros(1, requires_grad=True)
    weight.sum().backward()
    torch.optim.SGD([weight], lr=1.0).step()


@pytest.mark.parametrize(
    ("work", "what"),
    [
        (lambda: subprocess.run(["true"]), "starts a process"),
        (lambda: multiprocessing.get_context("spawn").Process(target=print).start(), "starts a process"),
        (browse, "opens a browser"),
        (train, "trains a model"),
    ],
)
def test_slow_work_is_left_out(quick, work, what):
    with pytest.raises(pytest.skip.Exception, match=what):
        work()


def test_afterwards_everything_may_be_done():
    with pytest.MonkeyPatch.context() as patch:
        slow_work.refuse(patch).remove()
    train()


def test_the_targets_say_so():
    make = (ROOT / "Makefile").read_text()
    assert "$(PYTEST) --quick\n" in make and "-n $(WORKERS)" in make
