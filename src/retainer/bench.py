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

from retainer.cells import Cell, finished, save, save_gold
from retainer.corpora import read_parts
from retainer.errors import InputError
from retainer.learning import learn
from retainer.preset import Setting
from retainer.quirks import NONE
from retainer.sequence import Step, cell, run
from retainer.sharing import shared_gpu
from retainer.tasks import Plan, plan
from retainer.version import Version, load

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Bench:
    """Where the data lie, where the cells go, and on what they are measured."""

    data: Path
    out: Path
    types: tuple[str, ...]
    device: str = "auto"
    rerun: bool = False

    def plan(self, one: Cell) -> Plan:
        """Return the tasks of a cell."""
        return _plan(self.data, self.types, one.setting, one.seed, one.method.quirks.lost_last)

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
                learn(task.train, start, dev=task.dev, recipe=one.recipe, seed=one.seed, device=self.device, out=folder)
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
            if done := self.finished(one):
                return done
            first = None if one.method.quirks != NONE else self._first_step(one, made)
            steps = list(
                run(
                    made,
                    one.method,
                    encoder=one.encoder,
                    recipe=one.recipe,
                    seed=one.seed,
                    device=self.device,
                    first=first,
                    look=True,
                )
            )
            document = _document(one, steps, one.key(made))
            save(file, document, [step.spans for step in steps])
        return document

    def _first_step(self, one: Cell, made: Plan) -> Step:
        base = self.first(one)
        spent = sum(epoch["seconds"] for epoch in base.lineage.scores["history"])
        return Step.after(made.task(1), base, spent, dev=made.dev_so_far(1))


def _document(one: Cell, steps: Sequence[Step], key: str) -> dict[str, Any]:
    measured = cell(one.name, steps, seed=one.seed, encoder=one.encoder)
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


def run_bench(bench: Bench, cells: Sequence[Cell], jobs: int, tell: Tell) -> list[dict[str, Any]]:
    """Measure what is missing, and return all cells in their order."""
    known = {one: bench.finished(one) for one in cells}
    missing = [one for one in cells if known[one] is None]
    tell(f"{len(cells)} cells, {len(cells) - len(missing)} measured before")
    bench.keep_gold(cells)
    began = time.monotonic()
    for number, (one, document) in enumerate(_measured(bench, missing, jobs), 1):
        known[one] = document
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


def _learn_base(bench: Bench, one: Cell) -> None:
    bench.first(one)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
