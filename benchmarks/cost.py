"""What a method costs: time per step, memory, and what is done before the first step, beside plain fine-tuning.

    python benchmarks/cost.py --out FILE [--device cuda] [--sentences 500] [--epochs 1] [--methods rdp,cfner]

Every method is a process of its own: a version that knows four types learns one more. On a GPU the peak is what torch
allocated, on a CPU the most the process ever held. Beside other work compare CPU seconds, those of the whole `learn`,
with one thread (OMP_NUM_THREADS=1): two threads count the time in which one waits for the other.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

KNOWN = ["artist", "movie", "restaurant", "song"]


def one(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Learn one type with a method and say what it took."""
    from retainer.data.generated import generate  # isort: skip
    import torch
    from machine import machine

    from retainer.data.tasks import hide
    from retainer.training.learn import learn
    from retainer.training.recipe import Recipe
    from retainer.versions.version import load

    recipe = Recipe(batch=8, epochs=options.epochs, holdout=0, patience=0, select="last")
    base = load(options.base, device=options.device)
    corpus = hide(generate(options.sentences, seed=2), ["city"])
    began, worked = time.perf_counter(), time.process_time()
    version = learn(corpus, base, method=name, recipe=recipe, device=options.device)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - worked
    epoch = version.lineage.scores["history"][-1]["seconds"]
    gpu = torch.cuda.max_memory_allocated() if base.tagger.device.type == "cuda" else None
    return {
        "method": name,
        "ms_per_step": 1e3 * epoch / -(-len(corpus) // recipe.batch),
        "seconds_beside_steps": seconds - sum(row["seconds"] for row in version.lineage.scores["history"]),
        "cpu_seconds": cpu_seconds,
        "peak_bytes": gpu or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "machine": machine(),
    }


def prepare(options: argparse.Namespace) -> None:
    """Make the version all methods start from; it keeps a language model for the one that wants it."""
    from retainer.data.generated import generate  # isort: skip
    from retainer.data.tasks import hide
    from retainer.training.learn import learn
    from retainer.training.recipe import Recipe

    corpus = hide(generate(options.sentences, seed=1), KNOWN)
    recipe = Recipe(epochs=1, holdout=0)
    learn(corpus, "builtin", method="learn_and_review", recipe=recipe, device=options.device, out=options.base)


def main() -> None:
    """Run all methods, each by itself, and write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--methods", default="")
    parser.add_argument("--base", help=argparse.SUPPRESS)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one(options.one, options)))
        return
    from retainer.methods import METHODS

    names = options.methods.split(",") if options.methods else _worth_a_row(METHODS)
    with tempfile.TemporaryDirectory() as folder:
        options.base = str(Path(folder) / "base")
        prepare(options)
        rows = [_apart(name, sys.argv[1:], options.base) for name in names]
    document = {"arguments": {"sentences": options.sentences, "epochs": options.epochs}, "machine": rows[0]["machine"]}
    document["methods"] = [{key: value for key, value in row.items() if key != "machine"} for row in rows]
    if options.out:
        options.out.write_text(json.dumps(document, indent=1) + "\n")


def _worth_a_row(methods: dict[str, Any]) -> list[str]:
    """Leave out what costs the same as another: ablations, and what is for the bench alone."""
    return [name for name, one in methods.items() if not name.startswith(("rdp-", "rdp_", "retain-")) and not one.joint]


def _apart(name: str, arguments: list[str], base: str) -> dict[str, Any]:
    call = [sys.executable, __file__, *arguments, "--base", base, "--one", name]
    row: dict[str, Any] = json.loads(subprocess.run(call, capture_output=True, check=True, text=True).stdout)
    print(f"{name:18} {row['ms_per_step']:7.2f} ms per step, {row['seconds_beside_steps']:5.1f} s beside, "
          f"{row['cpu_seconds']:5.1f} CPU s, {row['peak_bytes'] / 2**20:6.0f} MiB", flush=True)  # fmt: skip
    return row


if __name__ == "__main__":
    main()
