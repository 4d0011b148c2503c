"""The queue in front of a version: texts of several clients are computed together.

One thread per version takes what is queued, at once and without a timer, and runs the version over it; what arrives
meanwhile is the next batch. So a lone request never waits, and many requests share the cost of a pass. Inside a batch
the version sorts by length, so short texts are not padded to the length of long ones.
"""

from __future__ import annotations

import asyncio
import collections
import time
from collections.abc import Callable, Sequence
from threading import Condition, Thread
from typing import Any

from retainer.serve.metrics import Metrics

Entities = list[dict[str, Any]]
PredictTexts = Callable[[list[str]], list[Entities]]

MAX_BATCH_TEXTS = 256
MAX_BATCH_CHARACTERS = {"cpu": 8_192, "cuda": 262_144}
"""By device, for a batch of several texts: a fraction of a second of work on either."""


class QueuedRequest:
    """The texts of one request on their way through a version."""

    def __init__(self, texts: Sequence[str], loop: asyncio.AbstractEventLoop) -> None:
        """Start with the first text."""
        self.texts, self.loop = texts, loop
        self.future: asyncio.Future[list[Entities]] = loop.create_future()
        self.entities: list[Entities] = [[] for _ in texts]
        self.next_text = 0
        self.remaining = len(texts)

    def finish(self, error: Exception | None) -> None:
        """Resolve the future, unless the client left and cancelled it. Called in the thread of its event loop."""
        if self.future.done():
            return
        if error is None:
            self.future.set_result(self.entities)
        else:
            self.future.set_exception(error)


QueuedText = tuple[QueuedRequest, int]
"""A request and the index of one of its texts."""


class Batches:
    """The queue of one version, and the thread that works through it."""

    def __init__(
        self, name: str, predict: PredictTexts, metrics: Metrics, *, max_characters: int = MAX_BATCH_CHARACTERS["cpu"]
    ) -> None:
        """Start the thread."""
        self.name, self._predict, self._metrics, self._max_characters = name, predict, metrics, max_characters
        self._queue: collections.deque[QueuedRequest] = collections.deque()
        self._changed = Condition()
        self._closed = False
        self._thread = Thread(target=self._work, name=f"version {name}", daemon=True)
        self._thread.start()

    def submit(self, texts: Sequence[str]) -> asyncio.Future[list[Entities]]:
        """Queue the texts of a request; cancelling the future drops the texts that are still queued."""
        request = QueuedRequest(texts, asyncio.get_running_loop())
        if not texts:
            request.finish(None)
            return request.future
        with self._changed:
            if self._closed:
                raise RuntimeError(f"{self.name} takes no more texts")
            self._queue.append(request)
            self._changed.notify()
        return request.future

    @property
    def waiting(self) -> int:
        """The number of queued texts."""
        with self._changed:
            return sum(len(request.texts) - request.next_text for request in self._queue)

    def close(self) -> None:
        """Take no more texts; those in the queue are still computed."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def join(self, seconds: float | None = None) -> None:
        """Wait until the queue is empty and the thread has ended."""
        self._thread.join(seconds)

    def _work(self) -> None:
        while batch := self._next_batch():
            began = time.perf_counter()
            results = self._results([request.texts[index] for request, index in batch])
            self._count(results, time.perf_counter() - began)
            self._deliver(batch, results)

    def _next_batch(self) -> list[QueuedText]:
        """Wait for texts and take what fits, one of each request in turn: a long list does not block a short one."""
        with self._changed:
            while True:
                batch = self._fill()
                if batch or self._closed:
                    return batch
                self._changed.wait()

    def _fill(self) -> list[QueuedText]:
        batch: list[QueuedText] = []
        room = self._max_characters
        while self._queue and len(batch) < MAX_BATCH_TEXTS:
            request = self._queue.popleft()
            if request.future.cancelled():
                continue
            size = len(request.texts[request.next_text])
            if batch and size > room:
                self._queue.appendleft(request)
                break
            batch.append((request, request.next_text))
            request.next_text += 1
            room -= size
            if request.next_text < len(request.texts):
                self._queue.append(request)
        return batch

    def _results(self, texts: list[str]) -> list[Entities | Exception]:
        """Run the version; if a batch fails, run each text alone, so that one text cannot fail the others."""
        try:
            return list(self._predict(texts))
        except Exception as error:
            if len(texts) == 1:
                return [error]
        return [result for text in texts for result in self._results([text])]

    def _count(self, results: Sequence[Entities | Exception], seconds: float) -> None:
        self._metrics.batch_texts.observe(len(results), self.name)
        self._metrics.batch_seconds.observe(seconds, self.name)
        self._metrics.texts.add(self.name, amount=len(results))
        found = [entity for result in results if isinstance(result, list) for entity in result]
        for type_, amount in collections.Counter(entity["entity_group"] for entity in found).items():
            self._metrics.entities.add(self.name, type_, amount=amount)

    def _deliver(self, batch: Sequence[QueuedText], results: Sequence[Entities | Exception]) -> None:
        """Store the results with their requests, and wake the clients whose request is complete."""
        finished: dict[asyncio.AbstractEventLoop, list[tuple[QueuedRequest, Exception | None]]] = {}
        for (request, index), result in zip(batch, results, strict=True):
            request.remaining -= 1
            if isinstance(result, Exception):
                finished.setdefault(request.loop, []).append((request, result))
                continue
            request.entities[index] = result
            if request.remaining == 0:
                finished.setdefault(request.loop, []).append((request, None))
        for loop, requests in finished.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_finish_all, requests)


def _finish_all(requests: Sequence[tuple[QueuedRequest, Exception | None]]) -> None:
    for request, error in requests:
        request.finish(error)
