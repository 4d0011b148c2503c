"""Adapters beside full training: F1, time, memory and the size of the stored parent, for one type learned by `retain`.

    python benchmarks/adapters.py --data CONLL2003 --encoder FOLDER --out FILE [--ranks 0,8,16] [--seeds 1,2]
    python benchmarks/adapters.py --show FILE

As `person.py` does it: a first version learns all types but one from sentences drawn by the seed, then `retain` learns
that one from 500 others in which nothing else is annotated. Rank 0 trains the whole encoder. Every run is a process of
its own, so that its peak of memory and its CPU seconds are its own; storing the parent is timed apart. --part dev
scores the dev set, to choose by. Runs that FILE already has are not made again; first versions stay in --work.
"""

import argparse
import json
import os
import random
import resource
import shlex
import shutil
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from retainer.data.corpus import Corpus  # isort: skip (retainer settles the threads first)
from retainer.data.splits import read_splits  # isort: skip (retainer settles the threads first)
from machine import machine
from person import drawn, facts, markdown, mean

from retainer.files import require_writable, write_text
from retainer.model.adapters import FASTER
from retainer.runtime import peak_memory, pick_device, versions
from retainer.training import loop, step
from retainer.training.learn import learn
from retainer.training.recipe import Recipe
from retainer.training.step import TrainingStep
from retainer.versions.lineage import PARENT_FOLDER
from retainer.versions.stored_parent import store_parent
from retainer.versions.version import load

Run = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What is measured for every seed."""

    data: Path
    encoder: str
    work: Path
    new: str
    sentences: int
    first_sentences: int
    first_epochs: int
    epochs: int
    device: str
    part: str

    def corpora(self, seed: int) -> tuple[Corpus, Corpus, Corpus]:
        """Return what the first version learns from, what the new type is annotated in, and what is scored."""
        train, dev, test = read_splits(self.data)
        rest, annotated = drawn(train, self.new, self.sentences, seed)
        rows = sorted(random.Random(seed).sample(range(len(rest)), min(self.first_sentences, len(rest))))
        scored = dev if self.part == "dev" else test
        if scored is None:
            raise SystemExit(f"{self.data} has no {self.part} file")
        return replace(rest, sentences=tuple(rest.sentences[row] for row in rows)), annotated, scored

    def first(self, seed: int) -> Path:
        """Return the folder of a first version."""
        return self.work / f"first-{seed}"


class CountedStep(TrainingStep):
    """A step that is remembered, to count what its optimizer moves."""

    made: list[TrainingStep] = []

    def __init__(self, *args: Any, **options: Any) -> None:
        """Make the step."""
        super().__init__(*args, **options)
        self.made.append(self)


def spent() -> tuple[float, float]:
    """Return the time, and the CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), used.ru_utime + used.ru_stime


def since(before: tuple[float, float]) -> dict[str, float]:
    """Return the seconds that have passed."""
    return {name: now - then for name, now, then in zip(("seconds", "cpu_seconds"), spent(), before, strict=True)}


def peak(device: str) -> int:
    """Return the most bytes held so far: by the GPU if there is one, else by this process."""
    on_gpu = peak_memory(pick_device(device))
    return on_gpu if on_gpu is not None else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def learn_first(plan: Plan, seed: int) -> Run:
    """Learn the first version, where it is not there, and score it."""
    rest, _, scored = plan.corpora(seed)
    if not plan.first(seed).exists():
        recipe = Recipe(epochs=plan.first_epochs)
        learn(rest, plan.encoder, recipe=recipe, seed=seed, device=plan.device, out=plan.first(seed))
    version = load(plan.first(seed), device=plan.device)
    return {"data": facts(rest), "weights": version.fingerprint, "scores": version.evaluate(scored).as_dict()}


def learn_type(plan: Plan, seed: int, rank: int, factor: float) -> Run:
    """Learn the new type, store the parent, and score the result."""
    step.FASTER = factor  # type: ignore[attr-defined]
    loop.TrainingStep = CountedStep  # type: ignore[misc]
    _, annotated, scored = plan.corpora(seed)
    first = load(plan.first(seed), device=plan.device)
    recipe = Recipe(epochs=plan.epochs, adapter_rank=rank)
    with tempfile.TemporaryDirectory(dir=plan.work) as folder:
        out, loaded, began = Path(folder) / "v2", peak(plan.device), spent()
        version = learn(annotated, first, method="retain", recipe=recipe, seed=seed, device=plan.device, out=out)
        learned, most = since(began), peak(plan.device)
        began = spent()
        store_parent(plan.first(seed), out)
        stored = since(began)
        size = (out / PARENT_FOLDER / "model.safetensors.delta").stat().st_size
    return {
        **learned,
        "peak_bytes": most,
        "loaded_bytes": loaded,
        **counted(CountedStep.made[-1]),
        "stored": {**stored, "delta_bytes": size},
        "epochs": len(version.lineage.scores["history"]),
        "losses": version.lineage.scores["history"][-1]["losses"],
        "scores": version.evaluate(scored).as_dict(),
    }


def counted(made: TrainingStep) -> dict[str, int]:
    """Count what the optimizer moved, and the bytes it remembers."""
    moved = [one for group in made.optimizer.param_groups for one in group["params"]]
    kept = [value for state in made.optimizer.state.values() for value in state.values() if hasattr(value, "numel")]
    body = sum(one.numel() for one in made.task.student.body.parameters())
    return {
        "encoder_parameters": body,
        "trained_parameters": sum(one.numel() for one in moved),
        "optimizer_bytes": sum(one.numel() * one.element_size() for one in kept),
    }


def alone(work: Any, *given: Any) -> Run:
    """Do some work in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *given).result()


# ------------------------------------------------------------------------------------------------------------- tables


def table(document: Run) -> str:
    """Write what was measured, rank by rank, means over seeds."""
    old, new = document["old"], document["new"]
    kinds = sorted({(run["rank"], run["factor"]) for run in document["runs"]})
    firsts = {one["seed"]: one["scores"]["per_type"] for one in document["first"]}
    head = [
        "trained",
        "old types",
        f"`{new}`",
        "forgotten",
        "CPU s",
        "s",
        "peak MB",
        "optimizer MB",
        "parameters",
        "delta MB",
    ]
    rows = []
    for rank, factor in kinds:
        runs = [run for run in document["runs"] if (run["rank"], run["factor"]) == (rank, factor)]
        now = [average(run["scores"]["per_type"], old) for run in runs]
        before = [average(firsts[run["seed"]], old) for run in runs]
        rows.append(
            [
                f"adapters of rank {rank}, {factor:g} times as fast" if rank else "everything",
                mean(now),
                mean([run["scores"]["per_type"][new]["f1"] for run in runs]),
                mean([then - score for then, score in zip(before, now, strict=True)]),
                mean([run["cpu_seconds"] for run in runs]),
                mean([run["seconds"] for run in runs]),
                mean([run["peak_bytes"] / 1e6 for run in runs]),
                mean([run["optimizer_bytes"] / 1e6 for run in runs]),
                f"{runs[0]['trained_parameters']:,}",
                mean([run["stored"]["delta_bytes"] / 1e6 for run in runs]),
            ]
        )
    return markdown(head, rows)


def average(scores: Run, types: Sequence[str]) -> float:
    """Return the mean F1 of some types."""
    return sum(scores[type_]["f1"] for type_ in types) / len(types)


# --------------------------------------------------------------------------------------------------------------- call


def command(options: argparse.Namespace) -> str:
    """Write the call that repeats this one; folders lose the places they lie in."""
    given = {name.replace("_", "-"): value for name, value in vars(options).items() if name not in ("show", "work")}
    given |= {"data": options.data.name.upper(), "out": f"results/{options.out.name}"}
    given["encoder"] = Path(options.encoder).name
    return shlex.join(["python", "benchmarks/adapters.py", *(f"--{name}={value}" for name, value in given.items())])


def described(plan: Plan, options: argparse.Namespace) -> Run:
    """Say what is measured, for the file."""
    train, _, _ = read_splits(plan.data)
    return {
        "command": command(options),
        "machine": {**machine(), "versions": versions("peft")},
        "encoder": Path(plan.encoder).name,
        "method": "retain",
        "new": plan.new,
        "old": [type_ for type_ in train.types if type_ != plan.new],
        "scored": plan.part,
    }


def measure(plan: Plan, options: argparse.Namespace) -> Run:
    """Measure what the file does not have yet, and write it after every run."""
    known = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
    document = {**described(plan, options), "first": known.get("first", []), "runs": known.get("runs", [])}
    for seed in [int(seed) for seed in options.seeds.split(",")]:
        if not any(one["seed"] == seed for one in document["first"]):
            document["first"].append({"seed": seed, **alone(learn_first, plan, seed)})
        for rank in [int(rank) for rank in options.ranks.split(",")]:
            kind = {"seed": seed, "rank": rank, "factor": options.factor if rank else 1.0}
            if not any(kind.items() <= run.items() for run in document["runs"]):
                run = {**kind, "load": os.getloadavg()[0], **alone(learn_type, plan, *kind.values())}
                document["runs"].append(run)
                write_text(options.out, json.dumps(document, indent=1) + "\n")
                print(
                    json.dumps({name: run[name] for name in ("seed", "rank", "factor", "cpu_seconds", "scores")}),
                    flush=True,
                )
    return document


def parsed() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with train, dev and test files")
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    parser.add_argument("--show", type=Path, help="print the table of such a file, and measure nothing")
    parser.add_argument("--work", type=Path, help="where first versions stay (default: beside the file)")
    parser.add_argument("--encoder", default="builtin")
    parser.add_argument("--ranks", default="0,8,16", help="0 trains everything")
    parser.add_argument("--factor", type=float, default=FASTER, help="how many times faster adapters learn")
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--new", default="person", help="the type to learn")
    parser.add_argument("--sentences", type=int, default=500, help="how many are annotated with it")
    parser.add_argument("--first-sentences", type=int, default=2000, help="what the first version learns from")
    parser.add_argument("--first-epochs", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=Recipe().epochs)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--part", default="test", choices=("dev", "test"), help="what is scored")
    options = parser.parse_args()
    if not options.show and not (options.data and options.out):
        parser.error("--data and --out are needed, or --show")
    return options


def main() -> None:
    """Measure, write as it goes, and print the table."""
    options = parsed()
    if options.show:
        print(table(json.loads(options.show.read_text(encoding="utf-8"))))
        return
    work = options.work or options.out.with_suffix(".work")
    work.mkdir(parents=True, exist_ok=True)
    if not options.out.exists():
        require_writable(options.out)
    names = ("data", "encoder", "new", "sentences", "first_sentences", "first_epochs", "epochs", "device", "part")
    plan = Plan(work=work, **{name: getattr(options, name) for name in names})
    print(table(measure(plan, options)))
    if options.work is None:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
