"""Runs in trackers, read back with the trackers' own readers."""

import json
import os
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from needed import needs

from retainer.cli.main import main
from retainer.data.io import write
from retainer.training.learn import learn
from retainer.training.progress import Epoch, Progress
from retainer.training.request import LearnRequest
from retainer.training.track.table import TRACKERS, require_tracker
from retainer.training.track.tracked_progress import tracked
from retainer.training.track.tracker import SafeTracker, Tracker


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder of its own, and no setting of the person who runs the tests."""
    for name in [name for name in os.environ if name.startswith(("MLFLOW_", "TENSORBOARD_", "WANDB_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Warned(Progress):
    """Keeps warnings."""

    def __init__(self):
        self.warnings = []

    def warn(self, text):
        self.warnings.append(text)


def track(name, first, few, quick, out="v2", progress=None):
    """Teach a version with a tracker, and return it."""
    asked = {"recipe": quick, "seed": 3, "device": "cpu", "dev": few}
    request = LearnRequest(few, first, method_name="retain", **asked)
    with tracked(name, progress or Warned(), request, Path(out)) as heard:
        return learn(few, first, out=out, progress=heard, **asked)


def runs_in(folder):
    """Return MLflow's client, and all runs that lie in a working folder."""
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{folder}/mlflow.db")
    return client, client.search_runs([client.get_experiment_by_name("retainer").experiment_id])


def test_mlflow(here, pair, few, quick):
    """In its SQLite store, in the working folder; the version is among the artifacts, whole."""
    warned = Warned()
    version = track("mlflow", pair["v1"], few, quick, progress=warned)
    client, (run,) = runs_in(here)
    assert (run.info.status, run.info.run_name, warned.warnings) == ("FINISHED", "v2", [])
    assert run.data.params["recipe.epochs"] == "2" and run.data.params["method"] == "retain"
    for term, value in version.lineage.scores["history"][1]["losses"].items():
        assert run.data.metrics[f"loss/{term}"] == pytest.approx(value)
        assert [point.step for point in client.get_metric_history(run.info.run_id, f"loss/{term}")] == [1, 2]
    assert run.data.metrics["f1/city"] == version.lineage.scores["per_type"]["city"]["f1"]
    assert run.data.metrics["kept/artist"] == version.lineage.scores["balance"]["old"]["artist"]["share"]
    files = {one.path for one in client.list_artifacts(run.info.run_id, "v2")}
    assert {"v2/model.safetensors", "v2/retainer.json", "v2/README.md"} <= files
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"


def artifacts_in(client, run_id, folder=None):
    """Name all files among the artifacts of a run."""
    found = client.list_artifacts(run_id, folder)
    return {path for one in found for path in (artifacts_in(client, run_id, one.path) if one.is_dir else {one.path})}


def test_no_sentence_is_written(here, encoder, artist, few, quick):
    """Language models hold the words of training sentences, and so does a stored parent that has some."""
    how = {"recipe": quick, "device": "cpu", "method": "learn_and_review"}
    learn(artist, encoder, out="v1", **how)
    warned = Warned()
    request = LearnRequest(few, "v1", **how)
    with tracked("mlflow", warned, request, Path("v2")) as heard:
        learn(few, "v1", out="v2", keep_parent=True, progress=heard, **how)
    client, (run,) = runs_in(here)
    assert Path("v2/generators").is_dir() and Path("v2/parent").is_dir()
    written = artifacts_in(client, run.info.run_id)
    assert "v2/model.safetensors" in written
    assert not {path for path in written if "generators" in path or "parent" in path}
    (said,) = warned.warnings
    assert said == (
        "the language models of v2 (generators/) hold words of training sentences and are not written to the tracker; "
        "the files there do not load without them"
    )
    names = {word for one in (*artist, *few) for span in one.spans for word in one.words[span.start : span.end]}
    texts = [path for path in written if path.endswith((".json", ".md")) and "tokenizer" not in path]
    text = "".join(Path(client.download_artifacts(run.info.run_id, path)).read_text() for path in texts)
    assert len(names) > 20 and len(texts) == 3 and not {name for name in names if len(name) > 6 and name in text}


def test_tensorboard(here, pair, few, quick):
    """In a folder of its own below runs: scalars, texts and hyper-parameters."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import plugin_data_pb2

    version = track("tensorboard", pair["v1"], few, quick)
    track("tensorboard", pair["v1"], few, quick, out="deep/v2")
    assert sorted(os.listdir("runs")) == ["v2", "v2-2"]
    events = EventAccumulator("runs/v2").Reload()
    history = version.lineage.scores["history"]
    assert [one.value for one in events.Scalars("loss/total")] == pytest.approx(
        [sum(epoch["losses"].values()) for epoch in history], rel=1e-5
    )
    assert events.Scalars("f1/city")[0].value == pytest.approx(version.lineage.scores["per_type"]["city"]["f1"])
    texts = {tag: events.Tensors(tag)[0].tensor_proto.string_val[0].decode() for tag in events.Tags()["tensors"]}
    assert "entities that the previous version found" in texts["kept/text_summary"]
    assert version.lineage.own_hash in texts["version/text_summary"]
    packed = events.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    hparams = plugin_data_pb2.HParamsPluginData.FromString(packed).session_start_info.hparams
    assert hparams["recipe.epochs"].number_value == 2


def in_wandb(folder):
    """Return the records of the one run that wandb wrote into a working folder, by kind."""
    from wandb.proto.wandb_internal_pb2 import Record
    from wandb.sdk.internal.datastore import DataStore

    (file,) = folder.glob("wandb/offline-run-*/*.wandb")
    store, found = DataStore(), {}
    store.open_for_scan(str(file))
    while (data := store.scan_data()) is not None:
        record = Record.FromString(data)
        kind = record.WhichOneof("record_type")
        found.setdefault(kind, []).append(getattr(record, kind))
    return found


def values(items):
    """Return what stands in an item of wandb, by name."""
    return {one.key or one.nested_key[0]: json.loads(one.value_json) for one in items}


@needs("wandb")
def test_wandb(here, pair, few, quick, monkeypatch):
    """Offline, by its own process, read back by its own reader: numbers, files without those of words, no console."""
    import wandb

    monkeypatch.setenv("WANDB_MODE", "offline")
    for name in ("DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"WANDB_{name}_DIR", str(here / name))
    for name in ("WANDB_CONSOLE", "WANDB_DISABLE_GIT", "WANDB_ERROR_REPORTING"):
        monkeypatch.setenv(name, "")  # what is set below goes with this test
        monkeypatch.delenv(name)

    class Printing(Warned):
        def epoch(self, epoch: Epoch) -> None:
            sys.stdout.write("how do i get to oslo\n")

    how = {"recipe": quick, "device": "cpu", "dev": few, "method": "learn_and_review"}
    with tracked("wandb", Printing(), LearnRequest(few, pair["v1"], **how), Path("v2")) as heard:
        version = learn(few, pair["v1"], out="v2", progress=heard, **how)
    wandb.teardown()
    found = in_wandb(here)
    config = values(found["run"][0].config.update)
    assert (found["run"][0].project, found["run"][0].display_name, config["recipe.epochs"]) == ("retainer", "v2", 2)
    rows = [values(row.item) for row in found["history"]]
    epochs = [sum(epoch["losses"].values()) for epoch in version.lineage.scores["history"]]
    assert [row["loss/total"] for row in rows] == pytest.approx(epochs)
    assert rows[-1]["f1/city"] == version.lineage.scores["per_type"]["city"]["f1"]
    summary = {name: value for one in found["summary"] for name, value in values(one.update).items()}
    assert "entities that the previous version found" in summary["kept"]
    assert {one.path for one in found["artifact"][0].manifest.contents} == {
        *version.lineage.wordless_files,
        "retainer.json",
        "README.md",
    }
    assert Path("v2/generators").is_dir() and "output_raw" not in found and "output" not in found
    assert not found["run"][0].HasField("git")


class Failing(Tracker):
    """Fails from one call on."""

    def __init__(self, from_call):
        self.calls, self.heard = from_call, []

    def __getattribute__(self, name):
        if name not in ("begin", "numbers", "text", "artifact", "end"):
            return object.__getattribute__(self, name)
        self.calls -= 1
        if self.calls <= 0:
            raise OSError(28, "No space left on device")
        self.heard.append(name)
        return lambda *arguments, **named: None


@pytest.mark.parametrize("from_call", [1, 2, 3, 5])
def test_a_tracker_that_fails_is_not_the_end(here, first, few, quick, from_call, monkeypatch):
    """One warning; the version is the one that is learned without a tracker, bit for bit."""
    failing = Failing(from_call)
    monkeypatch.setitem(TRACKERS, "mlflow", replace(TRACKERS["mlflow"], open=lambda: failing))
    warned = Warned()
    version = track("mlflow", first, few, quick, progress=warned)
    assert warned.warnings == [
        "MLflow fails, and nothing more is written to it; the run goes on (OSError: [Errno 28] No space left on device)"
    ]
    assert (
        version.lineage.weights
        == learn(few, first, recipe=quick, seed=3, device="cpu", dev=few, out="x").lineage.weights
    )


def test_a_server_that_is_gone(here, monkeypatch):
    """MLflow itself, and a port that nothing listens on: it gives up in seconds."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
    warnings = []
    tracker = SafeTracker("MLflow", TRACKERS["mlflow"].open, warnings.append)
    tracker.begin("v2", {})
    tracker.numbers({"loss": 1.0}, 1)
    tracker.end(good=True)
    assert len(warnings) == 1 and "Max retries" in warnings[0]


def test_a_run_that_fails_is_marked(here, first, few, quick):
    class Stop(Progress):
        def epoch(self, epoch: Epoch) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        track("mlflow", first, few, quick, progress=Stop())
    _, (run,) = runs_in(here)
    assert run.info.status == "FAILED"


def test_names_that_trackers_refuse(here):
    """Types may have any name; every tracker takes what becomes of it."""
    from retainer.training.track.tracked_progress import final_numbers

    row = {"precision": 1.0, "recall": 1.0, "f1": 1.0}
    numbers = final_numbers({"per_type": {"..": row, "a/b": row, "B+ (x)": row, "地名": row}})
    for name in ("mlflow", "tensorboard"):
        warnings = []
        tracker = SafeTracker(name, TRACKERS[name].open, warnings.append)
        tracker.begin("../odd/title", {"x": "y" * 10000, "none": None})
        tracker.numbers(numbers, 1)
        tracker.end(good=True)
        assert warnings == []
    assert os.listdir("runs") == ["odd-title"]


def test_the_verb(here, pair, few, capsys, monkeypatch):
    """What is refused leaves no run; a tracker that is missing is one sentence."""
    write(few, "few.jsonl", "jsonl")
    call = ["learn", "few.jsonl", "--from", str(pair["v1"]), "--out", "v2", "--epochs", "1", "--device", "cpu"]
    assert main([*call, "--track", "mlfow"]) == 2
    assert "there is no tracker 'mlfow' (did you mean 'mlflow'?)" in capsys.readouterr().err
    with monkeypatch.context() as missing:
        missing.setattr("retainer.training.track.table.find_spec", lambda name: None)
        assert main([*call, "--track", "tensorboard"]) == 2
    assert "--track tensorboard needs tensorboard, which is not installed; run: pip install" in capsys.readouterr().err
    assert main([*call[:-4], "--epochs", "0", "--track", "tensorboard"]) == 2
    assert not os.path.exists("runs")
    assert main([*call, "--track", "tensorboard"]) == 0
    assert os.listdir("runs") == ["v2"]


def test_wandb_is_asked_for_by_name(monkeypatch):
    monkeypatch.setattr("retainer.training.track.table.find_spec", lambda name: None)
    with pytest.raises(ValueError, match="--track wandb needs wandb, which is not installed; run: pip install wandb"):
        require_tracker("wandb")
