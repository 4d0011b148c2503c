"""The process: a socket, signals, and a shutdown that answers every request it has accepted."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from retainer.serve.address import BACKLOG, socket_url, started_line
from retainer.serve.app import application, busy_app
from retainer.serve.connection import Connection
from retainer.serve.descriptors import ACCEPTS_PER_TURN, describe_limits, raise_limit, within_descriptors
from retainer.serve.error_log import error_log
from retainer.serve.registry import Registry
from retainer.serve.settings import Settings
from retainer.serve.workbench.next_items import look_at_first_texts
from retainer.serve.workbench.served_project import ServedProject

DRAIN_SECONDS = 0.3
"""How long a stopping server still takes requests that are already on their way."""
LEAVE_SECONDS = 1.0
"""How long requests may take to end once their clients are cut off."""


class Server(uvicorn.Server):
    """uvicorn with our signals: SIGHUP reloads changed versions, SIGTERM and Ctrl-C stop after the last answer."""

    def __init__(
        self, config: uvicorn.Config, registry: Registry, log: Callable[[str], None], limits: str = ""
    ) -> None:
        """Keep the registry, which must know when the server drains, and the line that says what is allowed."""
        super().__init__(config)
        self.registry, self.log, self.limits = registry, log, limits
        self.loop: asyncio.AbstractEventLoop | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle the signals while the server runs; uvicorn would raise them again at the end."""
        if threading.current_thread() is not threading.main_thread():  # no other one may handle signals
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        previous = {number: signal.signal(number, self.handle_exit) for number in signals}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop after the last answer; the second signal stops at once, and requests under way are told so."""
        if self.should_exit:
            self.force_exit = True
            if self.loop is not None:
                self.loop.call_soon_threadsafe(self._cancel_requests)
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and log where."""
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(BACKLOG)  # asyncio takes its own number for both: how many may wait, and how many it accepts
        self.announce(socket_url(sockets[0]) if sockets else "")

    def announce(self, url: str) -> None:
        """Log where the server listens and what it allows."""
        names = ", ".join(served.name for served in self.registry) or "no version yet"
        self.registry.log(started_line(names, url))
        if self.limits:
            self.registry.log(f"retainer: {self.limits}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, take the requests that are on their way, then answer all that were accepted."""
        self.registry.draining = True
        self.log("retainer: stopping once all accepted requests are answered")
        for server in self.servers:
            server.close()
        if not self.force_exit:
            await asyncio.sleep(DRAIN_SECONDS)
        seconds = max(float(self.config.timeout_graceful_shutdown or 0) - LEAVE_SECONDS, 0.0)
        last = asyncio.get_running_loop().call_later(seconds, self._abort_connections)
        await super().shutdown(sockets)
        last.cancel()
        self._cancel_requests()
        await self._wait_for_requests()
        self._abort_connections()
        await self._wait_for_requests()

    def _cancel_requests(self) -> None:
        """End the requests that are left: the guard answers those that have no answer yet."""
        for task in self.server_state.tasks:
            task.cancel()

    async def _wait_for_requests(self) -> None:
        if tasks := [*self.server_state.tasks]:
            await asyncio.wait(tasks, timeout=LEAVE_SECONDS)

    def _abort_connections(self) -> None:
        """Cut off who is left; then the tasks of their requests end by themselves, as when a client leaves."""
        for connection in self.server_state.connections:
            connection.transport.abort()


def uvicorn_config(
    app: ASGIApp, busy: ASGIApp, settings: Settings, kind: type[Connection] = Connection
) -> uvicorn.Config:
    """Return uvicorn's own settings: one process, no log of requests, no header that names the software."""
    limits = settings.limits
    connection = {
        "head_seconds": limits.receive_seconds,
        "stalled_seconds": limits.stalled_seconds,
        "max_connections": limits.connections,
        "busy_app": busy,
    }
    return uvicorn.Config(
        app,
        http=type("LimitedConnection", (kind,), connection),
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=ACCEPTS_PER_TURN,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=int(limits.answer_seconds) + 5,
    )


def run_server(
    registry: Registry,
    settings: Settings,
    bound: socket.socket,
    log: Callable[[str], None],
    *,
    watch: float = 0.0,
    project: ServedProject | None = None,
) -> None:
    """Serve until a signal stops the process; with a project, its jobs run beside the server."""
    found = raise_limit(settings.limits.connections)
    settings = replace(settings, limits=within_descriptors(settings.limits, found))
    config = uvicorn_config(application(registry, settings, log, project), busy_app(registry), settings)
    server = Server(config, registry, log, describe_limits(settings.limits, found))
    try:
        with error_log(registry.log):
            asyncio.run(_serve(server, registry, bound, watch, project))
    finally:
        registry.close(seconds=5.0)


async def _serve(
    server: Server, registry: Registry, bound: socket.socket, watch: float, project: ServedProject | None = None
) -> None:
    """Run the server, and beside it the tasks that look for new versions and the jobs of a project."""
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[object]] = set()

    def reload() -> None:
        """Look for new versions, and keep a reference to the task, which the loop does not."""
        task: asyncio.Task[object] = loop.create_task(registry.reload())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    if hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, reload)
    if watch > 0:
        tasks.add(loop.create_task(registry.watch(watch)))
    if project is not None:
        tasks |= {loop.create_task(project.runner.run()), loop.create_task(look_at_first_texts(project))}
    await server.serve(sockets=[bound])
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
