"""A server under load: 64 clients at once, a version swapped in the middle, beside one request at a time.

    python benchmarks/serving.py OLD NEW --seconds 60 --out FILE [--data TEXTS] [--cores 2] [--workers 2]
    python benchmarks/serving.py OLD NEW --pairs 3 --seconds 20 --workers 2 --out FILE

OLD and NEW are folders of versions. The server is `retainer serve` as anybody would start it, on a link that points to
OLD and, half way through, to NEW. The clients run in a process of their own (benchmarks/clients.py), on the same cores.
In the same run, before and after the load, the same model answers one text at a time: in Python without a server
(`version.predict(text)`), and over HTTP with a single client. Ratios are the server's answers per second over these.
No request may be lost and none may be answered by anything but 200; the exit status says so. Seconds of the processor
per answer, of the server and of the clients, say what an answer costs, however busy the machine is with other things.
With --pairs, only the load is measured, by turns with one process and with workers, in balanced order (1 2 2 1 1 2 …).
"""

import argparse
import json
import os
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from importlib.metadata import version as package
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def one_at_a_time(model: str, texts: list[str], seconds: float) -> dict[str, float]:
    """Predict one text after the other in this process and return how many there were per second."""
    from retainer.versions.version import load

    tagger = load(model, device="cpu")
    tagger.predict(texts[:64])
    began, times = time.perf_counter(), []
    while time.perf_counter() - began < seconds:
        start = time.perf_counter()
        tagger.predict(texts[len(times) % len(texts)])
        times.append(time.perf_counter() - start)
    return {"answers": len(times), "per_second": len(times) / sum(times), "p50": statistics.median(times)}


def aside(model: str, file: Path, seconds: float) -> dict[str, float]:
    """Do the same in a fresh process, which then gives its cores back."""
    call = [sys.executable, __file__, "--alone", model, str(file), str(seconds)]
    made: dict[str, float] = json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
    return made


def clients(address: str, file: Path, count: int, seconds: float) -> subprocess.Popen[str]:
    """Let clients loose."""
    call = [sys.executable, str(HERE / "clients.py"), address, str(file), "--clients", str(count)]
    return subprocess.Popen([*call, "--seconds", str(seconds)], stdout=subprocess.PIPE, text=True)


def outcome(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for the clients and return what they met, and what they took of the processor."""
    said, _ = process.communicate()
    if process.returncode:
        raise SystemExit("the clients failed")
    found: dict[str, Any] = json.loads(said)
    return found


def family(pid: int) -> list[int]:
    """Return a process and all that it started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in family(int(child)))]


def cpu_seconds(pid: int) -> float:
    """Return what a process and all that it started have taken of the processor."""
    ticks = 0
    for one in family(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Server:
    """`retainer serve` in a process of its own, on a link to a version."""

    def __init__(self, link: Path, workers: int = 1) -> None:
        """Start it and wait for its address."""
        call = [sys.executable, "-m", "retainer", "serve", str(link), "--port", "0", "--device", "cpu"]
        call += ["--workers", str(workers)] if workers > 1 else []
        self.process = subprocess.Popen(call, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr
        found, self.said = None, ""
        while not found and (line := self.process.stderr.readline()):
            self.said += line
            found = re.search(r"http://[0-9.:]+", line)
        if not found:
            raise SystemExit(f"the server did not start: {self.said}")
        self.address = found[0]

    def metrics(self) -> dict[str, float]:
        """Return the samples of /metrics."""
        with urllib.request.urlopen(f"{self.address}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}

    def stop(self) -> int:
        """End it the way a supervisor does."""
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()
        return self.process.returncode


def repoint(link: Path, target: str) -> None:
    """Let a link point elsewhere, in one step."""
    beside = link.with_name("next")
    beside.symlink_to(Path(target).resolve())
    os.replace(beside, link)


def loaded(server: Server, link: Path, new: str, file: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Put the server under load and swap the version half way."""
    before, spent = server.metrics(), cpu_seconds(server.process.pid)
    process = clients(server.address, file, options.clients, options.seconds)
    time.sleep(options.seconds / 2)
    repoint(link, new)
    server.process.send_signal(signal.SIGHUP)
    found = outcome(process)
    after, spent = server.metrics(), cpu_seconds(server.process.pid) - spent
    return {
        **found,
        "server_cpu_seconds": spent,
        "cpu_ms_per_answer": {
            "server": 1000 * spent / found["answers"],
            "clients": 1000 * found["client_cpu_seconds"] / found["answers"],
        },
        "swaps": int(_sum(after, "retainer_reloads_total", "swapped")),
        "texts_per_batch": _grown(before, after, "retainer_batch_texts_sum")
        / _grown(before, after, "retainer_batch_texts_count"),
    }


def _sum(books: dict[str, float], name: str, label: str = "") -> float:
    return sum(value for sample, value in books.items() if sample.startswith(name) and label in sample)


def _grown(before: dict[str, float], after: dict[str, float], name: str) -> float:
    return _sum(after, name) - _sum(before, name)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Make all measurements of a run."""
    with tempfile.TemporaryDirectory() as place:
        file, link = Path(place) / "texts.txt", Path(place) / "current"
        texts = _texts(options.data)
        file.write_text("\n".join(texts) + "\n", encoding="utf-8")
        link.symlink_to(Path(options.old).resolve())
        part = max(3.0, options.seconds / 6)
        alone = [aside(options.old, file, part)]
        server = Server(link, options.workers)
        outcome(clients(server.address, file, options.clients, 2.0))
        single = [outcome(clients(server.address, file, 1, part))]
        load = loaded(server, link, options.new, file, options)
        single.append(outcome(clients(server.address, file, 1, part)))
        status = server.stop()
        alone.append(aside(options.new, file, part))
    python, http = (statistics.mean(one["per_second"] for one in ways) for ways in (alone, single))
    return {
        "texts": len(texts),
        "characters_per_text": statistics.mean(map(len, texts)),
        "one_at_a_time": {"python": alone, "http": single},
        "load": load,
        "ratio_to_python": load["per_second"] / python,
        "ratio_to_http": load["per_second"] / http,
        "exit_status": status,
    }


def by_turns(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the load alone, by turns with one process and with workers; either comes first equally often."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        file, link = Path(place) / "texts.txt", Path(place) / "current"
        texts = _texts(options.data)
        file.write_text("\n".join(texts) + "\n", encoding="utf-8")
        link.symlink_to(Path(options.old).resolve())
        for pair in range(options.pairs):
            for workers in (1, options.workers)[:: -1 if pair % 2 else 1]:
                repoint(link, options.old)
                server = Server(link, workers)
                outcome(clients(server.address, file, options.clients, 2.0))
                load = loaded(server, link, options.new, file, options)
                rows.append({"workers": workers, **load, "exit_status": server.stop()})
                print(_line(rows[-1]), flush=True)
    means = {
        str(workers): statistics.mean(row["per_second"] for row in rows if row["workers"] == workers)
        for workers in (1, options.workers)
    }
    return {"texts": len(texts), "characters_per_text": statistics.mean(map(len, texts)), "mean": means, "rows": rows}


def _line(row: dict[str, Any]) -> str:
    cost, wait = row["cpu_ms_per_answer"], row["latency"]
    said = f"{row['workers']} workers  {row['per_second']:.0f} per second, p50 {1000 * wait['p50']:.0f} ms, "
    said += f"p99 {1000 * wait['p99']:.0f} ms, {row['texts_per_batch']:.0f} texts per batch, "
    said += f"{cost['server']:.2f} + {cost['clients']:.2f} ms of processor per answer"
    return f"{said}, errors {row['errors']}, lost {row['lost']}"


def whole(load: dict[str, Any]) -> bool:
    """Say whether all requests were answered, by the old version and then by the new one."""
    return not load["errors"] and not load["lost"] and load["swaps"] == 1 and len(load["versions"]) == 2


def _texts(data: str | None) -> list[str]:
    if data:
        lines = Path(data).read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line.strip()]
    from retainer.data.generated import generate

    return [" ".join(sentence.words) for sentence in generate(2000, seed=7)]


def tell(found: dict[str, Any]) -> None:
    """Print what matters."""
    load = found["load"]
    for way, rows in found["one_at_a_time"].items():
        print(f"one at a time, {way:6}  {', then '.join(format(row['per_second'], '.0f') for row in rows)} per second")
    wait = {name: f"{1000 * seconds:.0f} ms" for name, seconds in load["latency"].items()}
    print(f"{load['clients']} clients at once      {load['per_second']:.0f} per second")
    print(f"p50, p90, p99, max    {', '.join(wait.values())}")
    print(f"texts per batch       {load['texts_per_batch']:.1f}")
    cost = {name: f"{spent:.2f} ms" for name, spent in load["cpu_ms_per_answer"].items()}
    print(f"processor per answer  {', '.join(f'{name} {spent}' for name, spent in cost.items())}")
    print(f"errors {load['errors']}, lost {load['lost']}, versions swapped {load['swaps']}")
    print(f"ratio {found['ratio_to_python']:.2f} to Python, {found['ratio_to_http']:.2f} to HTTP")


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--data", help="a file with one text per line (default: generated requests)")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--pairs", type=int, help="measure only the load, so often with one process and with workers")
    parser.add_argument("--out")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    found = by_turns(options) if options.pairs else measure(options)
    from machine import machine

    if not options.pairs:
        tell(found)
    if options.out:
        # folders lose the places they lie in
        words = [Path(word).name if Path(word).is_absolute() else word for word in sys.argv[1:]]
        command = shlex.join(["python", "benchmarks/serving.py", *words])
        software = {name: package(name) for name in ("fastapi", "starlette", "uvicorn", "h11")}
        document = {"command": command, "machine": machine(), "software": software, **found}
        Path(options.out).write_text(json.dumps(document, indent=1) + "\n")
    return 0 if all(map(whole, found["rows"] if options.pairs else [found["load"]])) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        model, lines, duration = sys.argv[2:5]
        print(json.dumps(one_at_a_time(model, Path(lines).read_text(encoding="utf-8").splitlines(), float(duration))))
    else:
        sys.exit(main())
