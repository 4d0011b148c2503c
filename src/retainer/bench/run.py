"""A bench: cells that are missing are measured, in several processes; first versions are learned once and shared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

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
from retainer.runtime import end_with_parent, peak_memory, pick_device, shared_gpu
from retainer.training.learn import learn_version
from retainer.training.request import LearnRequest, RunOptions
from retainer.versions.version import Version, load

FIRST_METHOD = "rdp"
"""The method a shared first version is recorded with; a first task is plain cross-entropy whatever the method."""


NamedColumns = tuple[tuple[str, str], ...]
"""What a column holds, and its name."""


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
    columns: NamedColumns = ()
    """The columns that the user named, where the data are tables."""

    def plan(self, cell: Cell) -> Plan:
        """Return the tasks of a cell."""
        types = cell.setting.types or self.types
        return _plan((self.data, self.columns), types, cell.setting, cell.seed, cell.method.quirks.lost_last, cell.pool)

    def first_folder(self, cell: Cell) -> Path:
        """Return the place of the first version of a cell."""
        return self.out / "bases" / cell.base_key(self.plan(cell))[:32]

    def finished(self, cell: Cell) -> CellResult | None:
        """Return a cell that need not be measured again."""
        return None if self.rerun else finished_result(cell.file(self.out), cell.key(self.plan(cell)))

    def first(self, cell: Cell) -> Version:
        """Return the first version of a cell; the first process that needs it learns it, the others load it."""
        folder = self.first_folder(cell)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_suffix(".lock")):
            if not folder.exists():
                self.learn_first(cell, folder)
        return load(folder, device=self.device)

    def learn_first(self, cell: Cell, folder: Path) -> None:
        """Learn the first version of a cell."""
        start, task = load(cell.encoder, device=self.device, head=cell.recipe.head), self.plan(cell).task(1)
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

    def keep_gold(self, cells: Sequence[Cell]) -> None:
        """Write the entities of the whole test set beside the cells: what their spans are scored by later."""
        for name, cell in {cell.preset: cell for cell in cells}.items():
            self.plan(cell)  # refuses data without a test file
            save_gold(self.out / name, splits_of(self.data, self.columns).test or ())

    def measure(self, cell: Cell) -> CellResult:
        """Measure a cell and write it."""
        tasks, file = self.plan(cell), cell.file(self.out)
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(file.with_suffix(".lock")):
            if known := self.finished(cell):
                return known
            state = self.state(cell, cell.key(tasks))
            if self.rerun:
                state.remove()
            done, peak_bytes = self.tasks_done(cell, state)
            return self.keep(cell, done, peak_bytes)

    def state(self, cell: Cell, key: str) -> CellState:
        """Return where the state of an unfinished cell is kept."""
        return CellState(self.out / "unfinished" / key[:32], key, self.interval)

    def tasks_done(self, cell: Cell, state: CellState) -> tuple[FinishedTasks, int | None]:
        """Learn the tasks of a cell that its state has not finished; return all of them, and the peak of memory."""
        peak_memory(pick_device(self.device), begin=True)
        done = state.load(self.device)
        for result in self._results(cell, self.plan(cell), done, state.folder):
            done.add(result.task_scores, pack(result.spans), result.version)
            if cell.method.quirks == NONE:  # the defects of released code have no place in a saved version
                state.save(done)
        return done, peak_memory(pick_device(self.device))

    def keep(self, cell: Cell, done: FinishedTasks, peak_bytes: int | None) -> CellResult:
        """Write a cell whose tasks are all done, and forget its state."""
        key = cell.key(self.plan(cell))
        measured = _result(cell, done, key, peak_bytes)
        save_result(cell.file(self.out), measured, done.found)
        self.state(cell, key).remove()
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
def _plan(
    given: tuple[Path, NamedColumns],
    types: tuple[str, ...],
    setting: Setting,
    seed: int,
    lost_last: bool,
    pool: float,
) -> Plan:
    train, dev, test = splits_of(*given)
    if dev is None or test is None:
        raise InputError(
            f"{given[0]} has no {'dev' if dev is None else 'test'} file; a bench needs train, dev and test"
        )
    parts = [replace(part, sentences=part.sentences[: -1 if lost_last else None]) for part in (train, dev, test)]
    return plan(Splits(*parts), fg=setting.fg, pg=setting.pg, seed=seed, types=types, pool=pool)


@lru_cache(maxsize=1)
def splits_of(data: Path, columns: NamedColumns = ()) -> Splits:
    """Return the splits of a corpus, which is read once."""
    return _SENT.get(data) or read_splits(data, dict(columns))


_SENT: dict[Path, Splits] = {}
"""Corpora that came from elsewhere, by the path they have there: this machine need not hold their files."""


def take_splits(data: Path, splits: Splits) -> None:
    """Use splits that were read elsewhere wherever this path is asked for."""
    if data not in _SENT:
        _SENT.clear()
        _SENT[data] = splits
        splits_of.cache_clear()
        _plan.cache_clear()


MeasureCells = Callable[[Bench, Sequence[Cell]], Iterator[tuple[Cell, CellResult]]]
"""Measures cells somewhere, writes them, and yields each when it is finished."""


def run_bench(
    bench: Bench, cells: Sequence[Cell], jobs: int, progress: BenchProgress, measure: MeasureCells | None = None
) -> list[CellResult]:
    """Measure what is missing, in processes of this machine unless told where; return all cells in their order."""
    known = {cell: bench.finished(cell) for cell in cells}
    for cell, result in known.items():
        if result is not None:
            progress.cell(cell, result)
    missing = sorted((cell for cell in cells if known[cell] is None), key=_long_ones_first)
    progress.note(f"{len(cells)} cells, {len(cells) - len(missing)} measured before")
    bench.keep_gold(cells)
    began = time.monotonic()
    found = _measured(bench, missing, jobs) if measure is None or not missing else measure(bench, missing)
    for number, (cell, measured) in enumerate(found, 1):
        known[cell] = measured
        progress.cell(cell, measured)
        progress.measured(cell, measured)
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
    with shared_gpu(), ProcessPoolExecutor(jobs, get_context("spawn"), end_with_parent) as pool:
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
