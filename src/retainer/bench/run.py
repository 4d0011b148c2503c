"""A bench: cells that are missing are measured, in several processes; first versions are learned once and shared."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from filelock import FileLock

from retainer.bench.cell import Cell, finished_result, pack, save_gold, save_result
from retainer.bench.preset import Setting
from retainer.bench.progress import BenchProgress, StderrWarnings
from retainer.bench.result import CellResult
from retainer.bench.resume import CellState, FinishedTasks
from retainer.bench.task_sequence import TaskResult, TaskSequence
from retainer.data.corpus import Splits
from retainer.data.splits import read_splits
from retainer.data.tasks import Plan, plan
from retainer.errors import InputError
from retainer.model.quirks import NONE
from retainer.runtime import peak_memory, pick_device, shared_gpu
from retainer.training.learn import learn_version
from retainer.training.request import LearnRequest, RunOptions
from retainer.versions.version import Version, load

FIRST_METHOD = "rdp"
"""The method a shared first version is recorded with; a first task is plain cross-entropy whatever the method."""


@dataclass(frozen=True)
class Bench:
    """Where the data are, where the cells go, and on what they are measured."""

    data: Path
    out: Path
    types: tuple[str, ...]
    device: str = "auto"
    rerun: bool = False
    interval: float = 60.0
    """Seconds between two states of an unfinished cell, at least: what a killed bench may lose."""

    def plan(self, cell: Cell) -> Plan:
        """Return the tasks of a cell."""
        types = cell.setting.types or self.types
        return _plan(self.data, types, cell.setting, cell.seed, cell.method.quirks.lost_last, cell.pool)

    def finished(self, cell: Cell) -> CellResult | None:
        """Return a cell that need not be measured again."""
        return None if self.rerun else finished_result(cell.file(self.out), cell.key(self.plan(cell)))

    def first(self, cell: Cell) -> Version:
        """Return the first version of a cell; the first process that needs it learns it, the others load it."""
        tasks = self.plan(cell)
        folder = self.out / "bases" / cell.base_key(tasks)[:32]
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_suffix(".lock")):
            if not folder.exists():
                start, task = load(cell.encoder, device=self.device, head=cell.recipe.head), tasks.task(1)
                request = LearnRequest(
                    task.train,
                    start,
                    method=FIRST_METHOD,
                    recipe=cell.recipe,
                    seed=cell.seed,
                    dev=task.dev,
                    device=self.device,
                )
                learn_version(request, RunOptions(out=folder, measure=False))
        return load(folder, device=self.device)

    def keep_gold(self, cells: Sequence[Cell]) -> None:
        """Write the entities of the whole test set beside the cells: what their spans are scored by later."""
        for name, cell in {cell.preset: cell for cell in cells}.items():
            self.plan(cell)  # refuses data without a test file
            save_gold(self.out / name, _parts(self.data)[2])

    def measure(self, cell: Cell) -> CellResult:
        """Measure a cell and write it."""
        tasks, file = self.plan(cell), cell.file(self.out)
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(file.with_suffix(".lock")):
            if known := self.finished(cell):
                return known
            key = cell.key(tasks)
            state = CellState(self.out / "unfinished" / key[:32], key, self.interval)
            if self.rerun:
                state.remove()
            peak_memory(pick_device(self.device), begin=True)
            done = state.load(self.device)
            for result in self._results(cell, tasks, done, state.folder):
                done.add(result.task_scores, pack(result.spans), result.version)
                if cell.method.quirks == NONE:  # the defects of released code have no place in a saved version
                    state.save(done)
            measured = _result(cell, done, key, peak_memory(pick_device(self.device)))
            save_result(file, measured, done.found)
            state.remove()
        return measured

    def _results(self, cell: Cell, tasks: Plan, done: FinishedTasks, state: Path) -> Iterator[TaskResult]:
        """Learn the tasks of a cell that are not done; a shared first version takes the place of the first."""
        sequence = TaskSequence(
            tasks,
            cell.method,
            encoder=cell.encoder,
            recipe=cell.recipe,
            seed=cell.seed,
            device=self.device,
            thorough=True,
            options=RunOptions(state_folder=state, checkpoint_seconds=self.interval, progress=StderrWarnings()),
        )
        fresh = not done.rows and cell.method.quirks == NONE
        first = self._first_result(cell, tasks) if fresh else None
        return sequence.run(first, finished=len(done.rows), version=done.version)

    def _first_result(self, cell: Cell, tasks: Plan) -> TaskResult:
        base = self.first(cell)
        spent = sum(epoch["seconds"] for epoch in base.lineage.scores["history"])
        return TaskResult.after(tasks.task(1), base, spent, dev=tasks.dev_so_far(1))


def _result(cell: Cell, done: FinishedTasks, key: str, peak_bytes: int | None) -> CellResult:
    """Sum a measured cell up."""
    measured = CellResult.measured(cell.name, done.rows, seed=cell.seed, encoder=cell.encoder)
    return replace(
        measured,
        preset=cell.preset,
        setting=cell.setting.name,
        variant=cell.variant,
        recipe=asdict(cell.recipe),
        fields=asdict(cell.method),
        key=key,
        peak_bytes=peak_bytes,
        pool=cell.pool,
    )


@lru_cache(maxsize=64)
def _plan(data: Path, types: tuple[str, ...], setting: Setting, seed: int, lost_last: bool, pool: float) -> Plan:
    train, dev, test = _parts(data)
    if dev is None or test is None:
        raise InputError(f"{data} has no {'dev' if dev is None else 'test'} file; a bench needs train, dev and test")
    parts = [replace(part, sentences=part.sentences[: -1 if lost_last else None]) for part in (train, dev, test)]
    return plan(Splits(*parts), fg=setting.fg, pg=setting.pg, seed=seed, types=types, pool=pool)


@lru_cache(maxsize=1)
def _parts(data: Path) -> Any:
    return read_splits(data)


def run_bench(bench: Bench, cells: Sequence[Cell], jobs: int, progress: BenchProgress) -> list[CellResult]:
    """Measure what is missing, and return all cells in their order."""
    known = {cell: bench.finished(cell) for cell in cells}
    for cell, result in known.items():
        if result is not None:
            progress.cell(cell, result)
    missing = sorted((cell for cell in cells if known[cell] is None), key=_long_ones_first)
    progress.note(f"{len(cells)} cells, {len(cells) - len(missing)} measured before")
    bench.keep_gold(cells)
    began = time.monotonic()
    for number, (cell, measured) in enumerate(_measured(bench, missing, jobs), 1):
        known[cell] = measured
        progress.cell(cell, measured)
        scores = f"micro {measured.average['micro']:.2f} macro {measured.average['macro']:.2f}"
        left = (time.monotonic() - began) / number * (len(missing) - number)
        progress.note(
            f"[{number}/{len(missing)}] {cell.title}: {scores}, {measured.seconds:.0f} s; about {_minutes(left)} left"
        )
    return [result for result in known.values() if result is not None]


def _measured(bench: Bench, missing: Sequence[Cell], jobs: int) -> Iterator[tuple[Cell, CellResult]]:
    """Yield cells as they are finished. First versions go first, so that no process waits for them later."""
    if jobs == 1 or len(missing) == 1:
        yield from ((cell, bench.measure(cell)) for cell in missing)
        return
    with shared_gpu(), ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        try:
            bases = {cell.base_key(bench.plan(cell)): cell for cell in missing if cell.method.quirks == NONE}
            for learned in as_completed([pool.submit(_learn_base, bench, cell) for cell in bases.values()]):
                learned.result()
            running: dict[Future[CellResult], Cell] = {pool.submit(bench.measure, cell): cell for cell in missing}
            for done in as_completed(running):
                yield running[done], done.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)  # what waits is not begun; a later call measures it
            raise


def _long_ones_first(cell: Cell) -> tuple[bool, bool]:
    """Begin with what takes long, so that the end does not wait for a straggler; the rest stays in its order."""
    return cell.method.quirks == NONE, not cell.method.joint


def _learn_base(bench: Bench, cell: Cell) -> None:
    bench.first(cell)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
