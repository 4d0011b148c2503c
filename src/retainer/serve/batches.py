"""The queue before a version: what several clients wait for is computed at once.

One thread per version takes what is there, at once and without a timer, and runs the version over it; what arrives
meanwhile is the next batch. So a lone request never waits, and a crowd shares the cost of a pass. Inside a batch the
version sorts by length (``Encoded.longest_first``), so short texts are not padded to the length of long ones.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter as Tally
from collections import deque
from collections.abc import Callable, Sequence
from threading import Condition, Thread
from typing import Any

from retainer.serve.metrics import Metrics

Entities = list[dict[str, Any]]
Find = Callable[[list[str]], list[Entities]]

TEXTS = 256
"""The most texts of a batch."""
CHARACTERS = {"cpu": 8_192, "cuda": 262_144}
"""The most characters of a batch, of several texts: a fraction of a second of work, whatever the machine."""


class Job:
    """The texts of one request on their way through a version."""

    def __init__(self, texts: Sequence[str], loop: asyncio.AbstractEventLoop) -> None:
        """Begin with the first text."""
        self.texts, self.loop = texts, loop
        self.done: asyncio.Future[list[Entities]] = loop.create_future()
        self.found: list[Entities] = [[] for _ in texts]
        self.taken = 0
        self.left = len(texts)

    def deliver(self, error: Exception | None) -> None:
        """Hand the result over to whoever waits; nobody may be left. Called in the loop's own thread."""
        if self.done.done():
            return
        if error is None:
            self.done.set_result(self.found)
        else:
            self.done.set_exception(error)


Place = tuple[Job, int]
"""One text of a job."""


class Batches:
    """The queue of one version, and the thread that works through it."""

    def __init__(self, name: str, find: Find, counters: Metrics, *, characters: int = CHARACTERS["cpu"]) -> None:
        """Start the thread."""
        self.name, self._find, self._counters, self._characters = name, find, counters, characters
        self._jobs: deque[Job] = deque()
        self._there = Condition()
        self._closed = False
        self._thread = Thread(target=self._work, name=f"version {name}", daemon=True)
        self._thread.start()

    def submit(self, texts: Sequence[str]) -> asyncio.Future[list[Entities]]:
        """Queue the texts of a request; a future that is cancelled gives up what has not begun."""
        job = Job(texts, asyncio.get_running_loop())
        if not texts:
            job.deliver(None)
            return job.done
        with self._there:
            if self._closed:
                raise RuntimeError(f"{self.name} takes no more texts")
            self._jobs.append(job)
            self._there.notify()
        return job.done

    @property
    def waiting(self) -> int:
        """How many texts wait."""
        with self._there:
            return sum(len(job.texts) - job.taken for job in self._jobs)

    def close(self) -> None:
        """Take no more; what waits is still done."""
        with self._there:
            self._closed = True
            self._there.notify()

    def join(self, seconds: float | None = None) -> None:
        """Wait until everything is done."""
        self._thread.join(seconds)

    def _work(self) -> None:
        while batch := self._take():
            began = time.perf_counter()
            found = self._found([job.texts[at] for job, at in batch])
            self._count(found, time.perf_counter() - began)
            self._deliver(batch, found)

    def _take(self) -> list[Place]:
        """Wait for texts and take what fits, one of each request in turn: a long list does not block a short one."""
        with self._there:
            while True:
                batch = self._fill()
                if batch or self._closed:
                    return batch
                self._there.wait()

    def _fill(self) -> list[Place]:
        batch: list[Place] = []
        room = self._characters
        while self._jobs and len(batch) < TEXTS:
            job = self._jobs.popleft()
            if job.done.cancelled():
                continue
            size = len(job.texts[job.taken])
            if batch and size > room:
                self._jobs.appendleft(job)
                break
            batch.append((job, job.taken))
            job.taken += 1
            room -= size
            if job.taken < len(job.texts):
                self._jobs.append(job)
        return batch

    def _found(self, texts: list[str]) -> list[Entities | Exception]:
        """Run the version; if a batch breaks, each text alone, so that one text cannot spoil the others."""
        try:
            return list(self._find(texts))
        except Exception as error:
            if len(texts) == 1:
                return [error]
        return [one for text in texts for one in self._found([text])]

    def _count(self, found: Sequence[Entities | Exception], seconds: float) -> None:
        self._counters.batches.run_tagger(len(found), self.name)
        self._counters.work.run_tagger(seconds, self.name)
        self._counters.texts.add(self.name, amount=len(found))
        types = Tally(entity["entity_group"] for one in found if isinstance(one, list) for entity in one)
        for type_, amount in types.items():
            self._counters.entities.add(self.name, type_, amount=amount)

    def _deliver(self, batch: Sequence[Place], found: Sequence[Entities | Exception]) -> None:
        """Put the results where they belong, and wake who has all of them."""
        ready: dict[asyncio.AbstractEventLoop, list[tuple[Job, Exception | None]]] = {}
        for (job, at), one in zip(batch, found, strict=True):
            job.left -= 1
            if isinstance(one, Exception):
                ready.setdefault(job.loop, []).append((job, one))
                continue
            job.found[at] = one
            if job.left == 0:
                ready.setdefault(job.loop, []).append((job, None))
        for loop, jobs in ready.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_deliver_all, jobs)


def _deliver_all(jobs: Sequence[tuple[Job, Exception | None]]) -> None:
    for job, error in jobs:
        job.deliver(error)
