"""Bulk tagging and sweeps on a Ray cluster of two nodes: what processes give, also when a node is killed."""

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
SHARDS = 10


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """A head without a core and two nodes with one each, so that both are needed."""
    from ray.cluster_utils import Cluster

    config = {"health_check_period_ms": 500, "health_check_failure_threshold": 3, "health_check_initial_delay_ms": 0}
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


def until(holds, seconds=40):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def retainer(*arguments):
    return subprocess.Popen([sys.executable, "-m", "retainer", *map(str, arguments)], stderr=subprocess.PIPE, text=True)


def test_a_worker_and_a_node_are_killed(nodes, model, lines, tmp_path):
    call = ("predict", model, "--input", lines, "--device", "cpu", "--out")
    assert main([*map(str, call), str(tmp_path / "here")]) == 0
    out = tmp_path / "there"
    driver = retainer(*call, out, "--ray", nodes.address)
    until(lambda: content(out))
    actors = subprocess.run(["pgrep", "-f", "^ray::_Actor"], capture_output=True, text=True).stdout.split()
    os.kill(int(actors[0]), signal.SIGKILL)
    until(lambda: len(content(out)) >= 3)
    nodes.remove_node(list(nodes.worker_nodes)[0], allow_graceful=False)
    told = driver.communicate(timeout=60)[1]
    assert driver.returncode == 0, told
    nodes.add_node(num_cpus=1)
    assert content(out) == content(tmp_path / "here") and len(content(out)) == SHARDS


def test_cells_of_a_sweep_are_those_of_processes(nodes, encoder, tmp_path):
    for name, size in {"train": 60, "dev": 20, "test": 20}.items():
        (tmp_path / "data").mkdir(exist_ok=True)
        write(generate(size, seed=size, types=["artist", "city"]), tmp_path / "data" / f"{name}.conll", "conll")
    call = (
        "bench",
        "own",
        "--data",
        tmp_path / "data",
        "--encoder",
        encoder,
        "--methods",
        "rdp,finetune",
        "--seeds",
        "1",
    )
    call += ("--setting", "FG-1-PG-1", "--set.epochs", "1", "--device", "cpu", "--out")
    assert main([*map(str, call), str(tmp_path / "here")]) == 0
    driver = retainer(*call, tmp_path / "there", "--ray", nodes.address)
    told = driver.communicate(timeout=60)[1]
    assert driver.returncode == 0, told
    files = sorted(path.relative_to(tmp_path / "here") for path in (tmp_path / "here").glob("own/*/*/*.json"))
    assert len(files) == 2 and "2/2" in told
    for file in files:
        one, other = (_without_times(json.loads((tmp_path / place / file).read_text())) for place in ("here", "there"))
        assert one == other
        spans = file.with_suffix(".spans.json.gz")
        assert (tmp_path / "here" / spans).read_bytes() == (tmp_path / "there" / spans).read_bytes()
    assert len(list((tmp_path / "there" / "bases").glob("*/retainer.json"))) == 1, "learned once, and kept"


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
