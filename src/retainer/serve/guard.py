"""Who may ask, how much, and how long it may take: all that is decided before anybody works."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import traceback
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from retainer.serve.assets import addresses
from retainer.serve.registry import Registry
from retainer.serve.responses import RETRY, Refusal, our_fault
from retainer.serve.settings import Settings

PUBLIC = frozenset({"/healthz", "/readyz", "/docs", "/docs.css", "/openapi.json", *addresses()})
"""What needs no token: nothing of it is secret. Everything else does, a route somebody forgot to name here included."""
BODILESS = frozenset({"GET", "HEAD", "OPTIONS"})
LINGER, LINGER_BYTES = 2.0, 2**26
"""How long, and how much, a client is heard that was already told no."""


class _Gone(Exception):
    """The client left before its body was here."""


class Guard:
    """Stands before the routes."""

    def __init__(self, app: ASGIApp, settings: Settings, roster: Registry, tell: Callable[[str], None]) -> None:
        """Begin with nobody inside."""
        self.app, self.settings, self.limits, self.roster, self.tell = app, settings, settings.limits, roster, tell
        self.inside = 0
        """Requests that are read or worked on."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or say why not."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        incoming, outgoing = _Incoming(receive), _Outgoing(send)
        try:
            await self._admit(scope, incoming, outgoing)
        except Refusal as refusal:
            await _refuse(refusal, incoming, outgoing)
        except _Gone:
            pass
        except Exception as error:
            self._log(error, scope)
            await _refuse(our_fault(), incoming, outgoing)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        self._require_host(headers)
        if scope["path"] not in PUBLIC:
            self._require_token(headers)
        if scope["method"] in BODILESS:
            return await self.app(scope, receive, send)
        if self.inside >= self.limits.requests:
            raise Refusal(503, "busy", "too many requests at once; come again in a moment", RETRY)
        self.inside += 1
        try:
            body = await self._body(headers, receive)
            await self._work(scope, body, receive, send)
        finally:
            self.inside -= 1

    def _require_host(self, headers: Headers) -> None:
        """Refuse a request that means another host: a page elsewhere may have made its own name point to us."""
        host = headers.get("host")
        if host is None or not self.settings.hosts:  # no browser leaves it out
            return
        bare = host if host.endswith("]") else host.rpartition(":")[0] or host
        if bare.lower() not in self.settings.hosts:
            raise Refusal(421, "unknown_host", "this server does not answer to that host name; --allow-host adds names")

    def _require_token(self, headers: Headers) -> None:
        """Compare in constant time, so that nobody learns the token character by character."""
        if not self.settings.token:
            return
        scheme, _, shown = headers.get("authorization", "").partition(" ")
        right = hmac.compare_digest(shown.strip().encode(), self.settings.token.encode())
        if scheme.lower() != "bearer" or not right:
            raise Refusal(
                401, "unauthorised", "show the token: Authorization: Bearer TOKEN", {"WWW-Authenticate": "Bearer"}
            )

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        """Read a body, and stop where it is too large or too slow."""
        too_large = Refusal(413, "body_too_large", f"a request may have {self.limits.body} bytes")
        said = headers.get("content-length", "")
        if said.isascii() and said.isdigit() and int(said[:20]) > self.limits.body:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.slow):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _Gone
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) > self.limits.body:
                        raise too_large
        except TimeoutError:
            raise Refusal(408, "slow_body", f"the body took longer than {self.limits.slow:g} seconds") from None
        if body and not _is_json(headers):
            raise Refusal(415, "not_json", "the body must be declared as Content-Type: application/json")
        return bytes(body)

    async def _work(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Have a request answered, unless it takes too long or its client leaves."""
        work = asyncio.ensure_future(self.app(scope, _replayed(body), send))
        gone = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({work, gone}, timeout=self.limits.seconds, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return await work
            if not gone.done():
                raise Refusal(504, "timeout", f"it took longer than {self.limits.seconds:g} seconds", RETRY)
        finally:
            await _end(work, gone)

    def _log(self, error: Exception, scope: Scope) -> None:
        """Write down what failed and where, but no text: messages of errors may hold some."""
        if os.environ.get("RETAINER_DEBUG"):
            return self.tell("".join(traceback.format_exception(error)))
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(place.filename)}:{place.lineno}"
        self.tell(f"our fault: {type(error).__name__} at {where} in a {scope['method']}; RETAINER_DEBUG=1 says more")


class _Incoming:
    """Passes a request on and remembers whether all of it is here."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self.complete = receive, False

    async def __call__(self) -> Message:
        message = await self._receive()
        self.complete = message["type"] != "http.request" or not message.get("more_body", False)
        return message


class _Outgoing:
    """Passes an answer on and remembers whether it has begun: after that no other can be given."""

    def __init__(self, send: Send) -> None:
        self._send, self.begun = send, False

    async def __call__(self, message: Message) -> None:
        self.begun = True
        await self._send(message)


async def _refuse(refusal: Refusal, incoming: _Incoming, outgoing: _Outgoing) -> None:
    """Say no. A client that is still sending is heard a while longer: cut off, it would never read the answer."""
    if outgoing.begun:
        return
    response = refusal.response()
    if not incoming.complete:
        response.headers["connection"] = "close"
    await outgoing({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
    await outgoing({"type": "http.response.body", "body": response.body, "more_body": True})
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGER):
            room = LINGER_BYTES
            while not incoming.complete and room > 0:
                room -= len((await incoming()).get("body", b""))
    await outgoing({"type": "http.response.body", "body": b""})


def _is_json(headers: Headers) -> bool:
    """Tell whether a body says it is JSON; a page elsewhere cannot say so without asking first."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json"


def _replayed(body: bytes) -> Receive:
    """Give a body that was read already."""

    async def again() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _left(receive: Receive) -> None:
    """Wait until the client leaves, or has its answer."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
