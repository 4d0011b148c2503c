"""Workers that are processes of this machine."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

from retainer.errors import InputError
from retainer.workers.pool import Answer, Died, Done, Ready, Setup

_PATIENCE = 5.0
"""Seconds until a process that was asked to end is killed."""


@dataclass(eq=False)
class _Process:
    """A process and this end of the pipe to it."""

    process: Any
    pipe: Connection

    def heard(self) -> Answer:
        """Return what it said; the pipe of a dead one is at its end."""
        try:
            answer: Answer = self.pipe.recv()
            return answer
        except (EOFError, OSError):
            self.process.join()
            self.pipe.close()
            return Died(_cause(self.process.exitcode))

    def end(self) -> None:
        """Let it go, or kill it where it does not."""
        self.pipe.close()
        self.process.terminate()
        self.process.join(_PATIENCE)
        self.process.kill()
        self.process.join()


class Processes:
    """So many processes, each with a pipe of its own: a death is noticed at once, and the others go on."""

    def __init__(self, setup: Setup, count: int) -> None:
        self.setup, self.count = setup, count
        self.alive = list[_Process]()

    def start(self, number: int) -> _Process:
        """Start a process; nothing is inherited but its end of the pipe, so it ends when this process is killed."""
        context = get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=_work, args=(there, self.setup, number), daemon=True)
        process.start()
        there.close()
        self.alive.append(_Process(process, here))
        return self.alive[-1]

    def send(self, worker: _Process, payload: Any) -> None:
        """Hand a payload over; a process that has died by now is noticed when it is waited for."""
        with contextlib.suppress(OSError):
            worker.pipe.send(payload)

    def wait(self, workers: Sequence[_Process]) -> list[tuple[_Process, Answer]]:
        """Wait for the pipes of all."""
        of_pipe = {worker.pipe: worker for worker in workers}
        heard = [(of_pipe[pipe], of_pipe[pipe].heard()) for pipe in wait(list(of_pipe))]  # type: ignore[index]
        for worker, answer in heard:
            if isinstance(answer, Died):
                self.alive.remove(worker)
        return heard

    def close(self) -> None:
        """End all processes."""
        for worker in self.alive:
            worker.end()
        self.alive.clear()


def _cause(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"it was killed by the signal {signal.Signals(-exit_code).name}"
    return f"it ended with the status {exit_code}"


def _work(pipe: Connection, setup: Setup, number: int) -> None:
    """Answer payloads until the other end is closed; this is all a process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver ends us
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        work, remarks = setup.start(number)
        pipe.send(Ready(remarks))
        while True:
            pipe.send(Done(work(pipe.recv())))
    except InputError as error:
        pipe.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
