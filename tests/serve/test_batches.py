"""The queue: waiting texts are computed together, a lone text at once, and no request fails because of another."""

import asyncio
import threading
import time

import pytest

from retainer.serve.batches import MAX_BATCH_TEXTS, Batches
from retainer.serve.metrics import Metrics


class Slow:
    """A version that remembers its batches, and waits while its gate is closed."""

    def __init__(self):
        self.batches, self.gate = [], threading.Event()
        self.gate.set()

    def __call__(self, texts):
        self.batches.append(list(texts))
        assert self.gate.wait(20)
        if any("poison" in text for text in texts):
            raise ValueError("poison")
        return [[{"entity_group": "x", "word": text}] for text in texts]


@pytest.fixture
def version():
    return Slow()


@pytest.fixture
def queue(version):
    made = Batches("v", version, Metrics(), max_characters=1000)
    yield made
    version.gate.set()
    made.close()
    made.join(10)


def words(found):
    return [[entity["word"] for entity in one] for one in found]


def test_what_waits_while_the_version_works_is_one_batch(queue, version):
    async def run():
        version.gate.clear()
        first = queue.submit(["first"])
        while not version.batches:
            await asyncio.sleep(0.001)
        others = [queue.submit([f"text {number}"]) for number in range(20)]
        assert queue.waiting == 20
        version.gate.set()
        return await asyncio.gather(first, *others)

    found = asyncio.run(run())
    assert [len(batch) for batch in version.batches] == [1, 20]
    assert [words(one) for one in found] == [[["first"]], *([[f"text {number}"]] for number in range(20))]


def test_a_lone_text_does_not_wait(queue, version):
    """There is no timer: fifty requests, one after the other, take next to nothing."""

    async def run():
        began = time.perf_counter()
        for _ in range(50):
            await queue.submit(["alone"])
        return time.perf_counter() - began

    assert asyncio.run(run()) < 1.0
    assert [len(batch) for batch in version.batches] == [1] * 50


def test_a_batch_is_bounded_by_texts_and_by_characters(queue, version):
    async def run():
        version.gate.clear()
        first = queue.submit(["first"])
        while not version.batches:
            await asyncio.sleep(0.001)
        rest = [queue.submit(["x"] * (MAX_BATCH_TEXTS + 10)), queue.submit(["y" * 400] * 3), queue.submit(["z" * 5000])]
        version.gate.set()
        return await asyncio.gather(first, *rest)

    found = asyncio.run(run())
    assert [len(one) for one in found] == [1, MAX_BATCH_TEXTS + 10, 3, 1]
    assert all(len(batch) <= MAX_BATCH_TEXTS for batch in version.batches)
    assert all(sum(map(len, batch)) <= 1000 or len(batch) == 1 for batch in version.batches)


def test_a_long_list_does_not_block_a_short_one(queue, version):
    async def run():
        version.gate.clear()
        first = queue.submit(["first"])
        while not version.batches:
            await asyncio.sleep(0.001)
        long = queue.submit(["l" * 100] * 50)
        short = queue.submit(["short"])
        version.gate.set()
        await asyncio.gather(first, long, short)

    asyncio.run(run())
    assert "short" in version.batches[1], "the short one is in the very next batch"


def test_a_text_that_breaks_the_version_breaks_its_own_request_only(queue, version):
    async def run():
        version.gate.clear()
        first = queue.submit(["first"])
        while not version.batches:
            await asyncio.sleep(0.001)
        rest = [queue.submit(["fine"]), queue.submit(["good", "poison"]), queue.submit(["also fine"])]
        version.gate.set()
        return await asyncio.gather(first, *rest, return_exceptions=True)

    first, fine, bad, also = asyncio.run(run())
    assert isinstance(bad, ValueError)
    assert words(fine) == [["fine"]] and words(also) == [["also fine"]]


def test_texts_of_a_client_that_left_are_not_computed(queue, version):
    async def run():
        version.gate.clear()
        first = queue.submit(["first"])
        while not version.batches:
            await asyncio.sleep(0.001)
        gone, stays = queue.submit(["gone"]), queue.submit(["stays"])
        gone.cancel()
        version.gate.set()
        await asyncio.gather(first, stays)

    asyncio.run(run())
    assert version.batches == [["first"], ["stays"]]


def test_closed_it_ends_what_waits_and_takes_no_more(queue, version):
    async def run():
        version.gate.clear()
        waiting = [queue.submit([str(number)]) for number in range(5)]
        queue.close()
        with pytest.raises(RuntimeError):
            queue.submit(["late"])
        version.gate.set()
        return await asyncio.gather(*waiting)

    assert [words(one) for one in asyncio.run(run())] == [[[str(number)]] for number in range(5)]
    queue.join(10)
    assert not queue._thread.is_alive()
