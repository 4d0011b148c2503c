"""What every request of a worker passes on its way to the routes, so that all workers can swap a version as one.

While it is shut, requests wait in front of it for the moment that all workers need to swap. It also knows which
requests went in before the swap: once they are answered, no answer of the old version is left.
"""

from __future__ import annotations

import asyncio
import contextlib

from starlette.types import ASGIApp, Message, Receive, Scope, Send

AROUND_IT = frozenset({"/v1/reload", "/metrics", "/healthz"})
"""Paths that ask no version; a reload that waited for itself would never end."""


class Turnstile:
    """Lets requests in, holds them up while it is shut, and knows who is inside."""

    def __init__(self) -> None:
        """Start open and empty."""
        self._open, self._somebody_left = asyncio.Event(), asyncio.Event()
        self._open.set()
        self._inside: set[object] = set()
        self._before: set[object] = set()

    def shut(self) -> None:
        """Let nobody in."""
        self._open.clear()

    def open(self) -> None:
        """Let all in again, and remember who was inside until now."""
        self._before |= self._inside
        self._open.set()

    async def cleared(self, seconds: float) -> None:
        """Wait until those who were inside at the last opening are answered; nobody is awaited for ever."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._before:
                    self._somebody_left.clear()
                    await self._somebody_left.wait()
        self._before.clear()

    def around(self, app: ASGIApp) -> ASGIApp:
        """Put the turnstile in front of an application."""

        async def passing(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or scope["path"] in AROUND_IT:
                return await app(scope, receive, send)
            await self._open.wait()
            ticket = object()
            self._inside.add(ticket)

            async def last_seen(message: Message) -> None:
                """Count a request as answered with its last bytes, not once a slow client has read them."""
                if message["type"] == "http.response.body" and not message.get("more_body", False):
                    self._leave(ticket)
                await send(message)

            try:
                await app(scope, receive, last_seen)
            finally:
                self._leave(ticket)

        return passing

    def _leave(self, ticket: object) -> None:
        self._inside.discard(ticket)
        self._before.discard(ticket)
        self._somebody_left.set()
