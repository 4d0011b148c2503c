"""The workers: so many at any time. One that ends is replaced, and one that ends again and again is given time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from retainer.errors import InputError
from retainer.serve.workers.books import Books
from retainer.serve.workers.channel import Failed, Gone, Handlers
from retainer.serve.workers.member import Member

SHORT_LIFE = 60.0
"""Seconds; a worker that lives longer was well."""
LONGEST_PAUSE = 30.0
"""Seconds between two attempts to replace a worker."""

Welcome = Callable[[Member], Awaitable[None]]


class WorkerCrew:
    """All workers, each in a place of its own that a task keeps filled."""

    def __init__(self, size: int, threads: int, log: Callable[[str], None]) -> None:
        """Start with empty places."""
        self.size, self.threads, self.log = size, threads, log
        self.handlers: Handlers = {}
        """What a worker may call."""
        self.ready: list[Member] = []
        self.books = Books()
        self.replaced = 0
        self._members: set[Member] = set()
        self._stopping = False
        self._places: list[asyncio.Task[None]] = []

    async def start(self, welcome: Welcome) -> None:
        """Fill all places; the first worker that cannot start ends the attempt."""
        loop = asyncio.get_running_loop()
        firsts = [loop.create_future() for _ in range(self.size)]
        for number, first in enumerate(firsts, 1):
            self._places.append(loop.create_task(self._keep(number, welcome, first)))
            self._places[-1].add_done_callback(partial(_pass_on, first))
        await asyncio.gather(*firsts)

    async def all(self, what: str, seconds: float | None = None, **details: Any) -> dict[Member, Any]:
        """Ask all workers that are ready and return their answers; the answer of one that ended is None."""

        async def one(member: Member) -> Any:
            try:
                return await member.call(what, seconds, **details)
            except Gone:
                return None
            except Failed as error:
                self.log(
                    f"retainer: worker {member.number} (process {member.pid}) fails to {what} and is killed: {error}"
                )
                return member.kill()

        asked = list(self.ready)
        return dict(zip(asked, await asyncio.gather(*map(one, asked)), strict=True))

    async def stop(self, seconds: float) -> None:
        """Let all workers answer what they have and end; after so many seconds they are killed."""
        self._stopping = True
        for member in self._members - set(self.ready):
            member.kill()
        await self.all("stop")
        if self._places:
            await asyncio.wait(self._places, timeout=seconds)
        for member in self._members:
            member.kill()
        for place in self._places:
            place.cancel()
        await asyncio.gather(*self._places, return_exceptions=True)

    async def _keep(self, number: int, welcome: Welcome, first: asyncio.Future[None]) -> None:
        """Keep a place filled until all stop."""
        loop, short_lives = asyncio.get_running_loop(), 0
        while not self._stopping:
            began = loop.time()
            problem = await self._fill(number, welcome, first)
            if self._stopping or problem is None:
                return
            short_lives = short_lives + 1 if loop.time() - began < SHORT_LIFE else 0
            pause = min(2.0 ** (short_lives - 2), LONGEST_PAUSE) if short_lives > 1 else 0.0
            self.replaced += 1
            self.log(f"retainer: worker {number} {problem}; another takes its place{_in(pause)}")
            await asyncio.sleep(pause)

    async def _fill(self, number: int, welcome: Welcome, first: asyncio.Future[None]) -> str | None:
        """Fill a place once, and say why it is empty again; None if nobody could ever fill it."""
        try:
            member = await Member.begin(number, self.threads, self.handlers, self.log)
        except OSError as error:  # the system allows no more processes
            if first.done():
                return f"could not start: {error.strerror}"
            first.set_exception(_never(error.strerror))
            return None
        self._members.add(member)
        return await self._serve(member, welcome, first)

    async def _serve(self, member: Member, welcome: Welcome, first: asyncio.Future[None]) -> str | None:
        """Let a worker serve until it ends, and say why it did; None if it never could, and nobody else either."""
        refusal: Exception | None = None
        try:
            await welcome(member)
            self.ready.append(member)
            if first.done():
                self.log(f"retainer: worker {member.number} answers again (process {member.pid})")
            else:
                first.set_result(None)
        except (InputError, Failed) as error:
            refusal = error
            member.kill()
        except Gone:
            pass
        ended = await member.ended()
        self._forget(member)
        if not first.done():
            first.set_exception(refusal if isinstance(refusal, InputError) else _never(refusal or ended))
            return None
        return f"(process {member.pid}) {ended if refusal is None else f'could not start: {refusal}'}"

    def _forget(self, member: Member) -> None:
        self._members.discard(member)
        if member in self.ready:
            self.ready.remove(member)
        self.books.close(member)


def _never(why: object) -> InputError:
    return InputError(f"a worker could not start: {why}; each worker holds all versions in memory")


def _pass_on(first: asyncio.Future[None], place: asyncio.Task[None]) -> None:
    """Let nobody wait for a place that nobody will fill any more."""
    if first.done():
        return
    if place.cancelled() or (error := place.exception()) is None:
        first.cancel()
    else:
        first.set_exception(error)


def _in(pause: float) -> str:
    return f" in {pause:g} s" if pause else ""
