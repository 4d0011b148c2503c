"""Cells on a Ray cluster: each is a task of Ray, which measures it again elsewhere if its worker or node dies.

Nodes need not share a disk with the driver: the corpus, the encoder and first versions travel through Ray, and so do
the results, which the driver writes into the folder of cells.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from retainer.about import __version__
from retainer.bench.cell import Cell
from retainer.bench.result import CellResult
from retainer.bench.resume import CellState, FinishedTasks
from retainer.bench.run import Bench, splits_of, take_splits
from retainer.data.corpus import Splits
from retainer.errors import InputError, disk_refusals
from retainer.files import new_folder
from retainer.model.quirks import NONE
from retainer.versions.version import Version, load
from retainer.workers.ray_cluster import Files, cluster, fits_a_node, packed, unpacked_folder, write_files

_RETRIES = 3
"""How often a cell begins again elsewhere before it is given up."""
_IN_FLIGHT = 500
"""Cells that Ray is asked for at once, or twice as many as a larger cluster has room for: every answer costs a look at
all of them, so ten thousand at once would cost a hundred million looks."""


@dataclass(frozen=True)
class RayCells:
    """Measures cells on a cluster, each with its share of a node."""

    address: str
    cpus: float = 1.0
    gpus: float = 0.0

    def __call__(self, bench: Bench, cells: Sequence[Cell]) -> Iterator[tuple[Cell, CellResult]]:
        """Yield cells as they are finished; what a cell without an end costs, is its own result alone."""
        with cluster(self.address) as resources:
            self._require_room()
            share = {"num_cpus": self.cpus, "num_gpus": self.gpus, "max_retries": _RETRIES}
            yield from _Sweep(bench, share, self._in_flight(resources)).measured(cells)

    def _in_flight(self, resources: Mapping[str, float]) -> int:
        """Return how many cells to ask for at once, so that no node of a large cluster is idle."""
        shares = {"CPU": self.cpus, "GPU": self.gpus}
        room = min(resources.get(name, 0) / share for name, share in shares.items() if share)
        return max(_IN_FLIGHT, 2 * int(room))

    def _require_room(self) -> None:
        """Refuse to wait for what no node will ever have."""
        if not fits_a_node({"CPU": self.cpus, "GPU": self.gpus}):
            raise InputError(
                f"a cell asks for {self.cpus:g} CPU and {self.gpus:g} GPU, and no node of the cluster at "
                f"{self.address} has as much; ask for less, or add a node"
            )


class _Sweep:
    """The calls of one sweep. What many cells need is put into Ray's store once."""

    def __init__(self, bench: Bench, options: Mapping[str, Any], in_flight: int) -> None:
        import ray

        self.bench, self.ray, self.in_flight = bench, ray, in_flight
        self.learn = ray.remote(_learn_first).options(**options)
        self.measure = ray.remote(_measure).options(**options)
        self.splits = ray.put(splits_of(bench.data, bench.columns))
        self.encoders, self.firsts = dict[str, Any](), dict[Path, Any]()
        self.learning = dict[Any, Path]()

    def measured(self, cells: Sequence[Cell]) -> Iterator[tuple[Cell, CellResult]]:
        """Submit cells, and more as some are finished; a cell waits in Ray for its first version."""
        waiting, running, lost = deque(cells), dict[Any, Cell](), list[str]()
        while waiting or running:
            while waiting and len(running) < self.in_flight:
                cell = waiting.popleft()
                running[self._submitted(cell)] = cell
            (call,), _ = self.ray.wait([*self.learning, *running], num_returns=1)
            if call in self.learning:
                self._keep_first(self.learning.pop(call), call)
                continue
            cell = running.pop(call)
            try:
                done, peak_bytes = _answer(self.ray.get(call))
            except self.ray.exceptions.RayTaskError:
                raise
            except self.ray.exceptions.RayError as error:
                lost.append(f"{cell.title} ({type(error).__name__})")
                continue
            yield cell, self.bench.keep(cell, done, peak_bytes)
        if lost:
            raise InputError(
                f"{1 + _RETRIES} workers died over {len(lost)} of {len(cells)} cells, such as {lost[0]}; the others "
                "are measured. Give a cell more memory or a larger share of a node, and start the same command again"
            )

    def _submitted(self, cell: Cell) -> Any:
        first = self._first(cell) if cell.method.quirks == NONE else None
        return self.measure.remote(self._order(cell), self.splits, self._encoder(cell), first)

    def _order(self, cell: Cell) -> _Order:
        threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
        return _Order(replace(self.bench, interval=float("inf")), cell, threads, __version__)

    def _encoder(self, cell: Cell) -> Any:
        """Put the files of an encoder into the store; one that has only a name is loaded by it."""
        if cell.encoder not in self.encoders:
            folder = Path(cell.encoder)
            self.encoders[cell.encoder] = self.ray.put(packed(folder)) if folder.is_dir() else None
        return self.encoders[cell.encoder]

    def _first(self, cell: Cell) -> Any:
        """Return the first version of a cell: what an earlier call has learned, or a task that learns it now."""
        folder = self.bench.first_folder(cell)
        if folder not in self.firsts:
            if folder.exists():
                self.firsts[folder] = self.ray.put(packed(folder))
            else:
                self.firsts[folder] = self.learn.remote(self._order(cell), self.splits, self._encoder(cell))
                self.learning[self.firsts[folder]] = folder
        return self.firsts[folder]

    def _keep_first(self, folder: Path, call: Any) -> None:
        """Write a first version beside the cells, for later calls."""
        with contextlib.suppress(self.ray.exceptions.RayError):  # the cells that need it say so
            files = _answer(self.ray.get(call))
            with contextlib.suppress(FileExistsError), new_folder(folder) as scratch:
                write_files(files, scratch)


def _answer(value: Any) -> Any:
    """Return what a task answered; a refusal is raised here, since Ray wraps what is raised there."""
    if isinstance(value, InputError):
        raise value
    return value


@dataclass(frozen=True)
class _Order:
    """What a node is asked for."""

    bench: Bench
    cell: Cell
    threads: int
    """As many as a process of this machine has: with others, sums of floats may differ in their last bits."""
    retainer: str

    @contextlib.contextmanager
    def on_this_node(self, splits: Splits, encoder: Files | None) -> Iterator[tuple[_NodeBench, Cell]]:
        """Give a bench in a temporary folder, and the cell with its encoder there."""
        if self.retainer != __version__:
            raise InputError(f"a node of the cluster has retainer {__version__}, and this machine {self.retainer}")
        import torch

        torch.set_num_threads(self.threads)
        take_splits(self.bench.data, splits)
        with unpacked_folder(encoder or {}) as folder, TemporaryDirectory(prefix="retainer-") as out:
            bench = _NodeBench(self.bench.data, Path(out), self.bench.types, self.bench.device, False, float("inf"))
            yield bench, self.cell if encoder is None else replace(self.cell, encoder=str(folder))


@dataclass(frozen=True)
class _NodeBench(Bench):
    """A bench whose first version came along."""

    def first(self, cell: Cell) -> Version:
        """Load it."""
        return load(self.out / "first", device=self.device)


def _learn_first(order: _Order, splits: Splits, encoder: Files | None) -> Files | InputError:
    """Learn a first version; runs on a node. A refusal is a value, as of all that runs there."""
    try:
        with order.on_this_node(splits, encoder) as (bench, cell):
            bench.learn_first(cell, bench.out / "first")
            return packed(bench.out / "first")
    except InputError as error:
        return error


def _measure(
    order: _Order, splits: Splits, encoder: Files | None, first: Files | InputError | None
) -> tuple[FinishedTasks, int | None] | InputError:
    """Measure a cell; runs on a node."""
    if isinstance(first, InputError):
        return first
    try:
        with order.on_this_node(splits, encoder) as (bench, cell):
            with disk_refusals(bench.out):
                write_files(first or {}, bench.out / "first")
            done, peak_bytes = bench.tasks_done(cell, CellState(bench.out / "unfinished", "", float("inf")))
            return replace(done, version=None), peak_bytes
    except InputError as error:
        return error
