"""A worker: a process that loads the versions and answers the connections that the supervisor gives it.

It ends when the supervisor says so, or with the supervisor: then it answers what it has, and nobody gives it more.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

import uvicorn

from retainer.errors import printable
from retainer.serve.app import application, busy_app
from retainer.serve.descriptors import describe_limits, raise_limit, within_descriptors
from retainer.serve.error_log import error_log
from retainer.serve.registry import ServedVersion
from retainer.serve.server import Server, uvicorn_config
from retainer.serve.workers.channel import Channel
from retainer.serve.workers.doors import Door
from retainer.serve.workers.orders import Orders
from retainer.serve.workers.shared_registry import SharedRegistry

ORPHAN_SECONDS = 10.0
"""How much longer than an answer a worker may take to end once its supervisor has ended."""


def run_worker(control: int, door: int) -> None:
    """Run a worker over two descriptors; signals are for the supervisor, which a terminal or systemd sends them too."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    asyncio.run(_work(socket.socket(fileno=control), socket.socket(fileno=door)))


async def _work(control: socket.socket, door: socket.socket) -> None:
    worker = Worker(Door(door))
    worker.channel = await Channel.over(control, worker.handlers())
    beginning = asyncio.ensure_future(worker.begun.wait())
    ending = asyncio.ensure_future(worker.channel.ended.wait())
    await asyncio.wait({beginning, ending}, return_when=asyncio.FIRST_COMPLETED)
    if not worker.begun.is_set():
        os._exit(0)  # a thread may still be loading
    with error_log(log_line):
        serving = asyncio.ensure_future(worker.server.serve(sockets=[]))
        await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
        if not serving.done():
            worker.leave()
            seconds = worker.settings.limits.answer_seconds + ORPHAN_SECONDS
            asyncio.get_running_loop().call_later(seconds, os._exit, 1)
        await serving
    worker.registry.close(seconds=5.0)
    ending.cancel()


def log_line(line: str) -> None:
    """Write a line of the log in one piece; the supervisor passes it on, as long as there is one."""
    with contextlib.suppress(OSError):
        sys.stderr.write(printable(line + "\n"))
        sys.stderr.flush()


class Worker:
    """What the supervisor may ask of a worker."""

    channel: Channel
    registry: SharedRegistry
    server: GivenServer

    def __init__(self, door: Door) -> None:
        """Wait for orders."""
        self.door = door
        self.begun = asyncio.Event()

    def handlers(self) -> dict[str, Any]:
        """Return what the supervisor may call."""
        calls = (self.start, self.prepare, self.discard, self.hold, self.swap, self.release, self.clear)
        return {call.__name__: call for call in (*calls, self.mark_failed, self.books, self.stop)}

    async def start(self, orders: dict[str, Any]) -> dict[str, Any]:
        """Load all versions, be ready, and say what is served and allowed."""
        told = Orders.from_json(orders)
        found = raise_limit(told.settings.limits.connections)
        self.settings = replace(told.settings, limits=within_descriptors(told.settings.limits, found))
        self.registry = await asyncio.to_thread(SharedRegistry, told, self.channel, log_line)
        app = application(self.registry, self.settings, log_line)
        config = uvicorn_config(app, busy_app(self.registry), self.settings, self.door.kind())
        self.server = GivenServer(config, self.registry, self.door)
        self.begun.set()
        await self.server.ready.wait()
        return {
            "versions": {served.name: _facts(served) for served in self.registry},
            "limits": describe_limits(self.settings.limits, found),
        }

    async def prepare(self, name: str, place: str) -> dict[str, Any]:
        """Load a version beside the one that is served."""
        return _facts(await self.registry.prepare(name, place))

    async def discard(self, name: str) -> None:
        """Forget what was prepared."""
        self.registry.discard(name)

    async def hold(self) -> None:
        """Let no request in."""
        self.registry.turnstile.shut()

    async def swap(self, name: str) -> None:
        """Serve what was prepared."""
        self.registry.swap(name)

    async def release(self) -> None:
        """Let requests in again."""
        self.registry.turnstile.open()

    async def clear(self) -> None:
        """Answer once all requests that came before the swap are answered."""
        await self.registry.turnstile.cleared(self.settings.limits.answer_seconds)

    async def mark_failed(self, failed: dict[str, str]) -> None:
        """Know which folders hold something that cannot be loaded."""
        self.registry.mark_failed({name: datetime.fromisoformat(since) for name, since in failed.items()})

    async def books(self) -> list[dict[str, Any]]:
        """Return what was counted here."""
        return [asdict(family) for family in self.registry.metrics.families()]

    async def stop(self) -> None:
        """Answer what was accepted, and end; the second time, end at once."""
        self.leave()

    def leave(self) -> None:
        """Take the connections that are on their way, answer, and end."""
        if not self.server.should_exit:
            self.door.close()
        self.server.handle_exit(signal.SIGTERM, None)


def _facts(served: ServedVersion) -> dict[str, Any]:
    return {"hash": served.hash, "types": list(served.version.types)}


class GivenServer(Server):
    """A server that listens nowhere: its connections are given to it."""

    def __init__(self, config: uvicorn.Config, registry: SharedRegistry, door: Door) -> None:
        """Say nothing at the start and at the end: the supervisor speaks for all."""
        super().__init__(config, registry, lambda line: None)
        self.door, self.ready = door, asyncio.Event()
        self._arriving: set[asyncio.Task[Any]] = set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the supervisor."""
        yield

    def announce(self, url: str) -> None:
        """Open the door."""
        self.door.open(self._welcome)
        self.ready.set()

    def _welcome(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._connect(loop, connection))
        self._arriving.add(task)
        task.add_done_callback(self._arriving.discard)

    async def _connect(self, loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
        try:
            await loop.connect_accepted_socket(self._protocol, connection)
        except OSError:  # it has gone again
            connection.close()

    def _protocol(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made
