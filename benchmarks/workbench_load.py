"""What teaching costs those who ask: 16 clients at once, first with an idle workbench, then while a job runs.

    python benchmarks/workbench_load.py MODEL --data ANNOTATED --out FILE [--seconds 30] [--clients 16]

A project gets the annotated data (`retainer project import`) and MODEL; the server is `retainer serve --workbench` as
anybody would start it, with the clients on the same cores. Each client asks for one text after the other. The job
teaches for many epochs, so that it lasts longer than the clients do, and is cancelled.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2
from machine import machine

from retainer.data.io import read
from retainer.files import write_text

TOKEN = "the-token-of-the-measurement"
HERE = Path(__file__).parent


def asked(address: str, file: Path, options: argparse.Namespace) -> dict[str, float]:
    """Let clients loose in a process of their own, and sum up."""
    call = [sys.executable, str(HERE / "clients.py"), address, str(file), "--token", TOKEN]
    call += ["--clients", str(options.clients), "--seconds", str(options.seconds)]
    found = json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
    times = {f"{name}_ms": 1e3 * found["latency"][name] for name in ("p50", "p99")}
    return {**{name: found[name] for name in ("answers", "errors", "lost", "per_second")}, **times}


def measured(address: str, file: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure without a job, with one, and without one again."""
    with httpx2.Client(base_url=f"{address}/v1/project", headers={"Authorization": f"Bearer {TOKEN}"}) as author:
        asked(address, file, options)  # the first answers are slower
        before = asked(address, file, options)
        request = {"epochs": 200, "who": "the measurement"}
        job = author.post("/teach", json=request).raise_for_status().json()["job"]["id"]
        while author.get(f"/jobs/{job}/events", params={"after": 0}).text.count('"epoch"') < 1:
            time.sleep(1)
        beside = asked(address, file, options)
        author.post(f"/jobs/{job}/cancel", json={"who": "the measurement"}).raise_for_status()
        time.sleep(5)
        after = asked(address, file, options)
    idle = statistics.fmean([before["p99_ms"], after["p99_ms"]])
    return {"idle": before, "teaching": beside, "idle again": after, "p99 times": beside["p99_ms"] / idle}


def main() -> None:
    """Serve a project, measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--clients", type=int, default=16)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder, token, file = (Path(scratch, name) for name in ("project", "token", "texts.txt"))
        token.write_text(TOKEN)
        token.chmod(0o600)
        file.write_text("\n".join(sentence.located()[0] for sentence in read(options.data)), encoding="utf-8")
        program = [sys.executable, "-m", "retainer"]
        subprocess.run([*program, "project", "import", str(folder), str(options.data)], check=True)
        call = [*program, "serve", "--workbench", str(folder), options.model, "--token-file", str(token)]
        with subprocess.Popen([*call, "--port", "0", "--device", "cpu"], stderr=subprocess.PIPE, text=True) as server:
            try:
                assert server.stderr is not None
                said = next(found for line in server.stderr if (found := re.search(r"on (http://[\d.:]+),", line)))
                found = measured(said[1], file, options)
            finally:
                server.terminate()
    document = {"clients": options.clients, "seconds": options.seconds, "machine": machine(), **found}
    write_text(options.out, json.dumps(document, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
