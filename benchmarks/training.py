"""Time a method over all tasks of a corpus, from the start of the process to the last score, and where the time goes.

    python benchmarks/training.py DATA --out FILE                       one run
    python benchmarks/training.py DATA --seeds 1,2,3,4 --at-once        several processes on one device
    python benchmarks/training.py DATA --set '{"capture": false, "precision": "full"}'      the plain path
    python benchmarks/training.py DATA --encoder bert-base              random weights in the shape of BERT-base
    python benchmarks/training.py DATA --control 2                      the usual way instead, two epochs per task

DATA is a folder with train, dev and test files. Parts: before (reading, planning), encode, teacher (its one pass over
the slice), steps, dev (every epoch), test (every task), rest (imports, the encoder's weights, bookkeeping). The
control is timed for as many epochs as given; ``setting`` is what that comes to for all epochs of the recipe.
"""

import time

BEGAN = time.time()

import argparse  # noqa: E402
import json  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
from collections import Counter  # noqa: E402
from collections.abc import Callable  # noqa: E402
from contextlib import nullcontext  # noqa: E402
from dataclasses import asdict  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402


class Stopwatch:
    """Adds up the seconds spent in some functions, each by its owner and name."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    def wrap(self, part: str, owner: Any, name: str) -> None:
        """Time a function wherever it is called from; a GPU finishes its work first, before and after."""
        inner: Callable[..., Any] = getattr(owner, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            began = now()
            try:
                return inner(*args, **kwargs)
            finally:
                self.seconds[part] += now() - began

        setattr(owner, name, timed)


def now() -> float:
    """Return the time, once the device has done what it was told."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def one(options: argparse.Namespace) -> dict[str, Any]:
    """Run one seed in this process."""
    from retainer.data.corpus import Splits
    from retainer.data.io import read
    from retainer.data.tasks import plan
    from retainer.training.recipe import RECIPES

    watch = Stopwatch()
    parts = [read(next(Path(options.data).glob(f"{name}.*"))) for name in ("train", "dev", "test")]
    made = plan(Splits(*parts), fg=options.fg, pg=options.pg, seed=options.seed)
    recipe = RECIPES[options.recipe].changed({"batch": 8, "epochs": 10} | json.loads(options.set))
    data = time.time()
    measure = usual if options.control else ours
    result = measure(options, made, recipe, watch)
    total = time.time() - BEGAN
    import torch

    spent = dict(watch.seconds)
    return {
        "seed": options.seed,
        "seconds": total,
        "parts": {**spent, "before": data - BEGAN, "rest": total - (data - BEGAN) - sum(spent.values())},
        "peak_gpu_bytes": torch.cuda.max_memory_allocated() if torch.cuda.is_available() else None,
        **result,
        "recipe": asdict(recipe),
    }


def ours(options: argparse.Namespace, made: Any, recipe: Any, watch: Stopwatch) -> dict[str, Any]:
    """Run retainer's loop."""
    from retainer.bench.result import CellResult
    from retainer.bench.task_sequence import TaskSequence
    from retainer.methods import METHODS
    from retainer.training import loop, prepare
    from retainer.versions import version

    watch.wrap("teacher", prepare, "run_tagger")
    watch.wrap("encode", prepare.Tokenization, "__call__")
    watch.wrap("steps", loop.TrainingLoop, "_run_epoch")
    watch.wrap("dev", loop.TrainingLoop, "_finish_epoch")
    watch.wrap("test", version.Version, "evaluate")
    sequence = TaskSequence(
        made,
        METHODS[options.method],
        encoder=options.folder,
        recipe=recipe,
        seed=options.seed,
        device=options.device,
    )
    rows = [result.task_scores for result in sequence.run()]
    watch.seconds["steps"] -= watch.seconds["dev"]  # an epoch ends with the look at the dev set
    count = sum(-(-len(made.task(n).train) // recipe.batch) for n in range(1, len(made) + 1)) * recipe.epochs
    result = CellResult.measured(options.method, rows, seed=options.seed, encoder=options.encoder).as_dict()
    del result["seconds"]  # of the tasks alone; ours count from the start of the process
    return {**result, "steps": count, "ms_per_step": 1e3 * watch.seconds["steps"] / count}


def usual(options: argparse.Namespace, made: Any, recipe: Any, watch: Stopwatch) -> dict[str, Any]:
    """Run the control."""
    from control import control

    from retainer.runtime import pick_device, versions

    device = str(pick_device(options.device))
    result = control(made, options.folder, recipe, options.seed, device, options.control)
    watch.seconds.update(result.pop("seconds"))
    whole, spent = recipe.epochs / options.control, watch.seconds
    setting = spent["prepare"] + (spent["steps"] + spent["dev"]) * whole + spent["test"]
    return {**result, "setting": setting, "ms_per_step": 1e3 * spent["steps"] / result["steps"], "versions": versions()}


def folder_of(encoder: str, place: str) -> str:
    """Return what to load; bert-base is made here, with random weights."""
    if encoder != "bert-base":
        return encoder
    from transformers import AutoTokenizer, BertConfig, BertModel

    from retainer.model.builtin import builtin_folder

    BertModel(BertConfig()).save_pretrained(place)
    AutoTokenizer.from_pretrained(builtin_folder()).save_pretrained(place)
    return place


def several(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run every seed in a process of its own, one after the other or all at once."""
    from retainer.runtime import shared_gpu

    seeds = options.seeds.split(",")
    with tempfile.TemporaryDirectory() as place, shared_gpu() if options.at_once else nullcontext() as shared:
        folder = folder_of(options.encoder, place)
        files = [Path(place) / f"seed-{seed}.json" for seed in seeds]
        command = [sys.executable, *sys.argv, "--folder", folder]
        began, running = time.time(), []
        for seed, file in zip(seeds, files, strict=True):
            running.append(subprocess.Popen([*command, "--seed", seed, "--child", str(file)]))
            if not options.at_once:
                running[-1].wait()
        failed = any([process.wait() for process in running])
        seconds = time.time() - began
        results = [json.loads(file.read_text()) for file in files if file.exists()]
    print(f"{len(results)} of {len(seeds)} runs, {seconds:.1f} s in all, failed: {failed}, shared GPU: {shared}")
    return [{"at_once": options.at_once, "seconds_of_all": seconds, **result} for result in results]


def main() -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--method", default="rdp")
    parser.add_argument("--encoder", default="builtin")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--at-once", action="store_true")
    parser.add_argument("--fg", type=int, default=1)
    parser.add_argument("--pg", type=int, default=1)
    parser.add_argument("--recipe", default="retainer")
    parser.add_argument("--set", default="{}", help="JSON of recipe fields to change")
    parser.add_argument("--control", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out")
    for hidden in ("--child", "--folder"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        Path(options.child).write_text(json.dumps(one(options)))
        return
    if missing := [name for name in ("train", "dev", "test") if not list(Path(options.data).glob(f"{name}.*"))]:
        sys.exit(f"{options.data} has no file {missing[0]}.*")
    results = several(options)
    for result in results:
        parts = " ".join(f"{name} {seconds:.1f}" for name, seconds in result["parts"].items())
        print(f"seed {result['seed']}: {result['seconds']:.1f} s ({parts}), {result['ms_per_step']:.2f} ms per step")
        print(
            f"  average F1 {result['average']}" if "average" in result else f"  all epochs: {result['setting']:.0f} s"
        )
    if options.out:
        from machine import machine

        kept = {name: value for name, value in vars(options).items() if value and name not in ("data", "out")}
        document = {"machine": machine(), "arguments": kept, "runs": results}
        Path(options.out).write_text(json.dumps(document, indent=1) + "\n")
    if len(results) < len(options.seeds.split(",")):
        sys.exit(1)


if __name__ == "__main__":
    main()
