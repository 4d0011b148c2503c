"""A sweep of many cells on a Ray that is made up: how many are asked for at once, and what becomes of lost ones."""

from types import SimpleNamespace

import pytest

from retainer.bench.ray_cells import _IN_FLIGHT, RayCells, _Sweep
from retainer.errors import InputError


class LostWorker(Exception):
    """What Ray raises when the worker of a task is gone for good."""


class FakeRay:
    """Answers the oldest call first; remembers how many it was asked to look at."""

    exceptions = SimpleNamespace(RayError=LostWorker, RayTaskError=ZeroDivisionError)

    def __init__(self, deadly=()):
        self.deadly, self.most = deadly, 0

    def wait(self, calls, num_returns):
        self.most = max(self.most, len(calls))
        return calls[:1], calls[1:]

    def get(self, call):
        if call in self.deadly:
            raise LostWorker
        return f"tasks of {call}", 0


def sweep(ray):
    made = object.__new__(_Sweep)
    made.ray, made.learning, made.in_flight = ray, {}, _IN_FLIGHT
    made._submitted = lambda cell: cell.title
    made.bench = SimpleNamespace(keep=lambda cell, done, peak: done)
    return made


CELLS = [SimpleNamespace(title=f"cell {n}") for n in range(3 * _IN_FLIGHT)]


def test_every_cell_is_measured_and_few_are_in_flight():
    ray = FakeRay()
    found = list(sweep(ray).measured(CELLS))
    assert found == [(cell, f"tasks of {cell.title}") for cell in CELLS] and ray.most == _IN_FLIGHT


def test_lost_cells_are_named_when_the_others_are_done():
    measured, found = sweep(FakeRay({"cell 7", "cell 900"})).measured(CELLS), []
    with pytest.raises(InputError, match=r"4 workers died over 2 of 1500 cells, such as cell 7 \(LostWorker\)"):
        for cell, _ in measured:
            found.append(cell)
    assert found == [cell for cell in CELLS if cell.title not in ("cell 7", "cell 900")]


@pytest.mark.parametrize(
    ("cpus", "gpus", "resources", "asked"),
    [
        (1, 0, {"CPU": 16}, 500),
        (1, 0.125, {"CPU": 2000, "GPU": 64}, 1024),
        (2, 0, {"CPU": 2000}, 2000),
        (0, 0.25, {"CPU": 1, "GPU": 100}, 800),
    ],
)
def test_a_large_cluster_has_cells_for_every_place(cpus, gpus, resources, asked):
    assert RayCells("a:1", cpus, gpus)._in_flight(resources) == asked
