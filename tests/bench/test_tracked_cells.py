"""The cells of a bench in MLflow and in TensorBoard: a run per cell that is measured now."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from mlflow import MlflowClient
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from retainer.bench.cell import Cell
from retainer.bench.preset import Setting
from retainer.bench.progress import BenchProgress
from retainer.bench.run import Bench, run_bench
from retainer.bench.tracked_cells import tracked_cells
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.errors import InputError
from retainer.methods import METHODS
from retainer.training.recipe import Recipe

TYPES = ("artist", "city")


class Notes(BenchProgress):
    """Keeps warnings and cells."""

    def __init__(self):
        self.warnings, self.cells = [], []

    def warn(self, text):
        self.warnings.append(text)

    def cell(self, cell, result):
        self.cells.append(result)


@pytest.fixture
def bench(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("MLFLOW_", "TENSORBOARD_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    for name, count, seed in (("train", 60, 1), ("dev", 20, 2), ("test", 20, 3)):
        write(generate(count, seed=seed, types=list(TYPES)), tmp_path / "data" / f"{name}.conll", "conll")
    return Bench(tmp_path / "data", tmp_path / "out", TYPES, "cpu")


def cells(encoder):
    recipe = Recipe(epochs=1, base_lr=3e-3, lr=1e-3)
    setting = Setting("FG-1-PG-1", 1, 1, 1)
    return [Cell("p", setting, "finetune", METHODS["finetune"], seed, str(encoder), recipe) for seed in (1, 2)]


@dataclass(frozen=True)
class Written:
    """What a tracker's own reader finds of one run."""

    seed: str
    macro: list[float]
    artist: list[float]
    file: str


def in_mlflow(place):
    """Read the runs out of the store."""
    client = MlflowClient(f"sqlite:///{place}/mlflow.db")
    runs = client.search_runs([client.get_experiment_by_name("retainer").experiment_id])
    for run in runs:
        macro, artist = (
            [point.value for point in client.get_metric_history(run.info.run_id, name)]
            for name in ("average/macro", "f1/artist")
        )
        (file,) = (one.path for one in client.list_artifacts(run.info.run_id))
        yield Written(run.data.params["seed"], macro, artist, file)


def in_tensorboard(place):
    """Read the runs out of the event files."""
    for folder in sorted((place / "runs").iterdir()):
        events = EventAccumulator(str(folder)).Reload()
        macro, artist = ([one.value for one in events.Scalars(name)] for name in ("average/macro", "f1/artist"))
        texts = {tag: events.Tensors(tag)[0].tensor_proto.string_val[0].decode() for tag in events.Tags()["tensors"]}
        seed = re.search(r"\| seed \| `(\d+)` \|", texts["params/text_summary"])[1]
        yield Written(seed, macro, artist, Path(texts["artifact/text_summary"]).name)


TRACKERS = {
    "mlflow": ("MLflow", in_mlflow, "MLFLOW_TRACKING_URI", "sqlite:////dev/null/no.db"),
    "tensorboard": ("TensorBoard", in_tensorboard, "TENSORBOARD_LOGGING_DIR", "/dev/null/no"),
}


@pytest.mark.parametrize("name", TRACKERS)
def test_a_run_per_cell(bench, encoder, tmp_path, monkeypatch, name):
    """Those that were measured before are not written again; a tracker that fails ends nothing."""
    title, written_in, place, nowhere = TRACKERS[name]
    chosen, heard = cells(encoder), Notes()
    (first,) = run_bench(bench, chosen[:1], 1, tracked_cells(name, heard, bench.out))
    run_bench(bench, chosen, 1, tracked_cells(name, heard, bench.out))
    found = sorted(written_in(tmp_path), key=lambda one: one.seed)
    assert [(one.seed, one.file) for one in found] == [("1", "seed-1.json"), ("2", "seed-2.json")]
    assert len(heard.cells) == 3
    assert found[0].macro == pytest.approx([first.average["macro"]])
    assert found[0].artist == pytest.approx([task.per_type["artist"]["f1"] for task in first.tasks])
    monkeypatch.setenv(place, nowhere)
    broken = Bench(bench.data, bench.out, TYPES, "cpu", rerun=True)
    assert len(run_bench(broken, chosen, 1, tracked_cells(name, heard, bench.out))) == 2
    assert len(heard.warnings) == 1 and heard.warnings[0].startswith(f"{title} fails")


def test_an_unknown_tracker_is_refused_at_once(bench):
    with pytest.raises(InputError, match="did you mean 'mlflow'"):
        tracked_cells("mlfow", Notes(), bench.out)
