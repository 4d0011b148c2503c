"""A client that takes nothing of its answer is cut off: otherwise it could hold a connection, and the end, for ever."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys

LEAST_BYTES = 1024
"""What a client must take in the time it has. Its system may make room only once it has read a whole buffer, often
128 KiB, so a client that reads for itself needs about 13 kB/s to be safe."""
CHECKS = 10
"""How often per period the clock looks."""
UNSENT_BYTES = 2**15
"""How much the system takes over before the client does; by default megabytes, and a thousand times that is much."""


class ReadingClock:
    """Runs while bytes wait for a client, and aborts the connection of one that takes too few of them."""

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        """Let the transport call ``pause_writing`` as soon as a single byte must wait."""
        self.seconds = seconds
        """How long a client may take fewer than ``LEAST_BYTES``."""
        self._transport, self._loop = transport, asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._socket: socket.socket = transport.get_extra_info("socket")
        self._since, self._waiting = 0.0, 0
        transport.set_write_buffer_limits(high=0)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)

    def start(self) -> None:
        """Bytes wait: look again soon."""
        self._since, self._waiting = self._loop.time(), self._untaken()
        self._look_again()

    def stop(self) -> None:
        """Stop: all bytes are taken, or the connection is lost."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look_again(self) -> None:
        self.stop()
        self._timer = self._loop.call_later(self.seconds / CHECKS, self._look)

    def _look(self) -> None:
        """Abort if the client took too little; what the server added meanwhile counts neither for nor against it."""
        now, waiting = self._loop.time(), self._untaken()
        if self._waiting - waiting >= LEAST_BYTES:
            self._since, self._waiting = now, waiting
        elif now - self._since >= self.seconds:
            self._timer = None
            return self._transport.abort()
        self._waiting = max(self._waiting, waiting)
        self._look_again()

    def _untaken(self) -> int:
        """Return the bytes that wait here and, if it says so, in the system, which asks for more only now and then."""
        return self._transport.get_write_buffer_size() + _queued_bytes(self._socket)


def _queued_bytes(connection: socket.socket) -> int:
    """Return the bytes of a connection that the system has taken over and the client's has not confirmed."""
    if sys.platform != "linux":
        return 0
    from fcntl import ioctl
    from termios import TIOCOUTQ

    try:
        return int.from_bytes(ioctl(connection.fileno(), TIOCOUTQ, bytes(4)), sys.byteorder)
    except OSError:
        return 0
