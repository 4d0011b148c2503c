"""The service that lets processes share a GPU ends with us, whatever happens to us."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from retainer import runtime

SERVICE = """#!/bin/sh
# in the manner of NVIDIA's: -d starts a daemon, and without arguments it takes commands
if [ "$1" = -d ]; then
    "$0" daemon >/dev/null 2>&1 </dev/null &
    echo $! > "$CUDA_MPS_PIPE_DIRECTORY/pid"
elif [ "$1" = daemon ]; then
    while true; do sleep 0.05; done
else
    read command
    [ -z "$STUBBORN" ] || exec sleep 60
    kill "$(cat "$CUDA_MPS_PIPE_DIRECTORY/pid")"
fi
"""
WORK = """
import os, sys, time
from retainer.runtime import shared_gpu
with shared_gpu() as started:
    print(started, os.environ["CUDA_MPS_PIPE_DIRECTORY"], flush=True)
    time.sleep(60)
"""


@pytest.fixture
def service(tmp_path, monkeypatch):
    """A program with the name of NVIDIA's on the PATH."""
    program = tmp_path / runtime.MPS_CONTROL
    program.write_text(SERVICE)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_MPS_PIPE_DIRECTORY", raising=False)


def runs(process):
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def gone(process, folder):
    """Wait for the end of a daemon and of its folder."""
    end = time.monotonic() + 10
    while (runs(process) or folder.exists()) and time.monotonic() < end:
        time.sleep(0.02)
    return not runs(process) and not folder.exists()


def test_it_ends_with_the_block(service):
    with runtime.shared_gpu() as started:
        folder = Path(os.environ["CUDA_MPS_PIPE_DIRECTORY"])
        daemon = int((folder / "pid").read_text())
        assert started and runs(daemon)
        with runtime.shared_gpu() as again:
            assert again and os.environ["CUDA_MPS_PIPE_DIRECTORY"] == str(folder)
    assert gone(daemon, folder) and "CUDA_MPS_PIPE_DIRECTORY" not in os.environ


def test_it_ends_when_we_are_killed(service):
    with subprocess.Popen([sys.executable, "-c", WORK], stdout=subprocess.PIPE, text=True) as work:
        started, folder = work.stdout.readline().split()
        daemon = int((Path(folder) / "pid").read_text())
        assert started == "True" and runs(daemon)
        work.send_signal(signal.SIGKILL)
    assert gone(daemon, Path(folder))


def test_one_that_does_not_quit_is_ended(service, monkeypatch, tmp_path):
    """As the process that watches does it, with less patience."""
    monkeypatch.setenv("STUBBORN", "1")
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path / "mps"))
    (tmp_path / "mps").mkdir()
    monkeypatch.setattr(runtime, "MPS_SECONDS", 0.3)
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert runtime._mps_control("-d") == 0
        daemon = int((tmp_path / "mps" / "pid").read_text())
        began = time.monotonic()
        runtime.end_gpu_service(str(tmp_path / "mps"))
    assert gone(daemon, tmp_path / "mps") and time.monotonic() - began < 3


def test_without_the_program_processes_take_turns(monkeypatch):
    monkeypatch.setattr(runtime, "MPS_CONTROL", "no-such-program")
    monkeypatch.delenv("CUDA_MPS_PIPE_DIRECTORY", raising=False)
    with runtime.shared_gpu() as started:
        assert not started and "CUDA_MPS_PIPE_DIRECTORY" not in os.environ
