"""The outermost layer: security headers on every response, and counts of all requests."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from retainer.serve.metrics import Metrics

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_RAW_HEADERS = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
_CACHE_CONTROL = b"cache-control"
_CLOSE_HEADERS = ((b"connection", b"close"),)

CLIENT_LEFT = "499"
"""The status that is counted if the client leaves before the response."""
COUNTED_METHODS = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")


class ResponseHeaders:
    """Adds headers to the responses of an application, and counts its requests."""

    def __init__(self, app: ASGIApp, metrics: Metrics, routes: Collection[str], draining: Callable[[], bool]) -> None:
        """Count by these routes; all other paths, which clients make up, count as one.

        While the server is ``draining``, each response is the last one of its connection.
        """
        self.app, self.metrics, self.routes, self.draining = app, metrics, frozenset(routes), draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its response back."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        began, status = time.perf_counter(), CLIENT_LEFT

        async def send_with_headers(message: Message) -> None:
            """Add the headers where a response begins, and remember its status for the counts."""
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
                close = _CLOSE_HEADERS if self.draining() else ()
                message = {**message, "headers": [*_with_security(message.get("headers", ())), *close]}
            await send(message)

        route = scope["path"] if scope["path"] in self.routes else "other"
        method = scope["method"] if scope["method"] in COUNTED_METHODS else "other"
        try:
            await self.app(scope, receive, send_with_headers)
        finally:
            self.metrics.requests.add(route, method, status)
            self.metrics.request_seconds.observe(time.perf_counter() - began, route)


def _with_security(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Add the security headers; a response that sets cache-control itself keeps its own."""
    own = list(headers)
    cached = any(name == _CACHE_CONTROL for name, _ in own)
    return [*own, *(header for header in _RAW_HEADERS if not (cached and header[0] == _CACHE_CONTROL))]
