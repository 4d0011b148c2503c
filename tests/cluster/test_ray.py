"""Bulk tagging and sweeps on a Ray cluster of two nodes: what processes give, whatever is killed on the way."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from foreign import checkpoint, texts

from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import write

TEMP = f"/tmp/rt{os.getpid()}"
"""A short name, because Ray puts sockets there."""
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
os.environ.update(QUIET, RAY_TMPDIR=TEMP)  # before Ray is imported; its daemons listen on the loopback device alone
pytest.importorskip("ray", reason="Ray is not installed: pip install 'retainer[ray]'")

SAMPLE = [text for text, _ in texts(150, 3)]
SHARDS = 8


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """A head without a core and two nodes with one each, so that both are needed."""
    from ray.cluster_utils import Cluster

    config = {"health_check_period_ms": 500, "health_check_failure_threshold": 8, "health_check_initial_delay_ms": 0}
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": config}
    os.makedirs(f"{TEMP}/ray", exist_ok=True)
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    yield cluster
    cluster.shutdown()
    shutil.rmtree(TEMP, ignore_errors=True)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return checkpoint(tmp_path_factory.mktemp("ray") / "model", "wordpiece", "IOB2", "last", True)


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    file = tmp_path_factory.mktemp("lines") / "in.txt"
    file.write_text("\n".join(f"{SAMPLE[at % 150]} {at}" for at in range(SHARDS * 2048)) + "\n")
    return file


def content(folder):
    return {path.name: path.read_bytes() for path in Path(folder).glob("part-*")}


def until(holds, seconds=90):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def retainer(*arguments):
    return subprocess.Popen([sys.executable, "-m", "retainer", *map(str, arguments)], stderr=subprocess.PIPE, text=True)


def workers(node, doing):
    """The processes of a node whose titles say what they do: children of its own raylet, so no other cluster's."""
    raylet = node.all_processes["raylet"][0].process.pid
    children = " ".join(file.read_text() for file in Path(f"/proc/{raylet}/task").glob("*/children")).split()
    return [
        int(one) for one in children if Path(f"/proc/{one}/cmdline").read_bytes().startswith(f"ray::{doing}".encode())
    ]


def busy_node(nodes, doing):
    """Wait until a node does something; return it."""
    found = []
    until(lambda: found.extend(node for node in nodes.worker_nodes if workers(node, doing)) or found)
    return found[0]


def lose_node(nodes, node):
    nodes.remove_node(node, allow_graceful=False)
    nodes.add_node(num_cpus=1)


def killed(driver):
    driver.kill()
    assert driver.wait() == -signal.SIGKILL
    driver.stderr.close()


def ended(driver):
    told = driver.communicate(timeout=120)[1]
    assert driver.returncode == 0, told
    return told


def test_a_worker_the_driver_and_a_node_are_killed(nodes, model, lines, tmp_path, monkeypatch):
    """Paths are relative, and mean nothing where nodes work: whatever they need travels. Twice they need the model."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(model, "model")
    call = ("predict", "model", "--input", lines, "--device", "cpu", "--out")
    assert main([*map(str, call), "here"]) == 0
    driver = retainer(*call, "there", "--ray", nodes.address)
    until(lambda: content("there"))
    os.kill(workers(busy_node(nodes, "_Actor"), "_Actor")[0], signal.SIGKILL)
    until(lambda: len(content("there")) >= 3)
    killed(driver)
    kept = content("there")
    assert 3 <= len(kept) < SHARDS
    driver = retainer(*call, "there", "--ray", nodes.address)
    until(lambda: len(content("there")) > len(kept))
    lose_node(nodes, busy_node(nodes, "_Actor"))
    told = ended(driver)
    assert content("there") == content("here") and len(content("there")) == SHARDS
    assert f"{SHARDS * 2048} texts in {SHARDS} shards, {len(kept) * 2048} of them before" in told


def test_a_sweep_whose_worker_driver_and_node_are_killed(nodes, encoder, tmp_path, monkeypatch):
    """Cells have the bits of processes. Here too no node could follow a path of the driver."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(encoder, "encoder")
    for name, size in {"train": 60, "dev": 20, "test": 20}.items():
        write(generate(size, seed=size, types=["artist", "city"]), tmp_path / "data" / f"{name}.conll", "conll")
    call = "bench own --data data --encoder encoder --methods rdp,finetune --seeds 1,2 --setting FG-1-PG-1"
    call = [*call.split(), "--set.epochs", "4", "--device", "cpu", "--out"]
    assert main([*call, "here"]) == 0
    driver = retainer(*call, "there", "--ray", nodes.address)
    os.kill(workers(busy_node(nodes, "_measure"), "_measure")[0], signal.SIGKILL)
    until(lambda: cells("there"))
    killed(driver)
    kept = cells("there")
    driver = retainer(*call, "there", "--ray", nodes.address)
    lose_node(nodes, busy_node(nodes, "_measure"))
    told = ended(driver)
    assert f"4 cells, {len(kept)} measured before" in told and len(kept) < 4
    assert cells("there") == cells("here") and len(cells("here")) == 4
    assert len(list(Path("there/bases").glob("*/retainer.json"))) == 2, "one per seed, and kept"


def cells(folder):
    """What was measured, without the times; and what was found, as it is on the disk."""
    files = Path(folder).glob("own/*/*/seed-?.json")
    return {
        str(file.relative_to(folder)): (
            _without_times(json.loads(file.read_text())),
            file.with_suffix(".spans.json.gz").read_bytes(),
        )
        for file in files
    }


def _without_times(value):
    if isinstance(value, dict):
        return {name: _without_times(one) for name, one in value.items() if "seconds" not in name}
    return [_without_times(one) for one in value] if isinstance(value, list) else value


def test_another_version_of_ray_is_refused(nodes, model, lines, tmp_path):
    code = (
        "import ray, sys; ray.__version__ = '2.1.0'; from retainer.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    call = ["predict", str(model), "--input", str(lines), "--out", str(tmp_path / "o"), "--ray", nodes.address]
    done = subprocess.run([sys.executable, "-c", code, *call], capture_output=True, text=True)
    assert done.returncode == 2 and "another Ray or Python" in done.stderr and not (tmp_path / "o").exists()
    assert done.stderr.count("\n") == 1, done.stderr
