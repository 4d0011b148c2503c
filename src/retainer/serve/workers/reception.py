"""Where connections arrive: the one socket that listens. Each goes to the worker that has fewest."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Sequence

from retainer.serve.address import BACKLOG
from retainer.serve.descriptors import ACCEPTS_PER_TURN
from retainer.serve.workers.member import Member

PAUSE = 0.05
"""Seconds until the next look if no worker can take a connection; until then the system holds them."""


class Reception:
    """Accepts connections and gives them to workers."""

    def __init__(self, bound: socket.socket, ready: Sequence[Member]) -> None:
        """Keep the socket and the list of workers that are ready, which changes as they come and go."""
        bound.setblocking(False)
        self._bound, self._ready = bound, ready
        self._later: asyncio.TimerHandle | None = None
        self._listens = False

    def open(self) -> None:
        """Listen."""
        self._bound.listen(BACKLOG)
        self._listens = True
        self._resume()

    def close(self) -> None:
        """Give away what has arrived, and listen no more."""
        if self._listens:
            asyncio.get_running_loop().remove_reader(self._bound)
            while self._ready and self._accept_one():
                pass
        if self._later is not None:
            self._later.cancel()
        self._bound.close()

    def _resume(self) -> None:
        self._later = None
        asyncio.get_running_loop().add_reader(self._bound, self._accept)

    def _accept(self) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            if not self._ready:
                return self._wait()
            if not self._accept_one():
                return

    def _wait(self) -> None:
        """Leave connections to the system for a moment."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._bound)
        self._later = loop.call_later(PAUSE, self._resume)

    def _accept_one(self) -> bool:
        """Accept a connection and give it away; one that nobody can take is closed."""
        try:
            connection, _ = self._bound.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return False
        except OSError:  # no descriptor is left on this machine
            self._wait()
            return False
        with connection, contextlib.suppress(StopIteration):
            next(
                one
                for one in sorted(self._ready, key=lambda member: (member.open, member.given))
                if one.give(connection)
            )
        return True
