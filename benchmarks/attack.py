"""Attack everything that reads, writes or answers, and prove in one table that it holds.

    python benchmarks/attack.py [--quick] [--only http,kill] [--out results/attack.json]

Runs the programs below, each in a process of its own and two at a time, and shows the last lines of each. What measures
slopes needs quiet and comes last, alone. All of it takes at most an hour on two cores; `--quick` at most three minutes,
without slopes. The exit status is 1 if one of them fails.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from machine import machine

HERE = Path(__file__).parent
PROGRAMS = {
    "data": ("attack_data.py", "bad data files through the readers and the verbs"),
    "versions": ("attack_versions.py", "damaged version folders through verify, load and the verbs"),
    "pipelines": ("attack_pipelines.py", "damaged pipelines of spaCy that carry a version"),
    "kill": ("attack_kill.py", "kill -9 of learn at random moments, started again"),
    "events": ("attack_events.py", "kill -9 of every verb that writes, at its file events"),
    "http": ("attack_http.py", "clients that are slow, silent, many, or lie"),
    "project": ("attack_project.py", "clients of a workbench that lie, write at once, follow in crowds"),
    "label-studio": (
        "attack_label_studio.py",
        "an ML backend with forged webhooks, bad configs and annotations that lie",
    ),
    "serving": ("attack_serving.py", "a server under load, with swaps, damage and kills"),
    "slopes": ("slopes.py", "time against size, for every reader and check"),
}
"""What is attacked, by name: the program and what it does; those that take longest come first."""
NEEDS_QUIET = ("slopes",)
"""What measures time, and so runs alone."""
TAIL = 3_000
"""How much of what a program says is kept."""


def run_alone(call: list[str]) -> tuple[int, str]:
    """Run a program, end whatever it has left running, and return its status and what it said.

    It writes to a file: a server that outlives a program that failed would keep a pipe open for ever.
    """
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen(call, stdout=said, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        said.seek(0)
        return status, said.read()


def attacked(name: str, quick: bool) -> dict[str, Any]:
    """Run one program, pass on what it says, and return what became of it."""
    program, what = PROGRAMS[name]
    began = time.perf_counter()
    status, said = run_alone([sys.executable, str(HERE / program), *(["--quick"] if quick else [])])
    print(f"\n== {name}: {what}\n{said[-TAIL:]}", end="", flush=True)
    return {
        "attack": name,
        "what": what,
        "passed": status == 0,
        "seconds": round(time.perf_counter() - began, 1),
        "said": said[-TAIL:].splitlines(),
    }


def main() -> int:
    """Attack, print the table and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", help=f"some of {','.join(PROGRAMS)}")
    parser.add_argument("--out")
    options = parser.parse_args()
    usual = [name for name in PROGRAMS if not options.quick or name not in NEEDS_QUIET]
    names = options.only.split(",") if options.only else usual
    if unknown := [name for name in names if name not in PROGRAMS]:
        parser.error(f"no attack is called {unknown[0]!r}; there are {', '.join(PROGRAMS)}")
    rows = []
    for alone in (False, True):
        with ThreadPoolExecutor(1 if alone else 2) as pool:
            group = [name for name in names if (name in NEEDS_QUIET) == alone]
            rows += pool.map(lambda name: attacked(name, options.quick), group)
    print("\nattack       result  seconds")
    for row in rows:
        print(f"{row['attack']:12} {'passed' if row['passed'] else 'FAILED':7} {row['seconds']:7.0f}  {row['what']}")
    if options.out:
        document = {"quick": options.quick, "machine": machine(), "attacks": rows}
        Path(options.out).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row["passed"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
