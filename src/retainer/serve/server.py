"""The process: a socket, signals, and an end in which nobody is cut off."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from retainer.errors import InputError
from retainer.serve.app import application, crowded
from retainer.serve.connection import Connection
from retainer.serve.registry import Registry
from retainer.serve.settings import Settings

LAST_CALLS = 0.3
"""Seconds in which requests that are already on their way are still taken when the server is told to stop."""
BACKLOG = 2048


def bound(host: str, port: int) -> socket.socket:
    """Take a port before anything is loaded; nobody is let in yet."""
    if not 0 <= port < 2**16:
        raise InputError(f"--port {port}: expected 0 to 65535")
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        taken = socket.socket(family, kind, number)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
    except (OSError, UnicodeError) as error:
        what = getattr(error, "strerror", None) or error
        raise InputError(
            f"cannot listen on {host}, port {port}: {what}; choose others with --host and --port"
        ) from None
    return taken


def address(taken: socket.socket) -> str:
    """Return the address of a bound socket, as a browser wants it."""
    host, port = taken.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server(uvicorn.Server):
    """uvicorn, with our signals: SIGHUP looks for new versions, SIGTERM and Ctrl-C end it when all is answered."""

    def __init__(self, config: uvicorn.Config, roster: Registry, tell: Callable[[str], None]) -> None:
        """Know whom to tell that it ends."""
        super().__init__(config)
        self.roster, self.tell = roster, tell

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals while the server runs. uvicorn would raise them once more at the end."""
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, self.handle_exit) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end; the second time, at once."""
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Let people in, and say so."""
        await super().startup(sockets)
        here = address(sockets[0]) if sockets else ""
        names = ", ".join(one.name for one in self.roster)
        self.roster.tell(f"retainer: {names} on {here}, described at {here}/docs; the page is {here}/")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let nobody in any more, answer who is on the way, then who is inside."""
        self.roster.draining = True
        self.tell("retainer: stopping, what has begun is answered first")
        for server in self.servers:
            server.close()
        await asyncio.sleep(LAST_CALLS)
        await super().shutdown(sockets)


def configured(app: ASGIApp, crowd: ASGIApp, settings: Settings) -> uvicorn.Config:
    """Return uvicorn's own settings: one process, no log of who asked what, no header that names the software."""
    limits = settings.limits
    facts = {"seconds": limits.slow, "most": limits.connections, "crowd": crowd}
    return uvicorn.Config(
        app,
        http=type("Patient", (Connection,), facts),
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=int(limits.seconds) + 5,
    )


def run(
    roster: Registry, settings: Settings, taken: socket.socket, tell: Callable[[str], None], *, watch: float = 0.0
) -> None:
    """Serve until somebody says stop."""
    config = configured(application(roster, settings, tell), crowded(roster), settings)
    server = Server(config, roster, tell)
    try:
        asyncio.run(_served(server, roster, taken, watch))
    finally:
        roster.close(seconds=5.0)


async def _served(server: Server, roster: Registry, taken: socket.socket, watch: float) -> None:
    """Run the server, and beside it whatever looks for new versions."""
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[object]] = set()

    def reload() -> None:
        """Look for new versions, and hold on to the task that does."""
        task: asyncio.Task[object] = loop.create_task(roster.reload())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    if hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, reload)
    if watch > 0:
        tasks.add(loop.create_task(roster.watch(watch)))
    await server.serve(sockets=[taken])
    for task in list(tasks):
        task.cancel()
