"""Reloads that reach all workers as one: what they are asked, in which order, and what becomes of one that cannot."""

import asyncio
from types import SimpleNamespace

import pytest

from retainer.errors import InputError
from retainer.serve.metrics import Metrics
from retainer.serve.settings import Limits, Settings
from retainer.serve.workers.channel import Failed, Gone
from retainer.serve.workers.crew import WorkerCrew
from retainer.serve.workers.orders import Orders
from retainer.serve.workers.reloads import Reloads

SWAP = ["hold", "swap", "release", "clear"]
"""What all workers do once all have loaded the new version."""
SETTINGS = Settings(Limits(), "", (), ())
TURNS = 100
"""Of the loop: in so many, whatever could happen has happened."""


class Loading:
    """A worker that is asked to load a version."""

    def __init__(self, answer):
        self.answer = answer

    async def call(self, *asked, **about):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class TestPreparing:
    def prepared(self, *answers):
        crew = SimpleNamespace(ready=[Loading(one) for one in answers])
        return asyncio.run(Reloads(crew, Orders(SETTINGS, {}, "cpu"), Metrics(), print)._prepare("a", "b"))

    def test_one_that_ends_while_it_loads_is_passed_over(self):
        assert self.prepared(Gone(), {"hash": "1"}, {"hash": "1"}) == {"hash": "1"}

    @pytest.mark.parametrize(
        ("answers", "says"),
        [
            ([Gone(), Gone()], "no worker is left"),
            ([{"hash": "1"}, {"hash": "2"}], "changed while they were loaded"),
            ([{"hash": "1"}, Failed("no room")], "no room"),
        ],
    )
    def test_else_all_keep_the_old_one(self, answers, says):
        with pytest.raises((InputError, Failed), match=says):
            self.prepared(*answers)


class Scripted:
    """A worker that writes down what it is asked and what it has answered, and answers one thing only when allowed."""

    pid = 1

    def __init__(self, number, diary, waits_with="", trouble=("", None)):
        self.number, self.diary, self.waits_with = number, diary, waits_with
        self.fails_at, self.error = trouble
        self.allowed = asyncio.Event()
        self.seconds, self.dead, self.killed = {}, False, False

    async def call(self, what, seconds=None, **details):
        if self.dead:
            raise Gone
        self.diary.append(("asked", what, self.number))
        self.seconds[what] = seconds
        for _ in range(self.number):  # each takes a time of its own
            await asyncio.sleep(0)
        if what == self.waits_with:
            await self.allowed.wait()
        if what == self.fails_at:
            self.dead = isinstance(self.error, Gone)
            raise self.error
        self.diary.append(("answered", what, self.number))
        return {"start": {"versions": {"current": facts("old")}}, "prepare": facts("new")}.get(what)

    def kill(self):
        self.dead = self.killed = True


def facts(hash_):
    return {"hash": hash_, "types": ["city"]}


class Staged:
    """Reloads of some workers, whose version changes as soon as all are there."""

    def __init__(self, folder, *scripts):
        self.diary, self.log = [], []
        self.crew = WorkerCrew(len(scripts), 1, self.log.append)
        self.members = [Scripted(number, self.diary, **script) for number, script in enumerate(scripts, 1)]
        self.folder = folder
        self.reloads = Reloads(self.crew, Orders(SETTINGS, {"current": str(folder)}, "cpu"), Metrics(), self.log.append)

    async def begun(self):
        """Let all workers in, write the new version, and begin a reload."""
        for member in self.members:
            await self.reloads.welcome(member)
            self.crew.ready.append(member)
        self.diary.clear()
        (self.folder / "model").write_text("new")
        return asyncio.ensure_future(self.reloads.reload())

    def asked(self, number):
        """What a worker was asked, in order."""
        return [what for kind, what, who in self.diary if (kind, who) == ("asked", number) and what != "mark_failed"]


async def settled():
    """Let everything happen that nothing holds up."""
    for _ in range(TURNS):
        await asyncio.sleep(0)


class TestSwapping:
    def test_every_step_waits_for_all_to_take_the_one_before(self, tmp_path):
        async def run():
            staged = Staged(tmp_path, {}, {}, {})
            assert await (await staged.begun()) == {"current": "swapped"}
            return staged

        staged = asyncio.run(run())
        assert [staged.asked(number) for number in (1, 2, 3)] == [["prepare", *SWAP]] * 3
        for before, after in zip(["prepare", *SWAP], SWAP, strict=False):
            last = max(staged.diary.index(("answered", before, number)) for number in (1, 2, 3))
            assert last < min(staged.diary.index(("asked", after, number)) for number in (1, 2, 3)), (before, after)

    @pytest.mark.parametrize("step", SWAP)
    def test_a_reload_ends_only_once_all_have_taken_the_last_step(self, tmp_path, step):
        """With `clear`, a worker says that it has answered all that came before the swap."""

        async def run():
            staged = Staged(tmp_path, {"waits_with": step}, {"waits_with": step})
            reload = await staged.begun()
            for member in staged.members:
                await settled()
                assert staged.asked(member.number)[-1] == step
                assert not reload.done() and not staged.log
                member.allowed.set()
            return await reload, staged.log

        ended, log = asyncio.run(run())
        assert ended == {"current": "swapped"}
        assert log == ["current: new replaces old; it knows city"]

    @pytest.mark.parametrize("step", SWAP)
    @pytest.mark.parametrize("error", [Gone(), Failed("no room")])
    def test_one_that_ends_or_fails_holds_nobody_up(self, tmp_path, step, error):
        """One that fails is killed: it may serve the old version, or let nobody in."""

        async def run():
            staged = Staged(tmp_path, {"trouble": (step, error)}, {})
            assert await (await staged.begun()) == {"current": "swapped"}
            return staged

        staged = asyncio.run(run())
        assert staged.asked(1) == ["prepare", *SWAP[: SWAP.index(step) + 1]]
        assert staged.asked(2) == ["prepare", *SWAP]
        failed = isinstance(error, Failed)
        assert [member.killed for member in staged.members] == [failed, False]
        complaints = [f"fails to {step} and is killed: no room" in line for line in staged.log]
        assert complaints == ([True, False] if failed else [False])

    def test_none_is_awaited_for_ever_nor_killed_while_it_still_answers(self, tmp_path):
        async def run():
            staged = Staged(tmp_path, {})
            await (await staged.begun())
            return staged.members[0].seconds

        seconds = asyncio.run(run())
        assert all(0 < seconds[step] < 2 * SETTINGS.limits.answer_seconds for step in SWAP)
        assert seconds["clear"] > SETTINGS.limits.answer_seconds
