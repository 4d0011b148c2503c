"""Bulk tagging: memory against the number of lines, lines per second by workers, and Ray beside processes.

    python benchmarks/bulk.py --out FILE [--lines 100000,1000000] [--device cpu] [--only memory,workers,ray]
    python benchmarks/bulk.py --out FILE --device cuda --only workers --jobs 1,2,3,4

Lines are generated, the model has a tiny encoder (on a GPU the built-in one), and every run is a call of
`retainer predict --out`. Peaks are the most that the driver and any worker ever held (VmHWM of /proc). The rate is
counted from the moment every worker has written a shard to the last shard, so starting is not in it; ``seconds`` has
everything. ``load`` is the mean over the minute before a run, so it has the run before in it; that other work was
going on shows where the seconds the driver and the workers computed, start included, are far below ``seconds``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from machine import machine
from tiny_encoder import tiny_encoder

POLL = 1.0
"""Seconds between two looks at the memory of all processes."""


def make_model(folder: Path, device: str) -> Path:
    """Teach a tiny encoder two types; on a GPU the built-in one, which is what people would put there."""
    from retainer.data.generated import generate
    from retainer.training.learn import learn
    from retainer.training.recipe import Recipe

    data = generate(400, seed=1, types=["artist", "city"])
    if device == "cpu":
        encoder, recipe = tiny_encoder(folder / "encoder"), Recipe(epochs=6, batch=8, base_lr=5e-3)
    else:
        encoder, recipe = "builtin", Recipe(epochs=6, batch=8)
    learn(data, encoder, recipe=recipe, seed=1, device=device).save(folder / "model")
    return folder / "model"


def make_lines(file: Path, count: int) -> Path:
    """Write generated requests as JSON lines; a number in each makes it a text of its own."""
    from retainer.data.generated import generate

    texts = [" ".join(sentence.words) for sentence in generate(5000, seed=2)]
    with file.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps({"text": f"{texts[at % 5000]} {at}"}) + "\n" for at in range(count))
    return file


def family(process: int) -> set[int]:
    """Return a process and all that descend from it."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found and child not in found}:
        found |= more
    return found


def usage(process: int) -> tuple[bool, float, float]:
    """Return whether a process is a worker, the most memory it ever held, and the seconds it has computed."""
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes()
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    except OSError:
        return False, 0.0, 0.0
    held = next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)
    seconds = sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
    return b"spawn_main" in command or b"ray::_Actor" in command, held / 1024, seconds


def run(model: Path, lines: Path, out: Path, how: list[str], device: str) -> dict[str, Any]:
    """Tag a file and say how long it took and what it held."""
    command = [sys.executable, "-m", "retainer", "predict", str(model), "--input", str(lines), "--out", str(out)]
    load, began = os.getloadavg()[0], time.perf_counter()
    process = subprocess.Popen([*command, *how, "--device", device], stderr=subprocess.PIPE, text=True)
    driver, workers = (0.0, 0.0), dict[int, tuple[float, float]]()
    while process.poll() is None:
        for one in family(process.pid):
            is_worker, *used = usage(one)
            if is_worker:
                workers[one] = (used[0], used[1])
            elif one == process.pid:
                driver = max(driver, (used[0], used[1]))
        time.sleep(POLL)
    seconds, told = time.perf_counter() - began, process.stderr.read() if process.stderr else ""
    if process.returncode:
        raise SystemExit(told)
    return {
        "how": " ".join(how),
        **rate(out, len(workers)),
        "seconds": seconds,
        "driver_mib": driver[0],
        "driver_cpu_seconds": driver[1],
        "worker_mib": max(held for held, _ in workers.values()),
        "worker_cpu_seconds": sum(used for _, used in workers.values()),
        "workers": len(workers),
        "load": load,
    }


def rate(out: Path, workers: int) -> dict[str, Any]:
    """Count the lines of the shards after the first of every worker, by the times they were written."""
    shards = sorted(out.glob("part-*"), key=lambda path: path.stat().st_mtime_ns)
    sizes = [shard.read_bytes().count(b"\n") for shard in shards]
    took = (shards[-1].stat().st_mtime_ns - shards[workers - 1].stat().st_mtime_ns) / 1e9
    return {"lines": sum(sizes), "lines_per_second": sum(sizes[workers:]) / took}


def main() -> None:
    """Measure what is asked for; write after every run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--lines", default="100000,1000000")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="workers,ray,memory")
    parser.add_argument("--jobs", default="1,2", help="how many workers, one run for each")
    options = parser.parse_args()
    few, many = map(int, options.lines.split(","))
    runs = {
        "workers": [(few, ["--jobs", jobs]) for jobs in options.jobs.split(",")],
        "ray": [(few, ["--ray", "local"])],
        "memory": [(many, ["--jobs", "2"]), (many, ["--ray", "local"])],
    }
    command = f"--lines {options.lines} --device {options.device} --only {options.only} --jobs {options.jobs}"
    document: dict[str, Any] = {"command": f"python benchmarks/bulk.py --out FILE {command}", "machine": machine()}
    document |= {"device": options.device, "runs": []}
    with tempfile.TemporaryDirectory() as place:
        model = make_model(Path(place), options.device)
        files = {count: make_lines(Path(place) / f"{count}.jsonl", count) for count in (few, many)}
        for number, (count, how) in enumerate(one for name in options.only.split(",") for one in runs[name]):
            document["runs"].append(run(model, files[count], Path(place) / f"out{number}", how, options.device))
            options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
            print(json.dumps(document["runs"][-1]), flush=True)


if __name__ == "__main__":
    main()
