"""The command line in a process of its own, as a user calls it: how it ended, what it said, and what it took."""

import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    status: int
    out: str
    err: str
    seconds: float
    """Of the processor."""
    megabytes: float
    """The most it ever held."""


def called_as_process(argv: list[str], seconds: int = 60) -> Ended:
    """Call the command line; one that computes for too long is killed by the system."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "retainer", *argv],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode(errors="replace"))
    return Ended(process.returncode, *said, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
