"""`retainer learn` of one new type as a user calls it, with early stop and with all epochs, over several seeds.

    python benchmarks/learning.py MODEL DATA TEST --out FILE [--seeds 1,2,3] [--device cpu]

MODEL knows some types, in DATA only a new one is annotated, TEST has all of them. Seconds are those of the whole
process, start-up included.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def one(options: argparse.Namespace, seed: str, way: dict[str, str], place: Path) -> dict[str, Any]:
    """Call the command and score what it wrote."""
    out = place / f"{seed}-{len(way)}"
    learn = [sys.executable, "-m", "retainer", "learn", options.data, "--from", options.model, "--out", str(out)]
    began = time.perf_counter()
    settings = [part for name, value in way.items() for part in (f"--set.{name}", value)]
    subprocess.run([*learn, "--seed", seed, "--device", options.device, *settings], check=True, capture_output=True)
    seconds = time.perf_counter() - began
    evaluate = [sys.executable, "-m", "retainer", "evaluate", str(out), options.test, "--json"]
    scores = json.loads(subprocess.run(evaluate, check=True, capture_output=True).stdout)
    record = json.loads((out / "retainer.json").read_text())
    epochs, kept = len(record["scores"]["history"]), record["scores"]["epoch"]
    means = {name: scores[name] for name in ("micro", "macro", "old_macro", "new_macro")}
    row = {"seed": int(seed), "set": way, "seconds": seconds, "epochs": epochs, "kept_epoch": kept, **means}
    print(" ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    return {**row, "data": record["data"], "recipe": record["recipe"]}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "data", "test"):
        parser.add_argument(name)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out")
    options = parser.parse_args()
    ways: list[dict[str, str]] = [{}, {"patience": "0"}]
    with tempfile.TemporaryDirectory() as place:
        rows = [one(options, seed, way, Path(place)) for seed in options.seeds.split(",") for way in ways]
    if options.out:
        from machine import machine

        Path(options.out).write_text(json.dumps({"machine": machine(), "runs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
