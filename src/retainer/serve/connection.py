"""One connection: an error response for bytes that are not HTTP, and a time limit for the head of a request."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from retainer.serve.response_headers import SECURITY_HEADERS
from retainer.serve.responses import ApiError

CLOSE_DELAY = 0.5
"""Seconds before a refused connection is closed: cut off while it sends, a client would never read the response."""


class Connection(H11Protocol):
    """uvicorn's connection with a time limit; without it a silent client could hold a connection open for ever."""

    head_seconds = 10.0
    """How long a client may take to send the head of a request."""
    max_connections = 1024
    busy_app: Any
    """Answers the connections above the limit."""
    _timer: asyncio.TimerHandle | None = None
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the first head."""
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            self.app = self.busy_app
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Keep the timer running while a head is incomplete, and no longer."""
        if self._refused:
            return
        if self._timer is None and self._idle:
            self._start_timer()
        super().data_received(data)
        if not self._idle:
            self._stop_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Leave the connection to the keep-alive timer until the next byte."""
        self._stop_timer()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not HTTP, unless a response is already under way."""
        self._stop_timer()
        response = ApiError(400, "invalid_http", "this is not a valid HTTP request").response()
        headers = [*response.raw_headers, *((n.encode(), v.encode()) for n, v in SECURITY_HEADERS.items())]
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
        self.loop.call_later(CLOSE_DELAY, self.transport.close)

    @property
    def _idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.head_seconds, self._time_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        self._timer = None
        if self._idle and not self.transport.is_closing():
            self.transport.close()
