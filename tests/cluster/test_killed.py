"""Bulk tagging by processes of one machine, of which some are killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from foreign import checkpoint, texts

from retainer.cli.main import main

SAMPLE = [text for text, _ in texts(150, 3)]
RETAINER = [sys.executable, "-m", "retainer"]


DIES = """
import os, signal, sys
replace = os.replace
def dies(source, target):
    if "part-00000002" in str(target):
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)
os.replace = dies
from retainer.cli.main import main
main(sys.argv[1:])
"""
"""The command line, killed when its third shard is written and has no name yet."""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return checkpoint(tmp_path_factory.mktemp("killed") / "model", "wordpiece", "IOB2", "last", True)


def call(model, folder, texts):
    """Write so many texts; return the arguments that tag them."""
    lines = folder / "in.txt"
    lines.write_text("\n".join(SAMPLE[at % 150] for at in range(texts)) + "\n")
    return ["predict", str(model), "--input", str(lines), "--device", "cpu", "--out"]


def content(out):
    return {path.name: path.read_bytes() for path in Path(out).iterdir() if path.name != ".lock"}


def rows(out):
    return [json.loads(line) for shard in sorted(Path(out).glob("part-*")) for line in shard.read_text().splitlines()]


def test_processes_and_a_driver_that_are_killed(model, tmp_path):
    """The command line itself: a worker is killed, then the driver, and a second call goes on."""
    command, out = call(model, tmp_path, 9 * 2048), tmp_path / "out"
    assert main([*command, str(tmp_path / "whole"), "--jobs", "1"]) == 0
    driver = subprocess.Popen([*RETAINER, *command, str(out), "--jobs", "2"], stderr=subprocess.DEVNULL)
    until(lambda: list(out.glob("part-*")))
    children = Path(f"/proc/{driver.pid}/task/{driver.pid}/children").read_text().split()
    workers = [one for one in children if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]
    os.kill(int(workers[0]), signal.SIGKILL)
    until(lambda: len(list(out.glob("part-*"))) > 2)
    driver.kill()
    assert driver.wait() == -signal.SIGKILL
    done = len(list(out.glob("part-*")))
    assert main([*command, str(out), "--jobs", "1"]) == 0
    assert done < 9 == len(list(out.glob("part-*"))) and content(out) == content(tmp_path / "whole")
    assert [row["id"] for row in rows(out)] == [f"in.txt:{n}" for n in range(1, 9 * 2048 + 1)]
    assert json.loads((out / "manifest.json").read_text())["finished"] == {"texts": 9 * 2048, "shards": 9}


def test_a_kill_between_the_write_of_a_shard_and_its_name(model, tmp_path):
    command = call(model, tmp_path, 4 * 2048)
    assert main([*command, str(tmp_path / "whole")]) == 0
    driver = subprocess.run([sys.executable, "-c", DIES, *command, str(tmp_path / "out")], stderr=subprocess.DEVNULL)
    left = content(tmp_path / "out")
    assert driver.returncode == -signal.SIGKILL and ".part.unfinished" in left
    assert [name[:13] for name in sorted(left) if name.startswith("part-")] == ["part-00000000", "part-00000001"]
    assert main([*command, str(tmp_path / "out")]) == 0
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_8_bit_weights_in_a_process_of_their_own(model, tmp_path):
    """What was rounded finds what the plain weights find, but for a few words."""
    command = call(model, tmp_path, 100)
    assert main([*command, str(tmp_path / "plain"), "--jobs", "1"]) == 0
    assert main([*command, str(tmp_path / "int8"), "--jobs", "1", "--int8"]) == 0
    plain, rounded = ([spans(row) for row in rows(tmp_path / name)] for name in ("plain", "int8"))
    assert sum(one == other for one, other in zip(plain, rounded, strict=True)) > 80 and sum(map(len, plain)) > 50
    assert content(tmp_path / "plain") != content(tmp_path / "int8"), "the scores differ in their last digits"


def spans(row):
    return [(one["start"], one["end"], one["entity_group"]) for one in row["entities"]]


def until(holds, seconds=120):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
