"""What `pytest --quick` leaves out: tests that start a process, open a browser or train a model.

No test is marked by hand. One that is about to do such a thing is skipped at that moment, so a test that passes
under `--quick` has done none of them.
"""

import multiprocessing.process
import subprocess

import pytest
from torch.optim.optimizer import register_optimizer_step_pre_hook


def left_out(what):
    """Return a function that skips the test which calls it."""

    def skip(*_, **__):
        pytest.skip(f"--quick: it {what}")

    return skip


def refuse(patch):
    """Leave out every test that does slow work from here on; return what ends that."""
    patch.setattr(subprocess.Popen, "__init__", left_out("starts a process"))
    patch.setattr(multiprocessing.process.BaseProcess, "start", left_out("starts a process"))
    patch.setattr(
        "playwright.sync_api._context_manager.PlaywrightContextManager.__enter__", left_out("opens a browser")
    )
    return register_optimizer_step_pre_hook(left_out("trains a model"))
