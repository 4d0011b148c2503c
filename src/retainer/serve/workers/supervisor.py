"""The process that answers nothing itself: it listens, starts the workers, passes signals on, and speaks for all.

It imports no torch, so it is small, starts at once, and always has time for the next connection.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Coroutine
from typing import Any

from retainer.plurals import amount
from retainer.runtime import cores
from retainer.serve.address import socket_url, started_line
from retainer.serve.metrics import Counter, Family, Gauge, Metrics
from retainer.serve.settings import Limits
from retainer.serve.workers.channel import Gone
from retainer.serve.workers.crew import WorkerCrew
from retainer.serve.workers.member import Member
from retainer.serve.workers.orders import Orders
from retainer.serve.workers.reception import Reception
from retainer.serve.workers.reloads import Reloads
from retainer.versions.card import on_one_line

BOOKS_SECONDS = 1.0
"""How often all workers are asked what they have counted: no more is lost with one that is killed."""
BOOKS_PATIENCE = 2.0
"""Seconds until a scrape does without the latest numbers of a worker that does not answer."""
DEAD_SECONDS = 60.0
"""Seconds after which a worker that answers nothing is killed, and replaced."""
STOP_SECONDS = 10.0
"""How much longer than an answer workers may take to end."""


def run_workers(
    orders: Orders, size: int, bound: socket.socket, log: Callable[[str], None], *, watch: float = 0.0
) -> None:
    """Serve with so many workers until a signal stops the process."""
    asyncio.run(_supervise(orders, size, bound, log, watch))


def threads_each(size: int) -> int:
    """Return how many threads a worker computes with: all together take the cores that one server would."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return max((int(said) if said.isdecimal() else cores()) // size, 1)


async def _supervise(orders: Orders, size: int, bound: socket.socket, log: Callable[[str], None], watch: float) -> None:
    supervisor = Supervisor(orders, size, bound, log)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, supervisor.stop)
    stopped = asyncio.ensure_future(supervisor.stopping.wait())
    starting = asyncio.ensure_future(supervisor.start())
    try:
        await asyncio.wait({starting, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            loop.add_signal_handler(signal.SIGHUP, lambda: supervisor.begin(supervisor.reloads.reload()))
            if watch > 0:
                supervisor.begin(supervisor.reloads.watch(watch))
        await stopped
    finally:
        starting.cancel()
        await supervisor.end()


class Supervisor:
    """Puts the workers, the port and the metrics together."""

    def __init__(self, orders: Orders, size: int, bound: socket.socket, log: Callable[[str], None]) -> None:
        """Start nothing yet."""
        self.log: Callable[[str], None] = lambda line: log(on_one_line(line))  # names of types may hold any character
        self.stopping = asyncio.Event()
        self._limits: Limits = orders.settings.limits
        self._names, self._allowed = ", ".join(orders.paths), ""
        self._url = socket_url(bound)
        self._crew = WorkerCrew(size, threads_each(size), self.log)
        self._reception = Reception(bound, self._crew.ready)
        self._metrics = Metrics()
        self.reloads = Reloads(self._crew, orders, self._metrics, self.log)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._crew.handlers = {"reload": self.reloads.reload, "metrics": self._exposition}

    async def start(self) -> None:
        """Start all workers; listen, and say so, once all are ready."""
        await self._crew.start(self._welcome)
        self._reception.open()
        self.begin(self._keep_books())
        self.log(started_line(self._names, self._url))
        processes = ", ".join(str(member.pid) for member in sorted(self._crew.ready, key=lambda one: one.number))
        threads = amount(self._crew.threads, "thread")
        self.log(f"retainer: {amount(self._crew.size, 'worker')} (processes {processes}), {threads} each")
        self.log(f"retainer: {self._allowed}, in each worker")

    def begin(self, work: Coroutine[Any, Any, object]) -> None:
        """Do something beside the rest, and keep a reference to the task, which the loop does not."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        """Stop after the last answer; the second time, at once."""
        if self.stopping.is_set():
            self.begin(self._crew.all("stop"))
        self.stopping.set()

    async def end(self) -> None:
        """Close the port, let all workers answer what they have, and wait for them."""
        if self.stopping.is_set():
            self.log("retainer: stopping once all accepted requests are answered")
        self._reception.close()
        await self._crew.stop(self._limits.answer_seconds + STOP_SECONDS)
        for task in list(self._tasks):
            task.cancel()

    async def _welcome(self, member: Member) -> None:
        facts = await self.reloads.welcome(member)
        self._allowed = facts["limits"]

    async def _keep_books(self) -> None:
        while True:
            await asyncio.sleep(BOOKS_SECONDS)
            await self._ask_for_books()

    async def _ask_for_books(self) -> None:
        """Write down what all workers have counted, as far as they answer soon."""

        async def ask(member: Member) -> None:
            try:
                counted = await member.call("books", DEAD_SECONDS)
            except Gone:
                return
            if member in self._crew.ready:
                self._crew.books.note(member, counted)

        asked = [asyncio.ensure_future(ask(member)) for member in self._crew.ready]
        if asked:
            await asyncio.wait(asked, timeout=BOOKS_PATIENCE)

    async def _exposition(self) -> str:
        """Return the metrics of all workers, and what only the supervisor knows."""
        await self._ask_for_books()
        return self._crew.books.exposition(self._own_families())

    def _own_families(self) -> list[Family]:
        ready, replaced = len(self._crew.ready), Counter("retainer_workers_replaced_total", "Workers that had ended.")
        replaced.add(amount=self._crew.replaced)
        own = Gauge("retainer_workers", "Workers that answer.", lambda: [((), ready)])
        reloads = self._metrics.reloads
        return [
            Family(one.name, one.help_text, one.kind, one.across, one.samples()) for one in (reloads, own, replaced)
        ]
