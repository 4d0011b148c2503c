"""How many cells of a bench a machine finishes per minute, by the number of processes that share it.

    python benchmarks/jobs.py PRESET DATA --out FILE [--jobs 1,4,8,12] [--methods rdp] [--setting FG-1-PG-1]

Every count measures as many cells as it has processes (times --rounds), each with a seed of its own and so with a first
version of its own. Minutes are those of the whole call of `retainer bench`, start-up and tables included; nothing is
shared between calls. FILE is written after every count.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from machine import machine


def bench(options: argparse.Namespace, jobs: int) -> dict[str, Any]:
    """Measure fresh cells with some processes, as a user calls it."""
    seeds = ",".join(str(seed) for seed in range(1, jobs * options.rounds + 1))
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "retainer", "bench", options.preset, "--data", str(options.data), "--out", out]
        command += ["--setting", options.setting, "--methods", options.methods, "--encoder", options.encoder]
        command += ["--seeds", seeds, "--jobs", str(jobs), "--device", options.device, "--json"]
        began = time.perf_counter()
        told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        seconds = time.perf_counter() - began
    return row(jobs, seconds, [cell["seconds"] for cell in json.loads(told)])


def row(jobs: int, seconds: float, cells: list[float]) -> dict[str, Any]:
    """Say how much was done in how much time."""
    return {
        "jobs": jobs,
        "cells": len(cells),
        "seconds": seconds,
        "cells_per_minute": 60 * len(cells) / seconds,
        "seconds_of_a_cell": sum(cells) / len(cells),
    }


def main() -> None:
    """Measure every count, write as it goes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset")
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", default="1,4,8,12")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--methods", default="rdp")
    parser.add_argument("--setting", default="FG-1-PG-1")
    parser.add_argument("--encoder", default="builtin")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    what = {name: getattr(options, name) for name in ("preset", "setting", "methods", "rounds")}
    document = {**what, "encoder": Path(options.encoder).name, "machine": machine(), "rows": []}
    for jobs in map(int, options.jobs.split(",")):
        document["rows"].append(bench(options, jobs))
        options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(json.dumps(document["rows"][-1]), flush=True)


if __name__ == "__main__":
    main()
