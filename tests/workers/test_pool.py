"""Work items on workers that die: every item is done once, or given up after some tries."""

from collections import deque

import pytest
from fragile_work import FragileSetup

from retainer.errors import InputError
from retainer.workers.pool import STARTS, TRIES, Died, Done, Ready, WorkItem, answers
from retainer.workers.processes import Processes


class Scripted:
    """Workers in memory: each answers when it is waited for, and dies as it is told."""

    count = 3

    def __init__(self, deadly=(), stillborn=0):
        self.deadly, self.stillborn = deque(deadly), stillborn
        self.said, self.most, self.closed = {}, 0, False

    def start(self, number):
        self.said[number] = Died("at birth") if number < self.stillborn else Ready(["remark"])
        return number

    def send(self, worker, payload):
        dies = payload in self.deadly
        if dies:
            self.deadly.remove(payload)
        self.said[worker] = Died("in it") if dies else Done(payload * 2)
        self.most = max(self.most, sum(isinstance(one, Done) for one in self.said.values()))

    def wait(self, workers):
        assert workers, "nothing to wait for"
        return [(workers[-1], self.said.pop(workers[-1]))]

    def close(self):
        self.closed = True


def run(workers, numbers, taken=None):
    def items():
        for number in numbers:
            if taken is not None:
                taken.append(number)
            yield WorkItem(number, number)

    remarks = []
    found = {item.number: value for item, value in answers(workers, items(), remarks.append)}
    return found, remarks


def test_everything_is_done_once_and_little_is_in_flight():
    workers, taken, most = Scripted(), [], 0
    items = (WorkItem(n, n) for n in range(50) if not taken.append(n))
    for done, (item, value) in enumerate(answers(workers, items, lambda text: None), 1):
        assert value == 2 * item.number
        most = max(most, len(taken) - done)
    assert done == 50 and workers.closed and most <= workers.count + 1


def test_an_item_whose_worker_dies_is_done_by_another():
    found, remarks = run(Scripted(deadly=[4, 4, 9]), range(12))
    assert found == {n: 2 * n for n in range(12)} and remarks == ["remark"]


def test_an_item_that_kills_every_worker_is_given_up_and_the_rest_is_done():
    found, _ = run(Scripted(deadly=[5] * TRIES), range(12))
    assert found.pop(5) == Died("in it") and found == {n: 2 * n for n in range(12) if n != 5}


def test_workers_that_never_start_end_the_run():
    assert run(Scripted(stillborn=STARTS - 1), range(3))[0] == {0: 0, 1: 2, 2: 4}
    with pytest.raises(InputError, match="die while they start: at birth"):
        run(Scripted(stillborn=100), range(3))


def test_without_items_no_worker_is_started():
    workers = Scripted()
    assert run(workers, []) == ({}, []) and workers.said == {}


def test_processes_that_are_killed(tmp_path):
    found, remarks = run(Processes(FragileSetup(str(tmp_path)), 2), [1, 7, 13, *range(20, 30)])
    assert found.pop(13) == Died("it was killed by the signal SIGKILL")
    assert found == {n: 2 * n for n in (1, 7, *range(20, 30))} and remarks == ["ready"]
