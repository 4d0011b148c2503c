"""What the supervisor and a worker say to each other: calls and their answers, one line of JSON each.

The channel is a pair of sockets that nobody else can open, and nothing that comes over it is executed. Either side may
call the other at any time; the end of one process is the end of the channel for the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from retainer.errors import InputError

MAX_LINE = 2**26
"""Bytes of a message; the metrics of a version with very many types are the longest."""

Handlers = Mapping[str, Callable[..., Awaitable[Any]]]


class Gone(Exception):
    """The process at the other end has ended."""


class Failed(Exception):
    """The other process could not do what it was asked; the message says why."""


class Channel:
    """One end of the connection between two processes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handlers: Handlers) -> None:
        """Keep what the other side may call."""
        self._reader, self._writer, self._handlers = reader, writer, handlers
        self._numbers = itertools.count()
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.ended = asyncio.Event()
        """Set once the other side has ended."""

    @classmethod
    async def over(cls, end: socket.socket, handlers: Handlers) -> Channel:
        """Open the channel over one end of a pair of sockets, and listen."""
        channel = cls(*await asyncio.open_connection(sock=end, limit=MAX_LINE), handlers)
        channel._start(channel._listen())
        return channel

    async def call(self, what: str, **details: Any) -> Any:
        """Ask the other side for something and return its answer."""
        if self.ended.is_set():
            raise Gone
        number = next(self._numbers)
        self._calls[number] = asyncio.get_running_loop().create_future()
        self._send({"call": what, "number": number, "details": details})
        try:
            return await self._calls[number]
        finally:
            self._calls.pop(number, None)

    def close(self) -> None:
        """Leave; the other side notices."""
        self._writer.close()

    def _start(self, work: Any) -> None:
        """Keep a reference to the task, which the loop does not."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _send(self, message: Mapping[str, Any]) -> None:
        if not self._writer.is_closing():
            self._writer.write(json.dumps(message).encode() + b"\n")

    async def _listen(self) -> None:
        try:
            with contextlib.suppress(OSError):
                while line := await self._reader.readline():
                    self._heard(json.loads(line))
        finally:
            self.ended.set()
            for waiting in self._calls.values():
                if not waiting.done():
                    waiting.set_exception(Gone())

    def _heard(self, message: Mapping[str, Any]) -> None:
        if "call" in message:
            return self._start(self._answer(message))
        waiting = self._calls.get(message["number"])
        if waiting is None or waiting.done():
            return
        if "refused" in message:
            waiting.set_exception(InputError(message["refused"]))
        elif "failed" in message:
            waiting.set_exception(Failed(message["failed"]))
        else:
            waiting.set_result(message["result"])

    async def _answer(self, message: Mapping[str, Any]) -> None:
        try:
            said = {"result": await self._handlers[message["call"]](**message["details"])}
        except InputError as error:
            said = {"refused": str(error)}
        except Exception as error:
            said = {"failed": str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"}
        self._send({"number": message["number"], **said})
