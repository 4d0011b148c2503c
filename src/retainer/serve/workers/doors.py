"""The door of a worker: connections come in as file descriptors from the supervisor, which alone accepts them.

So each worker gets its share whatever the system would do, no connection waits in the queue of a worker that was
killed, and the port is closed in one place. Every connection that has ended is reported back with one byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable

from retainer.serve.connection import Connection
from retainer.serve.descriptors import ACCEPTS_PER_TURN


class Door:
    """The worker's end of the pair of sockets over which connections come."""

    def __init__(self, end: socket.socket) -> None:
        """Wait; nothing is taken before the server is ready."""
        end.setblocking(False)
        self._end, self._unreported = end, 0

    def open(self, welcome: Callable[[socket.socket], None]) -> None:
        """Take connections from now on."""
        self._welcome = welcome
        asyncio.get_running_loop().add_reader(self._end, self._take)

    def close(self) -> None:
        """Take all that were given until now, and no more."""
        asyncio.get_running_loop().remove_reader(self._end)
        while self._take_one():
            pass

    def report(self) -> None:
        """Say that a connection has ended."""
        self._unreported += 1
        with contextlib.suppress(OSError):
            self._unreported -= self._end.send(b"." * self._unreported)

    def kind(self) -> type[Connection]:
        """Return connections that report their end here."""
        door = self

        class GivenConnection(Connection):
            """A connection that the supervisor counts."""

            def connection_lost(self, exc: Exception | None) -> None:
                """Let the supervisor know."""
                super().connection_lost(exc)
                door.report()

        return GivenConnection

    def _take(self) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            if not self._take_one():
                return

    def _take_one(self) -> bool:
        """Take one connection; without a byte, none is there, and at the end of the supervisor none will come."""
        try:
            byte, descriptors, _, _ = socket.recv_fds(self._end, 1, 1)
        except BlockingIOError:
            return False
        except OSError:
            byte, descriptors = b"", []
        if not byte:
            asyncio.get_running_loop().remove_reader(self._end)
            return False
        if not descriptors:  # this process may open no more
            self.report()
        for number in descriptors:
            self._welcome(socket.socket(fileno=number))
        return True
