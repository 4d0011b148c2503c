"""The parts of a server with workers, each by itself: channel, turnstile, books, orders."""

import asyncio
import socket
from datetime import UTC, datetime

import pytest

from retainer.errors import InputError
from retainer.serve.metrics import Counter, Family, Gauge, Histogram
from retainer.serve.settings import Limits, Settings
from retainer.serve.workers.books import Books
from retainer.serve.workers.channel import Channel, Failed, Gone
from retainer.serve.workers.orders import Orders, followed_path, shared_settings
from retainer.serve.workers.turnstile import Turnstile


class TestChannel:
    def talk(self, conversation, **handlers):
        """Let one end hold a conversation with the other, which has handlers."""

        async def run():
            here, there = socket.socketpair()
            caller, other = await Channel.over(here, {}), await Channel.over(there, handlers)
            try:
                return await conversation(caller, other)
            finally:
                caller.close()
                other.close()

        return asyncio.run(run())

    def test_answers_and_errors_come_back(self):
        async def double(number):
            return 2 * number

        async def refuse():
            raise InputError("not this one")

        async def fail():
            raise KeyError("x")

        async def conversation(caller, _):
            with pytest.raises(InputError, match="not this one"):
                await caller.call("refuse")
            with pytest.raises(Failed, match="KeyError"):
                await caller.call("fail")
            with pytest.raises(Failed, match="KeyError"):
                await caller.call("nothing")
            return await asyncio.gather(*(caller.call("double", number=n) for n in range(3)))

        assert self.talk(conversation, double=double, refuse=refuse, fail=fail) == [0, 2, 4]

    def test_the_end_of_the_other_side_ends_all_calls(self):
        async def never():
            await asyncio.Event().wait()

        async def conversation(caller, other):
            calls = [asyncio.ensure_future(caller.call("never")) for _ in range(2)]
            await asyncio.sleep(0.01)
            other.close()
            for call in calls:
                with pytest.raises(Gone):
                    await call
            with pytest.raises(Gone):
                await caller.call("never")

        self.talk(conversation, never=never)


class TestTurnstile:
    def test_nobody_enters_while_it_is_shut_and_it_knows_who_was_inside(self):
        async def run():
            turnstile, inside, leave = Turnstile(), [], asyncio.Event()

            async def app(scope, receive, send):
                inside.append(scope["path"])
                if scope["path"] == "/early":
                    await leave.wait()
                await send({"type": "http.response.body", "body": b""})

            async def send(message):
                pass

            passing = turnstile.around(app)

            def enter(path):
                return asyncio.ensure_future(passing({"type": "http", "path": path}, None, send))

            early = enter("/early")
            await asyncio.sleep(0)
            turnstile.shut()
            late, reload = enter("/late"), enter("/v1/reload")
            await reload
            assert inside == ["/early", "/v1/reload"] and not late.done()
            turnstile.open()
            await late
            clear = asyncio.ensure_future(turnstile.cleared(60))
            await asyncio.sleep(0.01)
            assert not clear.done()
            leave.set()
            await asyncio.gather(clear, early)
            await turnstile.cleared(60)

        asyncio.run(run())

    def test_it_waits_for_nobody_for_ever(self):
        async def run():
            turnstile = Turnstile()

            async def app(scope, receive, send):
                await asyncio.Event().wait()

            asyncio.ensure_future(turnstile.around(app)({"type": "http", "path": "/"}, None, None))
            await asyncio.sleep(0)
            turnstile.open()
            await turnstile.cleared(0.01)
            await turnstile.cleared(60)

        asyncio.run(run())


class TestBooks:
    def families(self, amount, seconds):
        counter = Counter("asked_total", "Asked.", "route")
        counter.add("/a", amount=amount)
        histogram = Histogram("took", "Took.", (1.0, 2.0))
        histogram.observe(seconds)
        gauges = [
            Gauge("waiting", "Waiting.", lambda: [((), amount)]),
            Gauge("since", "Since.", lambda: [((), amount)], across="max"),
        ]
        metrics = (counter, histogram, *gauges)
        return [vars(Family(one.name, one.help_text, one.kind, one.across, one.samples())) for one in metrics]

    def test_workers_are_added_up_and_what_an_ended_one_counted_stays(self):
        books = Books()
        books.note("one", self.families(2, 0.5))
        books.note("two", self.families(3, 1.5))
        both = books.exposition([]).splitlines()
        assert 'asked_total{route="/a"} 5' in both and "waiting 5" in both and "since 3" in both
        assert [
            'took_bucket{le="1"} 1',
            'took_bucket{le="2"} 2',
            'took_bucket{le="+Inf"} 2',
            "took_sum 2",
            "took_count 2",
        ] == [line for line in both if line.startswith("took")]
        books.close("one")
        left = books.exposition([]).splitlines()
        assert 'asked_total{route="/a"} 5' in left and "took_count 2" in left and "waiting 3" in left


class TestOrders:
    def test_they_survive_the_way(self):
        settings = Settings(Limits(body=7), "token", ("https://example.org",), ("localhost",))
        orders = Orders(settings, {"a": "b"}, "cpu", {"a": "c"}, {"a": datetime.now(UTC)})
        assert Orders.from_json(orders.as_json()) == orders

    def test_all_workers_together_allow_no_more_than_one_server(self):
        limits = shared_settings(Settings(Limits(requests=7, connections=100)), 3).limits
        assert (limits.requests, limits.connections) == (2, 33)

    def test_a_link_is_followed_once(self, tmp_path):
        (tmp_path / "v1").mkdir()
        (tmp_path / "current").symlink_to("v1")
        assert followed_path(str(tmp_path / "current")) == str((tmp_path / "v1").resolve())
        assert followed_path("some/name") == "some/name"
