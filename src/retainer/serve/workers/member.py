"""A worker as the supervisor sees it: a process, a channel, and a door through which it gets connections."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from retainer.serve.workers.channel import Channel, Gone, Handlers

START = "from sys import argv; from retainer.serve.workers.worker import run_worker; run_worker(*map(int, argv[1:]))"
"""What a worker runs; its two arguments are descriptors, and everything else comes over the channel."""
LEAVING_SECONDS = 5.0
"""Seconds until a process that has left its channel is killed."""
LONGEST_LINE = 2**16


class Member:
    """One worker."""

    process: asyncio.subprocess.Process
    channel: Channel
    _passing: asyncio.Task[None]

    def __init__(self, number: int, log: Callable[[str], None]) -> None:
        """Prepare the door; the process is not started yet."""
        self.number, self.log = number, log
        self.open, self.given = 0, 0
        """Connections that it was given and that have not ended, and all that it was ever given."""
        self._door, self._other_end = socket.socketpair()
        self._door.setblocking(False)

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self.process.pid

    @classmethod
    async def begin(cls, number: int, threads: int, handlers: Handlers, log: Callable[[str], None]) -> Member:
        """Start a process that waits for its orders; it inherits nothing but its ends of two pairs of sockets."""
        member = cls(number, log)
        control, other_end = socket.socketpair()
        with member._other_end, other_end:
            ends = (other_end.fileno(), member._other_end.fileno())
            member.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-c", START, *map(str, ends)),
                stdin=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=ends,
                process_group=0,  # Ctrl-C in a terminal is for the supervisor alone
                env={**os.environ, "OMP_NUM_THREADS": str(threads), "RAYON_NUM_THREADS": str(threads)},
            )
        member.channel = await Channel.over(control, handlers)
        asyncio.get_running_loop().add_reader(member._door, member._count_ended)
        member._passing = asyncio.create_task(member._pass_log_on())
        return member

    def give(self, connection: socket.socket) -> bool:
        """Hand a connection over, unless the worker takes none right now."""
        try:
            socket.send_fds(self._door, [b"+"], [connection.fileno()])
        except OSError:
            return False
        self.open, self.given = self.open + 1, self.given + 1
        return True

    async def call(self, what: str, seconds: float | None = None, **details: Any) -> Any:
        """Ask the worker for something; one that does not answer in time is killed, for the others cannot wait."""
        try:
            async with asyncio.timeout(seconds):
                return await self.channel.call(what, **details)
        except TimeoutError:
            self.log(f"retainer: worker {self.number} (process {self.pid}) does not answer and is killed")
            self.kill()
            raise Gone from None

    def kill(self) -> None:
        """End the process at once."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    async def ended(self) -> str:
        """Wait for the end of the process and say how it ended."""
        process = asyncio.ensure_future(self.process.wait())
        channel = asyncio.ensure_future(self.channel.ended.wait())
        await asyncio.wait({process, channel}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({process}, timeout=LEAVING_SECONDS)
        self.kill()
        status = await process
        channel.cancel()
        asyncio.get_running_loop().remove_reader(self._door)
        self._door.close()
        self.channel.close()
        await asyncio.wait({self._passing}, timeout=LEAVING_SECONDS)
        return f"ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"

    def _count_ended(self) -> None:
        try:
            self.open -= len(self._door.recv(4096)) or self.open
        except BlockingIOError:
            pass
        except OSError:
            asyncio.get_running_loop().remove_reader(self._door)

    async def _pass_log_on(self) -> None:
        """Pass on what the worker writes to its stderr, in whole lines: those of several workers do not mix."""
        assert self.process.stderr is not None
        rest = b""
        while data := await self.process.stderr.read(LONGEST_LINE):
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > LONGEST_LINE:
                lines, rest = [*lines, rest], b""
            for line in lines:
                self.log(line.decode(errors="replace"))
        if rest:
            self.log(rest.decode(errors="replace"))
