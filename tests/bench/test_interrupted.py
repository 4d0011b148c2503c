"""A bench whose processes are measuring, ended from outside as schedulers and containers do it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from retainer.data.generated import generate
from retainer.data.io import write


def children(pid):
    """Numbers of the living processes that a process has started."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def alive(pid):
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def soon(condition, seconds):
    """Wait for something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not condition():
        time.sleep(0.05)
    return condition()


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads the children of a process from /proc")
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_all_processes_end_and_the_next_call_goes_on(sent, status, encoder, tmp_path):
    write(generate(120, seed=1, types=["artist", "city"]), tmp_path / "data.conll", "conll")
    settings = ["--methods", "finetune,rdp", "--seeds", "1", "--jobs", "2", "--encoder", str(encoder)]
    out = tmp_path / "out"
    call = [sys.executable, "-m", "retainer", "bench", "own", "--data", str(tmp_path / "data.conll"), "--out", str(out)]
    endless = [*settings, "--set.epochs", "100000", "--set.patience", "0"]
    working = []
    with subprocess.Popen([*call, *endless], stderr=subprocess.PIPE, text=True) as bench:
        try:
            assert soon(lambda: list(out.glob("bases/*.lock")), 60), "no process has begun to learn"
            working = children(bench.pid)
            assert len(working) >= 2
            bench.send_signal(sent)
            told = bench.communicate(timeout=30)[1]
            assert bench.returncode == status and "Traceback" not in told, told
            assert soon(lambda: not any(map(alive, working)), 10), "a process goes on"
        finally:
            for pid in (bench.pid, *working):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
    done = subprocess.run([*call, *settings, "--set.epochs", "1"], capture_output=True, text=True)
    assert done.returncode == 0 and len(list(out.glob("own/*/*/seed-1.json"))) == 2, done.stderr
