"""One connection: an error for bytes that are not HTTP, time limits for the head of a request and for its answer."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from retainer.serve.descriptors import REFUSED_AT_ONCE
from retainer.serve.response_headers import SECURITY_HEADERS
from retainer.serve.responses import ApiError
from retainer.serve.slow_reader import ReadingClock

CLOSE_DELAY = 0.5
"""Seconds before a refused connection is closed: cut off while it sends, a client would never read the response."""
BUSY_SECONDS = 0.5
"""How long a client above the limit of connections may take to send a head that can be refused."""
LAST_SECONDS = 2.0
"""How long a stopping server waits for the next bytes from, or to, a client that keeps it waiting."""


class StrictHttp(h11.Connection):
    """h11 that also refuses a request with two lengths: a proxy may believe the other one and be fed a request."""

    def next_event(self) -> Any:
        """Return the next event, or raise as for any other bytes that are not HTTP."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            if {b"content-length", b"transfer-encoding"} <= names:
                raise h11.RemoteProtocolError("both Content-Length and Transfer-Encoding")
        return event


class Connection(H11Protocol):
    """uvicorn's connection with time limits; without them a silent client could hold a connection open for ever."""

    head_seconds = 10.0
    """How long a client may take to send the head of a request."""
    stalled_seconds = 10.0
    """How long a client may take nothing of an answer."""
    max_connections = 1024
    busy_app: Any
    """Answers the connections above the limit."""
    _timer: asyncio.TimerHandle | None = None
    _clock: ReadingClock
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the first head; above the limit it is short, and far above it there is none."""
        super().connection_made(transport)
        self.conn = StrictHttp(h11.SERVER)
        self._clock = ReadingClock(transport, self.stalled_seconds)
        if len(self.connections) > self.max_connections + REFUSED_AT_ONCE:
            return transport.abort()
        if len(self.connections) > self.max_connections:
            self.app, self.head_seconds = self.busy_app, BUSY_SECONDS
        self._start_timer()

    def pause_writing(self) -> None:
        """Watch whether the client takes the bytes that wait for it."""
        super().pause_writing()
        self._clock.start()

    def resume_writing(self) -> None:
        """Stop watching: the client has taken everything."""
        self._clock.stop()
        super().resume_writing()

    def shutdown(self) -> None:
        """Close an idle connection; any other closes after its answer, if its client sends and reads without delay."""
        self._clock.seconds = min(self._clock.seconds, LAST_SECONDS)
        if self._idle:
            return self.transport.close()
        self.cycle.keep_alive = False
        self.loop.call_later(LAST_SECONDS, self._give_up_body, self.cycle)

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
        """Stop the timers."""
        self._stop_timer()
        self._clock.stop()
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

    def _give_up_body(self, cycle: RequestResponseCycle) -> None:
        """Leave a client that is still sending the body of this request."""
        if cycle.more_body and not cycle.response_complete:
            self.transport.abort()
