"""A bench: cells that are missing are measured, in several processes; first versions are learned once and shared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from filelock import FileLock

from retainer.bench.cell import Cell, finished, pack, save, save_gold
from retainer.bench.preset import Setting
from retainer.bench.resume import CellState, FinishedTasks
from retainer.bench.task_sequence import Step, cell, run
from retainer.data.splits import read_parts
from retainer.data.tasks import Plan, plan
from retainer.errors import InputError
from retainer.model.quirks import NONE
from retainer.runtime import peak_memory, pick_device, shared_gpu
from retainer.training.learn import learn
from retainer.versions.version import Version, load

Tell = Callable[[str], None]
Show = Callable[[Cell, dict[str, Any]], None]


@dataclass(frozen=True)
class Bench:
    """Where the data lie, where the cells go, and on what they are measured."""

    data: Path
    out: Path
    types: tuple[str, ...]
    device: str = "auto"
    rerun: bool = False
    interval: float = 60.0
    """Seconds between two states of an unfinished cell, at least: what a killed bench may lose."""

    def plan(self, one: Cell) -> Plan:
        """Return the tasks of a cell."""
        types = one.setting.types or self.types
        return _plan(self.data, types, one.setting, one.seed, one.method.quirks.lost_last)

    def finished(self, one: Cell) -> dict[str, Any] | None:
        """Return a cell that need not be measured again."""
        if self.rerun:
            return None
        return finished(one.file(self.out), one.key(self.plan(one)))

    def first(self, one: Cell) -> Version:
        """Return the first version of a cell; whoever comes first learns it, everybody else waits and loads it."""
        made = self.plan(one)
        folder = self.out / "bases" / one.base_key(made)[:32]
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_suffix(".lock")):
            if not folder.exists():
                start, task = load(one.encoder, device=self.device, head=one.recipe.head), made.task(1)
                learn(
                    task.train,
                    start,
                    dev=task.dev,
                    recipe=one.recipe,
                    seed=one.seed,
                    device=self.device,
                    out=folder,
                    measured=False,
                )
        return load(folder, device=self.device)

    def keep_gold(self, cells: Sequence[Cell]) -> None:
        """Write the entities of the whole test set beside the cells: what their spans are judged by later."""
        for name, one in {one.preset: one for one in cells}.items():
            self.plan(one)  # refuses data without a test file
            save_gold(self.out / name, _parts(self.data)[2])

    def measure(self, one: Cell) -> dict[str, Any]:
        """Measure a cell and write it."""
        made, file = self.plan(one), one.file(self.out)
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(file.with_suffix(".lock")):
            if known := self.finished(one):
                return known
            state = CellState(self.out / "unfinished" / one.key(made)[:32], one.key(made), self.interval)
            if self.rerun:
                state.remove()
            peak_memory(pick_device(self.device), begin=True)
            done = state.load(self.device)
            for step in self._steps(one, made, done, state.folder):
                done.rows.append(step.as_dict())
                done.found.append(pack(step.spans))
                done.version = step.version
                if one.method.quirks == NONE:  # the defects of released code have no place in a saved version
                    state.save(done)
            document = _document(one, done.rows, one.key(made)) | {"peak_bytes": peak_memory(pick_device(self.device))}
            save(file, document, done.found)
            state.remove()
        return document

    def _steps(self, one: Cell, made: Plan, done: FinishedTasks, partial: Path) -> Iterator[Step]:
        """Learn the tasks of a cell that are not done; a shared first version takes the place of the first."""
        fresh = not done.rows and one.method.quirks == NONE
        return run(
            made,
            one.method,
            encoder=one.encoder,
            recipe=one.recipe,
            seed=one.seed,
            device=self.device,
            first=self._first_step(one, made) if fresh else None,
            done=len(done.rows),
            version=done.version,
            partial=partial,
            interval=self.interval,
            look=True,
        )

    def _first_step(self, one: Cell, made: Plan) -> Step:
        base = self.first(one)
        spent = sum(epoch["seconds"] for epoch in base.lineage.scores["history"])
        return Step.after(made.task(1), base, spent, dev=made.dev_so_far(1))


def _document(one: Cell, rows: Sequence[dict[str, Any]], key: str) -> dict[str, Any]:
    measured = cell(one.name, rows, seed=one.seed, encoder=one.encoder)
    recipe = asdict(one.recipe)
    head = {"preset": one.preset, "setting": one.setting.name, "variant": one.variant}
    return {**head, **measured, "recipe": recipe, "fields": asdict(one.method), "key": key}


@lru_cache(maxsize=64)
def _plan(data: Path, types: tuple[str, ...], setting: Setting, seed: int, lost_last: bool) -> Plan:
    train, dev, test = _parts(data)
    if dev is None or test is None:
        raise InputError(f"{data} has no {'dev' if dev is None else 'test'} file; a bench needs train, dev and test")
    parts = [replace(part, sentences=part.sentences[: -1 if lost_last else None]) for part in (train, dev, test)]
    return plan(*parts, fg=setting.fg, pg=setting.pg, seed=seed, types=types)


@lru_cache(maxsize=1)
def _parts(data: Path) -> Any:
    return read_parts(data)


def run_bench(
    bench: Bench, cells: Sequence[Cell], jobs: int, tell: Tell, show: Show | None = None
) -> list[dict[str, Any]]:
    """Measure what is missing, and return all cells in their order; ``show`` is given every cell that is there."""
    show = show or (lambda *_: None)
    known = {one: bench.finished(one) for one in cells}
    for one, found in known.items():
        if found is not None:
            show(one, found)
    missing = sorted((one for one in cells if known[one] is None), key=_long_ones_first)
    tell(f"{len(cells)} cells, {len(cells) - len(missing)} measured before")
    bench.keep_gold(cells)
    began = time.monotonic()
    for number, (one, document) in enumerate(_measured(bench, missing, jobs), 1):
        known[one] = document
        show(one, document)
        scores = f"micro {document['average']['micro']:.2f} macro {document['average']['macro']:.2f}"
        left = (time.monotonic() - began) / number * (len(missing) - number)
        tell(
            f"[{number}/{len(missing)}] {one.title}: {scores}, {document['seconds']:.0f} s; about {_minutes(left)} left"
        )
    return [document for document in known.values() if document is not None]


def _measured(bench: Bench, missing: Sequence[Cell], jobs: int) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """Yield cells as they are finished. First versions go first, so that nobody waits for them later."""
    if jobs == 1 or len(missing) == 1:
        yield from ((one, bench.measure(one)) for one in missing)
        return
    with shared_gpu(), ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        try:
            bases = {one.base_key(bench.plan(one)): one for one in missing if one.method.quirks == NONE}
            for learned in as_completed([pool.submit(_learn_base, bench, one) for one in bases.values()]):
                learned.result()
            running: dict[Future[dict[str, Any]], Cell] = {pool.submit(bench.measure, one): one for one in missing}
            for done in as_completed(running):
                yield running[done], done.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)  # what waits is not begun; a later call measures it
            raise


def _long_ones_first(one: Cell) -> tuple[bool, bool]:
    """Begin with what takes long, so that nobody waits for a straggler; the rest stays in its order."""
    return one.method.quirks == NONE, not one.method.joint


def _learn_base(bench: Bench, one: Cell) -> None:
    bench.first(one)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
