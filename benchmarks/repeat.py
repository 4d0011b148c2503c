"""Learn the same tasks many times with one seed, alone and in company, and compare the weights bit for bit.

    python benchmarks/repeat.py CONLL2003 --out FILE [--alone 5] [--runs 20] [--jobs 10] [--method rdp]

Every run learns the first two tasks of FG-1-PG-1 from the encoder in a process of its own: first ALONE runs one after
the other (only the start of the next process overlaps), then RUNS of them, JOBS at once. The corpus has one sentence of
more than 128 pieces, for which attention has kernels that are not repeatable unless told to be, and batches of more
than 1,024 pieces, for which torch's gradient of embeddings is not. --torch-embeddings leaves that gradient to torch,
and --not-recorded runs kernel by kernel: what the two cost, and what the first one is for.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest import mock

from retainer.bench.preset import preset  # isort: skip (retainer settles the threads before torch starts any)
from filelock import FileLock
from machine import machine

from retainer.data.splits import read_splits
from retainer.data.tasks import plan
from retainer.files import write_text
from retainer.runtime import end_with_parent, shared_gpu
from retainer.training import step
from retainer.training.learn import learn_version
from retainer.training.progress import Progress
from retainer.training.recipe import Recipe
from retainer.training.request import LearnRequest, RunOptions
from retainer.versions.version import load

Run = dict[str, Any]


@dataclass(frozen=True)
class Course:
    """What every run does."""

    data: Path
    method: str
    seed: int
    epochs: int
    device: str
    encoder: str
    torch_embeddings: bool
    not_recorded: bool


class Noted(Progress):
    """Keeps what a run has to say: a fall back to other kernels would be among it."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Keep a note."""
        self.notes.append(text)


def learned(course: Course, turn: Path | None) -> Run:
    """Wait for the ``turn`` of this run, if it is to be alone, and learn."""
    mine: AbstractContextManager[Any] = nullcontext() if turn is None else FileLock(turn)
    with mine:
        return two_tasks(course)


def two_tasks(course: Course) -> Run:
    """Learn the two tasks, and return the fingerprints of both versions and the seconds they took."""
    if course.torch_embeddings:
        mock.patch.object(step, "repeatable_embeddings", lambda device: nullcontext()).start()
    tasks = plan(read_splits(course.data), fg=1, pg=1, seed=course.seed, types=preset("conll2003").types)
    recipe = Recipe(epochs=course.epochs, patience=0, capture=not course.not_recorded)
    version, weights, seconds, noted = load(course.encoder, device=course.device), [], [], Noted()
    for number in (1, 2):
        task, began = tasks.task(number), time.perf_counter()
        request = LearnRequest(
            task.train,
            version,
            method=course.method,
            recipe=recipe,
            seed=course.seed,
            dev=task.dev,
            device=course.device,
        )
        version = learn_version(request, RunOptions(measure=False, progress=noted))
        seconds.append(time.perf_counter() - began)
        weights.append(version.fingerprint)
    return {"weights": weights, "seconds": seconds, "notes": noted.notes}


def runs_alone(course: Course, count: int) -> Iterator[Run]:
    """Make some runs, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        yield from runs(course, count, 2, Path(folder) / "turn")


def runs(course: Course, count: int, jobs: int, turn: Path | None = None) -> Iterator[Run]:
    """Make some runs, each in a fresh process."""
    with shared_gpu(), ProcessPoolExecutor(jobs, get_context("spawn"), end_with_parent, max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(learned, course, turn) for _ in range(count)]):
            yield done.result()


def summary(made: list[Run]) -> Run:
    """Say how many runs ended with the same weights, task by task, and how long they took."""
    by_task = list(zip(*(run["weights"] for run in made), strict=True))
    seconds = list(zip(*(run["seconds"] for run in made), strict=True))
    return {
        "runs": len(made),
        "same": [Counter(task).most_common(1)[0][1] for task in by_task],
        "weights": [Counter(task).most_common(1)[0][0] for task in by_task],
        "seconds": [statistics.fmean(task) for task in seconds],
        "of_each_run": seconds,
        "notes": sorted({note for run in made for note in run["notes"]}),
    }


def main() -> None:
    """Make all runs, write the summary and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--alone", type=int, default=5)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--method", default="rdp")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--encoder", default="builtin")
    parser.add_argument("--torch-embeddings", action="store_true")
    parser.add_argument("--not-recorded", action="store_true")
    options = parser.parse_args()
    course = Course(**{name: getattr(options, name) for name in Course.__dataclass_fields__})
    alone = summary(list(runs_alone(course, options.alone)))
    print("alone", json.dumps(alone), flush=True)
    company = list(runs(course, options.runs, options.jobs))
    document: Run = {
        "machine": machine(),
        "course": {name: str(value) if name == "data" else value for name, value in vars(course).items()},
        "alone": alone,
        "company": {"jobs": options.jobs, **summary(company)} if company else None,
    }
    document["course"]["data"] = options.data.name
    write_text(options.out, json.dumps(document, indent=1) + "\n")
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
