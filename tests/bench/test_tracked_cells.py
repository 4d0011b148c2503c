"""The cells of a bench in MLflow: a run per cell that is measured now."""

import os

import pytest
from mlflow import MlflowClient

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
    for name in [name for name in os.environ if name.startswith("MLFLOW_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    for name, count, seed in (("train", 60, 1), ("dev", 20, 2), ("test", 20, 3)):
        write(generate(count, seed=seed, types=list(TYPES)), tmp_path / "data" / f"{name}.conll", "conll")
    return Bench(tmp_path / "data", tmp_path / "out", TYPES, "cpu")


def cells(encoder):
    recipe = Recipe(epochs=1, base_lr=3e-3, lr=1e-3)
    setting = Setting("FG-1-PG-1", 1, 1, 1)
    return [Cell("p", setting, "finetune", METHODS["finetune"], seed, str(encoder), recipe) for seed in (1, 2)]


def test_a_run_per_cell(bench, encoder, tmp_path, monkeypatch):
    """Those that were measured before are not written again; a tracker that fails ends nothing."""
    chosen, heard = cells(encoder), Notes()
    (first,) = run_bench(bench, chosen[:1], 1, tracked_cells("mlflow", heard, bench.out))
    run_bench(bench, chosen, 1, tracked_cells("mlflow", heard, bench.out))
    client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    runs = client.search_runs([client.get_experiment_by_name("retainer").experiment_id], order_by=["params.seed"])
    assert [run.data.params["seed"] for run in runs] == ["1", "2"] and len(heard.cells) == 3
    assert runs[0].data.metrics["average/macro"] == pytest.approx(first.average["macro"])
    points = client.get_metric_history(runs[0].info.run_id, "f1/artist")
    assert [point.value for point in points] == pytest.approx([task.per_type["artist"]["f1"] for task in first.tasks])
    assert [one.path for one in client.list_artifacts(runs[0].info.run_id)] == ["seed-1.json"]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:////dev/null/no.db")
    broken = Bench(bench.data, bench.out, TYPES, "cpu", rerun=True)
    assert len(run_bench(broken, chosen, 1, tracked_cells("mlflow", heard, bench.out))) == 2
    assert len(heard.warnings) == 1 and heard.warnings[0].startswith("MLflow fails")


def test_an_unknown_tracker_is_refused_at_once(bench):
    with pytest.raises(InputError, match="did you mean 'mlflow'"):
        tracked_cells("mlfow", Notes(), bench.out)
