"""What every answer comes in: headers that let a browser do nothing of its own accord, and a stroke in the books."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from retainer.serve.metrics import Metrics

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_RAW = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
_CACHE = b"cache-control"
_LAST = ((b"connection", b"close"),)

GONE = "499"
"""What is counted where the client left before the answer."""
METHODS = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")


class ResponseHeaders:
    """The outermost layer."""

    def __init__(self, app: ASGIApp, counters: Metrics, routes: Collection[str], closing: Callable[[], bool]) -> None:
        """Count by these routes; any other path is a stranger's invention, and all of them are one.

        While the server is ``closing``, each answer is the last one of its connection.
        """
        self.app, self.counters, self.routes, self.closing = app, counters, frozenset(routes), closing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        began, status = time.perf_counter(), GONE

        async def seal(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
                last = _LAST if self.closing() else ()
                message = {**message, "headers": [*_sealed(message.get("headers", ())), *last]}
            await send(message)

        route = scope["path"] if scope["path"] in self.routes else "other"
        method = scope["method"] if scope["method"] in METHODS else "other"
        try:
            await self.app(scope, receive, seal)
        finally:
            self.counters.requests.add(route, method, status)
            self.counters.seconds.run_tagger(time.perf_counter() - began, route)


def _sealed(own: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Add our headers; an answer that says itself how long it may be kept has the last word on that."""
    headers = list(own)
    says = any(name == _CACHE for name, _ in headers)
    return [*headers, *(one for one in _RAW if not (says and one[0] == _CACHE))]
