"""Token, host name, limits and time: all that is checked before a route runs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import traceback
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from retainer.serve.assets import asset_paths
from retainer.serve.credentials import shows_token
from retainer.serve.responses import RETRY_HEADERS, ApiError, bad_request, internal_error, stopping_error
from retainer.serve.settings import Settings

PUBLIC_PATHS = frozenset({"/healthz", "/readyz", "/docs", "/docs.css", "/openapi.json", *asset_paths()})
"""Paths without secrets, which need no token. All others need it, so a new route is protected by default."""
LABEL_STUDIO_PATHS = frozenset({"/health", "/setup", "/predict", "/versions"})
"""Paths of the ML backend of Label Studio, which shows the token as a password."""
WEBHOOK_PATH = "/webhook"
"""Label Studio shows nothing here, so the route itself decides by the project or by a secret in the address."""
BODILESS_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LINGER_SECONDS, LINGER_BYTES = 2.0, 2**26
"""How long, and how much, the rest of a refused request is still read."""


class _ClientLeft(Exception):
    """The client left before its body had arrived."""


class Guard:
    """Admits requests to the routes, or refuses them."""

    def __init__(self, app: ASGIApp, settings: Settings, log: Callable[[str], None]) -> None:
        """Guard an application."""
        self.app, self.settings, self.limits, self.log = app, settings, settings.limits, log
        self.in_flight = 0
        """Requests being read or computed."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Admit a request, or answer why not."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        incoming, outgoing = _Incoming(receive), _Outgoing(send)
        try:
            await self._admit(scope, incoming, outgoing)
        except ApiError as error:
            await _refuse(error, incoming, outgoing)
        except _ClientLeft:
            pass
        except asyncio.CancelledError:  # by a second signal; passed on, it would become a 500 without a sentence
            await _refuse(stopping_error(), incoming, outgoing)
        except Exception as error:
            self._log_failure(error, scope)
            await _refuse(internal_error(), incoming, outgoing)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        self._require_host(headers)
        if not self._is_public(scope["path"]):
            self._require_token(headers, scope["path"])
        if scope["method"] in BODILESS_METHODS:
            return await self.app(scope, receive, send)
        if self.in_flight >= self.limits.requests:
            raise ApiError(503, "busy", "too many requests at once; try again in a moment", RETRY_HEADERS)
        self.in_flight += 1
        try:
            body = await self._read_body(headers, receive)
            await self._answer(scope, body, receive, send)
        finally:
            self.in_flight -= 1

    def _require_host(self, headers: Headers) -> None:
        """Refuse a request for another host: a page elsewhere may let its own name point to this machine."""
        host = headers.get("host")
        if host is None or not self.settings.hosts:  # every browser sends it
            return
        bare = host if host.endswith("]") else host.rpartition(":")[0] or host
        if bare.lower() not in self.settings.hosts:
            raise ApiError(
                421, "unknown_host", "this server does not answer to that host name; --allow-host adds names"
            )

    def _is_public(self, path: str) -> bool:
        return path in PUBLIC_PATHS or (self.settings.label_studio and path == WEBHOOK_PATH)

    def _require_token(self, headers: Headers, path: str) -> None:
        """Refuse a request that does not show the token."""
        basic = self.settings.label_studio and path in LABEL_STUDIO_PATHS
        if not self.settings.token or shows_token(headers, self.settings.token, basic=basic):
            return
        schemes = 'Bearer, Basic realm="retainer"' if basic else "Bearer"
        hint = "send the token: Authorization: Bearer TOKEN" + (", or as the password of any user" if basic else "")
        raise ApiError(401, "unauthorised", hint, {"WWW-Authenticate": schemes})

    async def _read_body(self, headers: Headers, receive: Receive) -> bytes:
        """Read a body, and stop when it is too large or too slow."""
        too_large = ApiError(413, "body_too_large", f"a request may have {self.limits.body} bytes")
        declared = headers.get("content-length", "")
        if declared.isascii() and declared.isdigit() and int(declared[:20]) > self.limits.body:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.receive_seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _ClientLeft
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) > self.limits.body:
                        raise too_large
        except TimeoutError:
            seconds = self.limits.receive_seconds
            raise ApiError(408, "slow_body", f"the body took longer than {seconds:g} seconds") from None
        if body and not _is_json(headers):
            raise ApiError(415, "not_json", "the body must be declared as Content-Type: application/json")
        if body and not json.detect_encoding(body).startswith("utf-8"):
            raise bad_request()
        return bytes(body)

    async def _answer(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Run the routes, unless they take too long or the client leaves."""
        seconds = self.limits.answer_seconds
        answered = asyncio.ensure_future(self.app(scope, _receive_from(body), send))
        left = asyncio.ensure_future(_client_left(receive))
        try:
            await asyncio.wait({answered, left}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if answered.done():
                return await answered
            if not left.done():
                raise ApiError(504, "timeout", f"the answer took longer than {seconds:g} seconds", RETRY_HEADERS)
        finally:
            await _cancel(answered, left)

    def _log_failure(self, error: Exception, scope: Scope) -> None:
        """Log what failed and where, but not the message of the error, which may hold a text."""
        if os.environ.get("RETAINER_DEBUG"):
            return self.log("".join(traceback.format_exception(error)))
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(frame.filename)}:{frame.lineno}"
        method = scope["method"]
        self.log(f"internal error: {type(error).__name__} at {where} in a {method}; RETAINER_DEBUG=1 logs more")


class Refusal:
    """An application that answers every request with the same error."""

    def __init__(self, error: ApiError) -> None:
        """Keep the error."""
        self.error = error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request."""
        await _refuse(self.error, _Incoming(receive), _Outgoing(send))


class _Incoming:
    """Passes a request on and remembers whether all of it has arrived."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self.complete = receive, False

    async def __call__(self) -> Message:
        message = await self._receive()
        self.complete = message["type"] != "http.request" or not message.get("more_body", False)
        return message


class _Outgoing:
    """Passes a response on and remembers whether it has begun: after that no other one can be sent."""

    def __init__(self, send: Send) -> None:
        self._send, self.begun = send, False

    async def __call__(self, message: Message) -> None:
        self.begun = True
        await self._send(message)


async def _refuse(error: ApiError, incoming: _Incoming, outgoing: _Outgoing) -> None:
    """Send an error. If the client is still sending, read on for a while: cut off, it would never see the response."""
    if outgoing.begun:
        return
    response = error.response()
    if not incoming.complete:
        response.headers["connection"] = "close"
    await outgoing({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
    await outgoing({"type": "http.response.body", "body": response.body, "more_body": True})
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGER_SECONDS):
            room = LINGER_BYTES
            while not incoming.complete and room > 0:
                room -= len((await incoming()).get("body", b""))
    await outgoing({"type": "http.response.body", "body": b""})


def _is_json(headers: Headers) -> bool:
    """Return whether a body is declared as JSON, which a page elsewhere cannot do without a CORS preflight."""
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return media_type == "application/json"


def _receive_from(body: bytes) -> Receive:
    """Return the channel of a request whose body was read already."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def _client_left(receive: Receive) -> None:
    """Wait until the client leaves, or has its response."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancel(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
