"""One connection: what is not HTTP is told so like everything else, and a head that does not come is not awaited."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from retainer.serve.response_headers import HEADERS
from retainer.serve.responses import Refusal

LINGER = 0.5
"""Seconds a client is heard that was already told no."""
HEAD_SECONDS = 10.0
"""How long a client may take to send the head of a request."""


class Connection(H11Protocol):
    """uvicorn's connection, with an end to waiting: by itself it would hold a silent one open for ever."""

    seconds = HEAD_SECONDS
    most = 1024
    """Connections at once."""
    crowd: Any
    """What answers where there are more."""
    _timer: asyncio.TimerHandle | None = None
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self.app = self.crowd
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait while a head is incomplete, and no longer."""
        if self._refused:
            return
        if self._timer is None and self._idle:
            self._wait()
        super().data_received(data)
        if not self._idle:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._stop()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Leave what follows to the keep-alive timer until the next byte."""
        self._stop()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP; where an answer is under way, there is none to give."""
        self._stop()
        response = Refusal(400, "invalid_http", "this is no valid HTTP request").response()
        headers = [*response.raw_headers, *((n.encode(), v.encode()) for n, v in HEADERS.items())]
        with contextlib.suppress(h11.LocalProtocolError):
            for event in (
                h11.Response(status_code=400, headers=[*headers, (b"connection", b"close")], reason=b"Bad Request"),
                h11.Data(data=bytes(response.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self._refused = True
        with contextlib.suppress(OSError, RuntimeError):
            self.transport.write_eof()
        self.loop.call_later(LINGER, self.transport.close)  # cut off while it sends, a client would never read this

    @property
    def _idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self.seconds, self._give_up)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self._idle and not self.transport.is_closing():
            self.transport.close()
