"""Bulk tagging by processes of one machine, of which some are killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from foreign import checkpoint, texts

from retainer.cli.main import main

SAMPLE = [text for text, _ in texts(150, 3)]


def rows(out):
    return [json.loads(line) for shard in sorted(Path(out).glob("part-*")) for line in shard.read_text().splitlines()]


def test_processes_and_a_driver_that_are_killed(tmp_path):
    """The command line itself: a worker is killed, then the driver, and a second call goes on."""
    checkpoint(model := tmp_path / "model", "wordpiece", "IOB2", "last", True)
    lines = tmp_path / "in.txt"
    lines.write_text("\n".join(SAMPLE[at % 150] for at in range(9 * 2048)) + "\n")
    command = [sys.executable, "-m", "retainer", "predict", str(model), "--input", str(lines), "--device", "cpu"]
    out = tmp_path / "out"
    driver = subprocess.Popen([*command, "--out", str(out), "--jobs", "2"], stderr=subprocess.DEVNULL)
    until(lambda: list(out.glob("part-*")))
    children = Path(f"/proc/{driver.pid}/task/{driver.pid}/children").read_text().split()
    workers = [one for one in children if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]
    os.kill(int(workers[0]), signal.SIGKILL)
    until(lambda: len(list(out.glob("part-*"))) > 2)
    driver.kill()
    assert driver.wait() == -signal.SIGKILL
    done = len(list(out.glob("part-*")))
    assert main([*command[3:], "--out", str(out), "--jobs", "1"]) == 0
    found = rows(out)
    assert done < 9 == len(list(out.glob("part-*"))) and [row["id"] for row in found] == [
        f"in.txt:{n}" for n in range(1, 9 * 2048 + 1)
    ]
    assert json.loads((out / "manifest.json").read_text())["finished"] == {"texts": 9 * 2048, "shards": 9}


def until(holds, seconds=120):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
