"""The machine we run on: threads, devices, several processes on one GPU, and the versions of what we stand on."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retainer.about import __version__
from retainer.errors import InputError

if TYPE_CHECKING:
    import torch

MPS_CONTROL = "nvidia-cuda-mps-control"
"""The program that starts NVIDIA's multi-process service."""
MPS_SECONDS = 10.0
"""How long it may take to start or to end the service."""


@dataclass(frozen=True)
class Launch:
    """Which of several processes this one is: its number in the run, how many there are, its number on this machine."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0


def launch() -> Launch:
    """Return what torchrun says about this process; without torchrun it is alone.

    RANK and WORLD_SIZE alone mean nothing: some clusters set them for every program.
    """
    said = [os.environ.get(name, "") for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK")]
    return Launch(*map(int, said)) if all(value.isdecimal() for value in said) else Launch()


def settle_threads() -> None:
    """Make idle threads spin for a moment and then sleep, before torch starts any.

    Threads that spin on cost a busy machine dearly; threads that sleep at once are woken for every small operation.
    500 turns save a run alone 7 percent of its time, and cost three runs at once on two cores nothing. Who says how
    threads wait is not overruled.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
        os.environ.setdefault("GOMP_SPINCOUNT", "500")
    os.environ.setdefault("KMP_BLOCKTIME", "0")
    os.environ.setdefault("OMP_NUM_THREADS", str(min(cores(), 16)))
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pick_device(name: str = "auto") -> torch.device:
    """Return the device a user asked for; ``auto`` is the GPU where there is one."""
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError):
        raise InputError(f"there is no device {name!r} here; use auto, cpu, or cuda on a machine with a GPU") from None
    return device


@contextlib.contextmanager
def repeatable(device: torch.device, seed: int, *, strict: bool = True) -> Iterator[None]:
    """Seed, and inside the block ask for kernels whose result does not depend on the order of threads.

    On a CPU too: there the gradient of ``table[index]`` adds up in any order. Nothing of ours takes one, but an encoder
    may, and to ask costs nothing. Not strict is for encoders with an operation that has no such kernel; then attention
    over long texts takes a kernel that is not repeatable either, so this is never the first choice.
    """
    import torch

    torch.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.set_device(device.index or 0)  # steps are recorded on the current device
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    memory: Any = torch.utils.deterministic
    filling = memory.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=not strict)
    # filling fresh memory costs a kernel per tensor, and we read nothing that was not written
    memory.fill_uninitialized_memory = False
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*non-deterministic algorithm.*")
            yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        memory.fill_uninitialized_memory = filling


def peak_memory(device: torch.device, *, begin: bool = False) -> int | None:
    """Return the most bytes torch held on a GPU since the last ``begin``; on a CPU this is not known."""
    import torch

    if device.type != "cuda":
        return None
    if begin:
        torch.cuda.reset_peak_memory_stats(device)
    return int(torch.cuda.max_memory_allocated(device))


def versions(*beside: str) -> dict[str, str]:
    """Return the versions that determine a result; of the packages beside the usual ones, those that are installed."""
    packages = ("torch", "transformers", "tokenizers", "numpy", *(name for name in beside if find_spec(name)))
    return {
        "retainer": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def end_with_parent() -> None:
    """End this process as soon as the one that started it is gone; one that was killed ends nobody any more."""
    from multiprocessing import parent_process

    threading.Thread(target=_end_after, args=[parent_process()], daemon=True).start()


def _end_after(parent: Any) -> None:
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def shared_gpu() -> Iterator[bool]:
    """Let the processes started inside the block share a GPU, and say whether the service could be started.

    Without NVIDIA's multi-process service they take turns; with it they run at once.
    A service that is already there is left alone. Ours lives in a folder of its own and ends with the block, or with
    this process, even if it is killed: a second process waits for that, because a killed one can do nothing any more.
    """
    if "CUDA_MPS_PIPE_DIRECTORY" in os.environ or shutil.which(MPS_CONTROL) is None:
        yield "CUDA_MPS_PIPE_DIRECTORY" in os.environ
        return
    with tempfile.TemporaryDirectory(prefix="mps-", ignore_cleanup_errors=True) as folder:
        places = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        os.environ.update(places)
        code = f"from retainer.runtime import end_gpu_service; end_gpu_service({folder!r})"
        call = [sys.executable, "-P", "-c", code]
        watcher = subprocess.Popen(call, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            yield _mps_control("-d") == 0
        finally:
            with contextlib.suppress(subprocess.TimeoutExpired):
                watcher.communicate(timeout=3 * MPS_SECONDS)
            for name in places:
                del os.environ[name]


def end_gpu_service(folder: str) -> None:
    """Wait until nobody holds the other end of stdin, then end the service that lives in a folder; runs by itself."""
    sys.stdin.buffer.read()
    if _mps_control(send=b"quit\n") != 0:
        for process in _mps_processes(folder):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def _mps_control(*arguments: str, send: bytes = b"") -> int | None:
    """Call the control program and return its status, or None if it does not end: with clients left, quit may wait."""
    quiet = subprocess.DEVNULL
    try:
        done = subprocess.run([MPS_CONTROL, *arguments], input=send, stdout=quiet, stderr=quiet, timeout=MPS_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.returncode


def _mps_processes(folder: str) -> Iterator[int]:
    """Yield the processes of the service that lives in a folder; the name of the folder is in their environment."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            named = (place / "comm").read_text().startswith(MPS_CONTROL[:15])
            if named and f"CUDA_MPS_PIPE_DIRECTORY={folder}".encode() in (place / "environ").read_bytes().split(b"\0"):
                yield int(place.name)
