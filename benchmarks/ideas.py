r"""Ideas, most of them not in the product: each tried beside `retain` on the same tasks and seeds, and judged on dev.

    python benchmarks/ideas.py --data DATA --out FILE --jobs 12 --seeds 1,2,3 \
        --case conll2003:FG-1-PG-1 --case wnut17:FG-1-PG-1 --case fewnerd:FG-8-PG-2 \
        --tried retain,retain:swap_share=0.5,retain+mean-of-epochs,retain+half-origin,retain+origin
    python benchmarks/ideas.py --data DATA --out FILE --device cpu \
        --case conll2003:500 --case fewnerd:500 --case wnut17:500 --case snips:500 \
        --tried retain,retain:swap_share=0.5,retain:look_weight=0:swap_share=0.5,retain+mean-of-epochs
    python benchmarks/ideas.py --show FILE

DATA has a folder for every preset. A case is a setting of a preset, with a dev set to choose epochs and offsets on; or
a number of sentences from which the last type, or the one behind an @, is learned by a model that has learned all
others from 3,000. These are of the type's own slice, so nearly all of them have it; with r behind the number they are
drawn from all that the model has not seen. There is no dev set, but with d, and no text, but with t: 2,000 sentences of
what neither the model has seen nor the task. What is tried is a method, with fields of its own or of the recipe after
colons, and at most one idea after a plus:

mean-of-epochs  a version is the mean of the weights of its best epoch and the two before it, or of its last three where
                no epoch is chosen
origin          an old type's score comes from the version that learned it, not from the last one
half-origin     the mean of the two
sharp           the teacher's scores are doubled before they become probabilities

The first is what the others are compared with.
"""

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Self
from unittest import mock

from retainer.bench.preset import preset  # isort: skip (retainer settles the threads before torch starts any)
import torch
from choose import standard_error, variant
from filelock import FileLock
from machine import machine
from torch import nn

from retainer.bench.task_sequence import TaskResult, TaskSequence
from retainer.data.corpus import Corpus
from retainer.data.splits import read_splits
from retainer.data.tasks import Plan, hide, plan
from retainer.files import write_text
from retainer.methods.retain import Retain
from retainer.model.adapters import load_learned
from retainer.model.batches import Encoded
from retainer.model.predict import run_tagger
from retainer.model.tagger_output import TaggerOutput
from retainer.runtime import end_with_parent, shared_gpu
from retainer.training import loop, prepare
from retainer.training.early_stopping import EarlyStopping, Tensors, cloned, learned_state
from retainer.training.learn import learn_version
from retainer.training.recipe import Recipe
from retainer.training.request import LearnRequest, RunOptions
from retainer.versions.version import Version, load

Run = dict[str, Any]
Versions = list[Version]
"""The versions so far, oldest first."""
WINDOW = 3
"""Epochs whose weights are averaged."""
TEMPERATURE = 0.5
"""What a teacher's scores are divided by where it is to be surer."""
BASE = 3000
"""Sentences the other types are learned from, where one is learned alone."""
TEXT = 2000
"""Sentences without annotation, where there is text."""


@dataclass
class MeanOfEpochs(EarlyStopping):
    """Keeps the mean of the best epoch and those just before it."""

    latest: list[Tensors] = field(default_factory=list)

    def update(self, epoch: int, score: float | None, student: nn.Module) -> bool:
        """Keep the weights of every epoch for a while; the best epoch is found as usual."""
        self.latest = [*self.latest[1 - WINDOW :], cloned(learned_state(student))]
        better = super().update(epoch, score, student)
        if better:
            self.weights = mean(self.latest)
        return better

    def restore(self, student: nn.Module) -> None:
        """Go to the mean; where no epoch was chosen, to that of the last ones."""
        if self.latest:
            load_learned(student, self.weights or mean(self.latest))


def mean(states: Sequence[Tensors]) -> Tensors:
    """Return the mean of some weights; of what is counted, the last."""
    last = states[-1]
    return {
        name: torch.stack([one[name] for one in states]).mean(0) if tensor.is_floating_point() else tensor
        for name, tensor in last.items()
    }


def mean_of_epochs(versions: Versions) -> AbstractContextManager[Any]:
    """Average epochs."""
    return mock.patch.object(loop, "EarlyStopping", MeanOfEpochs)


@contextmanager
def origin(versions: Versions, share: float = 1.0) -> Iterator[None]:
    """Let the versions that learned them score the old types, beside or instead of the last version."""
    slices: list[Encoded] = []

    def seen(tagger: Any, encoded: Encoded, *, hidden: bool = False) -> TaggerOutput:
        slices[:] = [encoded]
        return run_tagger(tagger, encoded, hidden=hidden)

    def informed(output: TaggerOutput, impossible: Any) -> TaggerOutput:
        if len(versions) < 2:
            return usual(output, impossible)
        return usual(replace(output, logits=_of_origins(output.logits, versions, slices[0], share)), impossible)

    usual = prepare._informed
    with mock.patch.object(prepare, "run_tagger", seen), mock.patch.object(prepare, "_informed", informed):
        yield


def _of_origins(logits: torch.Tensor, versions: Versions, slice_: Encoded, share: float) -> torch.Tensor:
    """Mix into a teacher's scores those of earlier versions for the types they learned, both seen from O."""
    mixed, teacher = logits.clone(), versions[-1].tagger
    outside, bias = teacher.labels.outside, teacher.head.bias()
    known: set[str] = set()
    for version in versions[:-1]:
        tagger = version.tagger
        rows = list(tagger.labels.of([type_ for type_ in version.types if type_ not in known]))
        known |= set(version.types)
        own = run_tagger(tagger, slice_).logits
        corrected = bias[rows] - tagger.head.bias()[rows]  # offsets that later versions have found
        theirs = own[:, rows] - own[:, [tagger.labels.outside]] + corrected + logits[:, [outside]]
        mixed[:, rows] = torch.lerp(logits[:, rows], theirs, share)
    return mixed


def half_origin(versions: Versions) -> AbstractContextManager[Any]:
    """Let the versions that learned them have a say about the old types."""
    return origin(versions, 0.5)


@contextmanager
def sharp(versions: Versions) -> Iterator[None]:
    """Let the teacher speak more surely than it is: what it is half sure of, a student says less often still."""

    def losses(self: Retain, student: Any, teacher: TaggerOutput, *rest: Any) -> Any:
        return usual(self, student, replace(teacher, logits=teacher.logits / TEMPERATURE), *rest)

    usual = Retain.losses
    with mock.patch.object(Retain, "losses", losses):
        yield


IDEAS: dict[str, Callable[[Versions], AbstractContextManager[Any]]] = {
    "": lambda versions: nullcontext(),
    "mean-of-epochs": mean_of_epochs,
    "origin": origin,
    "half-origin": half_origin,
    "sharp": sharp,
}


@dataclass(frozen=True)
class OneType:
    """One type learned by a model that knows the others: from how many sentences, which, and what else there is."""

    corpus: Path
    sentences: int
    drawn: bool
    dev: bool
    text: bool
    type: str

    @classmethod
    def parse(cls, corpus: Path, words: str) -> Self:
        """Read a case, such as 500dt@misc."""
        few, _, type_ = words.partition("@")
        count = few.rstrip("rdt")
        marks = few.removeprefix(count)
        return cls(corpus, int(count), "r" in marks, "d" in marks, "t" in marks, type_ or cls.types(corpus)[-1])

    @staticmethod
    def types(corpus: Path) -> tuple[str, ...]:
        """Return the types of a corpus."""
        known = preset(corpus.name)
        return known.setting(min(known.settings)).types or known.types

    def tasks(self, seed: int) -> Plan:
        """Cut the corpus into two tasks: all other types, and this one."""
        others = [type_ for type_ in self.types(self.corpus) if type_ != self.type]
        return plan(read_splits(self.corpus), fg=len(others), pg=1, seed=seed, types=(*others, self.type))

    def given(self, tasks: Plan, seed: int) -> tuple[Corpus, Corpus | None]:
        """Return the annotated sentences, and the text beside them."""
        picked, train = tasks.slices[1], tasks.train
        rows = [*tasks.slices[0][BASE:], *picked]
        random.Random(seed).shuffle(rows)
        few = rows[: self.sentences] if self.drawn else list(picked[: self.sentences])
        rest = sorted(set(rows) - set(few))
        text = random.Random(seed).sample(rest, min(TEXT, len(rest))) if self.text else None
        annotated = hide(replace(train, sentences=tuple(train[row] for row in few)), (self.type,))
        return annotated, text and replace(train, sentences=tuple(train[row] for row in text))


def measured(data: Path, bases: Path, case: str, tried: str, seed: int, device: str) -> Run:
    """Learn the tasks of a case with what is tried, and keep how every version scores."""
    name, setting = case.split(":")
    spec, _, idea = tried.partition("+")
    versions: Versions = []
    scores = []
    with IDEAS[idea](versions):
        if setting[0].isdecimal():
            results = one_type(OneType.parse(data / name, setting), spec, seed, device, bases)
        else:
            results = sequence(data / name, setting, spec, seed, device)
        for result in results:
            versions.append(result.version)
            scores.append(result.task_scores.as_dict())
    return {"case": case, "tried": tried, "seed": seed, "tasks": scores}


def sequence(data: Path, setting: str, spec: str, seed: int, device: str) -> Iterator[TaskResult]:
    """Learn the tasks of a setting."""
    known = preset(data.name)
    cutting = known.setting(setting)
    _, method, recipe = variant(spec, Recipe(epochs=cutting.epochs))
    recipe = recipe.resolved(method.prior_correction)
    types = cutting.types or known.types
    tasks = plan(read_splits(data), fg=cutting.fg, pg=cutting.pg, seed=seed, types=types)
    yield from TaskSequence(tasks, method, recipe=recipe, seed=seed, device=device, thorough=True).run()


def one_type(case: OneType, spec: str, seed: int, device: str, bases: Path) -> Iterator[TaskResult]:
    """Learn one type; what knows the others is made once."""
    tasks = case.tasks(seed)
    task, (_, method, recipe) = tasks.task(2), variant(spec, Recipe(prior="auto" if case.dev or case.text else "none"))
    start = base(case, tasks, seed, device, bases)
    few, text = case.given(tasks, seed)
    how = {"method": method, "recipe": recipe, "seed": seed, "dev": task.dev if case.dev else None, "text": text}
    began = time.process_time()
    version = learn_version(LearnRequest(few, start, **how, device=device), RunOptions(measure=False))
    yield TaskResult.after(task, version, time.process_time() - began, tasks.dev_so_far(2))


def base(case: OneType, tasks: Plan, seed: int, device: str, bases: Path) -> Version:
    """Return a version that knows all types but one; the first process that needs it makes it."""
    place = bases / f"{case.corpus.name}-{case.type}-{seed}"
    place.parent.mkdir(exist_ok=True)
    with FileLock(place.with_suffix(".lock")):
        if not place.exists():
            first = replace(tasks.task(1).train, sentences=tasks.task(1).train.sentences[:BASE])
            request = LearnRequest(
                first, load("builtin", device=device), recipe=Recipe(epochs=5), seed=seed, device=device
            )
            learn_version(request, RunOptions(out=place, measure=False))
    return load(place, device=device)


def mean_of(run: Run, part: str, name: str) -> float:
    """Return a score of the dev or the test set, averaged over tasks (over those that have it)."""
    scores = [task["dev"] if part == "dev" else task for task in run["tasks"]]
    return statistics.fmean(one[name] for one in scores if one[name] is not None)


def table(runs: Sequence[Run]) -> str:
    """Write macro F1 on dev and test, old and new types on dev, and the paired differences from the first."""
    lines = ["| case | tried | seeds | dev | apart | old, dev | new, dev | test | apart |", "| --- " * 9 + "|"]
    order = list(dict.fromkeys(run["tried"] for run in runs))
    for case in dict.fromkeys(run["case"] for run in runs):
        by_seed = {(run["tried"], run["seed"]): run for run in runs if run["case"] == case}
        for tried in order:
            own = {seed: run for (name, seed), run in by_seed.items() if name == tried}
            if own:
                lines.append(f"| {case} | {tried} | {len(own)} | {_row(own, by_seed, order[0])} |")
    return "\n".join(lines)


def _row(own: dict[int, Run], by_seed: dict[tuple[str, int], Run], first: str) -> str:
    cells = []
    for part in ("dev", "test"):
        scores = {seed: mean_of(run, part, "macro") for seed, run in own.items()}
        apart = [
            score - mean_of(by_seed[first, seed], part, "macro")
            for seed, score in scores.items()
            if (first, seed) in by_seed
        ]
        gain = f"{statistics.fmean(apart):+.2f} ± {standard_error(apart):.2f}" if apart else ""
        cells += [f"{statistics.fmean(scores.values()):.2f}", gain]
        if part == "dev":
            cells += [
                f"{statistics.fmean(mean_of(run, 'dev', name) for run in own.values()):.2f}"
                for name in ("old_macro", "new_macro")
            ]
    return " | ".join(cells)


def main() -> None:
    """Measure what is missing, write as it goes, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", type=Path)
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--tried", default="retain")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--bases", type=Path, help="keep the models that know the other types here, for another call")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if options.show:
        print(table(json.loads(options.show.read_text(encoding="utf-8"))["runs"]))
        return
    cells = [
        (case, tried, int(seed))
        for seed in options.seeds.split(",")
        for tried in options.tried.split(",")
        for case in options.case
    ]
    runs: list[Run] = []
    bases = options.bases or Path(tempfile.mkdtemp())
    with shared_gpu(), ProcessPoolExecutor(options.jobs, get_context("spawn"), end_with_parent) as pool:
        waiting = [pool.submit(measured, options.data, bases, *cell, options.device) for cell in cells]
        for done in as_completed(waiting):
            runs.append(done.result())
            runs.sort(key=lambda run: cells.index((run["case"], run["tried"], run["seed"])))
            write_text(options.out, json.dumps({"machine": machine(), "runs": runs}, indent=1) + "\n")
    print(table(runs))


if __name__ == "__main__":
    main()
