"""How long a command takes before it does anything: wall-clock seconds of whole processes, the median of five.

python benchmarks/startup.py MODEL --out FILE
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import machine

from retainer.versions.version import load


def seconds(*arguments: str) -> float:
    """Return the median time of a call."""
    times = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "retainer", *arguments], check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        exported = str(load(options.model, device="cpu").export(Path(place) / "int8", int8=True))
        rows = {
            "retainer --help": seconds("--help"),
            "retainer learn --help": seconds("learn", "--help"),
            "retainer predict MODEL TEXT": seconds("predict", options.model, "one short text"),
            "retainer predict ONNX TEXT": seconds("predict", exported, "one short text"),
        }
    for name, value in rows.items():
        print(f"{name:28} {value:.2f} s")
    if options.out:
        Path(options.out).write_text(json.dumps({"machine": machine(), "seconds": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
