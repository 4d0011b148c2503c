"""`retainer learn` of one new type as a user calls it, with several methods and several seeds.

    python benchmarks/learning.py DATA --out FILE [--methods retain,rdp,retain:epochs=7] [--seeds 1,2,3] [--scored test]

DATA is a folder with train, dev and test files. A first version learns the first type from 1,500 sentences; then the
last type is learned from 500 in which only it is annotated, and both are scored on a third of the test set. Numbers are
chosen on the dev set (`--scored dev`). A method may have fields, its own or the recipe's. Seconds are of the whole
process of the second `learn`, start-up included; CPU seconds are those its threads worked, which a busy machine changes
less.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from retainer.data.corpus import Splits
from retainer.data.io import read, write
from retainer.data.tasks import hide, plan


def call(*arguments: str) -> str:
    """Call retainer as a user does, and return what it prints."""
    command = [sys.executable, "-m", "retainer", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def prepare(data: Path, place: Path, device: str, scored: str) -> None:
    """Write the files, and learn the first version."""
    parts = [read(next(data.glob(f"{name}.*"))) for name in ("train", "dev", "test")]
    made = plan(Splits(*parts), fg=1, pg=1, seed=1)
    first, last = made.task(1), made.task(len(made))
    given = parts[2].sentences[::3] if scored == "test" else parts[1].sentences
    test = hide(replace(parts[2], sentences=given), [*first.new, *last.new])
    for name, corpus in (
        ("first", replace(first.train, sentences=first.train.sentences[:1500])),
        ("last", replace(last.train, sentences=last.train.sentences[:500])),
        ("scored", test),
    ):
        write(corpus, place / name, "conll")
    base = str(place / "base")
    call("learn", str(place / "first"), "--from", "builtin", "--out", base, "--epochs", "5", "--device", device)


def one(place: Path, seed: str, spec: str, device: str) -> dict[str, Any]:
    """Learn the last type with a method and score what was written."""
    name, *fields = spec.split(":")
    out = place / f"{seed}-{spec.replace(':', '-')}"
    settings = [part for field in fields for part in (f"--set.{field.partition('=')[0]}", field.partition("=")[2])]
    start = ["learn", str(place / "last"), "--from", str(place / "base"), "--out", str(out), "--seed", seed]
    began, worked = time.perf_counter(), _worked()
    call(*start, "--method", name, "--device", device, *settings)
    seconds, worked = time.perf_counter() - began, _worked() - worked
    scores = json.loads(call("evaluate", str(out), str(place / "scored"), "--json", "--device", device))
    record = json.loads((out / "retainer.json").read_text())
    epochs, kept = len(record["scores"]["history"]), record["scores"]["epoch"]
    means = {mean: scores[mean] for mean in ("micro", "macro", "old_macro", "new_macro")}
    times = {"seconds": seconds, "cpu_seconds": worked}
    row = {"method": spec, "seed": int(seed), **times, "epochs": epochs, "kept_epoch": kept, **means}
    print(" ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    return {**row, "data": record["data"], "recipe": record["recipe"]}


def _worked() -> float:
    """Return the CPU seconds of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--methods", default="retain,rdp", help="methods, each METHOD[:FIELD=VALUE]...")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--scored", default="test", choices=("test", "dev"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        prepare(options.data, place, options.device, options.scored)
        rows = [
            one(place, seed, spec, options.device)
            for seed in options.seeds.split(",")
            for spec in options.methods.split(",")
        ]
    if options.out:
        from machine import machine

        Path(options.out).write_text(
            json.dumps({"scored": options.scored, "machine": machine(), "runs": rows}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
