"""Two processes learn what one learns. What needs torchrun itself is in tests/training/torchrun (make ranks-test)."""

import json
from dataclasses import replace

import one_of_several
import pytest
import torch
from made_once import made_once
from recorded_progress import Record
from transformers import BertConfig, BertModel

from retainer.cli import main as cli
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.tasks import hide
from retainer.errors import InputError
from retainer.methods import METHODS, Retain
from retainer.model.predict import tag
from retainer.runtime import Launch, launch
from retainer.training.learn import learn
from retainer.training.loop import TrainingLoop
from retainer.training.mention_swaps import with_swaps
from retainer.training.prepare import prepare
from retainer.training.process_group import attempt, device_of_process
from retainer.training.progress import Progress
from retainer.training.ranks import ALONE, SeveralRanks
from retainer.training.recipe import Recipe
from retainer.training.request import LearnRequest
from retainer.training.task_data import TaskData
from retainer.versions.version import load

RECIPE = {"epochs": 3, "batch": 8, "base_lr": 3e-3, "lr": 3e-3, "precision": "full"}
SENTENCES = 41
"""One more than whole batches: of the last one of an epoch, the second process has nothing."""


class Interrupting(Record):
    def epoch(self, epoch):
        raise KeyboardInterrupt


@pytest.fixture(scope="module")
def place(tmp_path_factory, wordpiece):
    """An encoder without dropout, data, a first version, and what two processes make of it all."""

    def make(folder):
        torch.manual_seed(0)
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
        off = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        config = BertConfig(vocab_size=len(wordpiece), max_position_embeddings=64, **sizes, **off)
        BertModel(config).save_pretrained(folder / "encoder")
        wordpiece.save_pretrained(folder / "encoder")
        data = generate(SENTENCES, seed=5, types=["artist", "city"])
        write(data, folder / "both.conll", "conll")
        write(hide(data, ["city"]), folder / "city.conll", "conll")
        write(generate(60, seed=7, types=["artist", "city"]), folder / "dev.conll", "conll")
        more = generate(150, seed=8, types=["artist", "city"])
        (folder / "text.txt").write_text("".join(f"{' '.join(sentence.words)}\n" for sentence in more))
        first = hide(generate(150, seed=6, types=["artist", "city"]), ["artist"])
        recipe = Recipe(**{**RECIPE, "epochs": 5})
        learn(first, folder / "encoder", recipe=recipe, device="cpu", out=folder / "v1")
        (folder / "two").mkdir()
        with pytest.raises(KeyboardInterrupt):
            one_process(folder, "resumed", out=folder / "two" / "resumed", progress=Interrupting())
        one_of_several.started(plan(folder), folder / "two")

    return made_once(tmp_path_factory, "ranks", make)


def plan(folder):
    """The runs that are compared: every method that says it can, on data, a dev set, text and swapped mentions."""
    usual = {"data": "city.conll", "start": "v1", "dev": "dev.conll", "recipe": RECIPE}
    blend = {"method": "retain", "fields": {"blend": "dev"}}
    swaps = {"method": "retain", "fields": {"swap_share": 0.5}}
    runs = {
        "retain": {**usual, **blend},
        "retain with text": {**usual, **swaps, "text": "text.txt", "recipe": {**RECIPE, "epochs": 2}},
        "rdp": {**usual, "method": "rdp"},
        "adapters": {**usual, "method": "rdp", "recipe": {**RECIPE, "adapter_rank": 4}},
        "cpfd": {**usual, "method": "cpfd"},
        "joint": {**usual, "method": "joint", "data": "both.conll", "start": "encoder"},
        "resumed": {**usual, **blend},
        "stopped early": {**usual, "method": "rdp", "recipe": {**RECIPE, "epochs": 9, "lr": 1e-2, "patience": 1}},
    }
    files = ("data", "start", "dev", "text")
    return {
        name: {key: str(folder / value) if key in files else value for key, value in run.items()}
        for name, run in runs.items()
    }


def one_process(folder, name, **options):
    run = plan(folder)[name]
    method = replace(METHODS[run["method"]], **run.get("fields", {}))
    return learn(
        run["data"],
        run["start"],
        method=method,
        dev=run["dev"],
        text=run.get("text"),
        recipe=Recipe(**run["recipe"]),
        seed=3,
        device="cpu",
        **options,
    )


def labels(version):
    corpus = generate(80, seed=21, types=["artist", "city"])
    return tag(version.tagger, version.tagger.tokenize(corpus.sentences, version.tagger.device)).ids.tolist()


def reports(folder):
    return [json.loads((folder / "two" / f"rank-{rank}.json").read_text()) for rank in (0, 1)]


class TestTwoProcesses:
    @pytest.mark.parametrize(
        "name", ["retain", "retain with text", "rdp", "cpfd", "joint", "stopped early", "adapters"]
    )
    def test_learn_what_one_learns(self, place, name):
        alone, together = one_process(place, name), load(place / "two" / name, device="cpu")
        one, two = alone.lineage, together.lineage
        assert len(one.scores["history"]) == len(two.scores["history"])
        for epoch, other in zip(one.scores["history"], two.scores["history"], strict=True):
            assert epoch["losses"] == pytest.approx(other["losses"], abs=1e-5)
            assert epoch["dev"] == pytest.approx(other["dev"])
        assert labels(alone) == labels(together)
        assert (one.prior, one.blend, one.scores["epoch"]) == (two.prior, two.blend, two.scores["epoch"])
        assert two.scores["processes"] == 2 and "processes" not in one.scores

    def test_the_cases_are_not_empty(self, place):
        found = reports(place)[0]
        assert any(found["retain"]["prior"].values())
        request = LearnRequest(place / "city.conll", place / "v1", method=Retain(swap_share=0.5), device="cpu")
        assert with_swaps(request.resolve()).swaps
        assert len(found["stopped early"]["history"]) < 9

    def test_agree_on_everything(self, place):
        first, second = reports(place)
        assert first == second and first.keys() == plan(place).keys()

    def test_go_on_where_one_was_stopped(self, place):
        found = reports(place)[0]
        for epoch, other in zip(found["retain"]["history"], found["resumed"]["history"], strict=True):
            assert epoch["losses"] == pytest.approx(other["losses"], abs=1e-5)
        versions = [load(place / "two" / name, device="cpu") for name in ("retain", "resumed")]
        assert labels(versions[0]) == labels(versions[1])
        assert not (place / "two" / "resumed.partial").exists()

    def test_a_fault_of_one_is_said_by_the_first(self, tmp_path):
        first, second = one_of_several.started({}, tmp_path)
        assert first["end"] == ["InputError", "process 1 (the first is 0): there is no file here"]
        assert second["end"] == ["SaidElsewhere", "exit status 2"]


class TestSharing:
    @pytest.mark.parametrize("size", [2, 3, 5])
    @pytest.mark.parametrize("rows", [1, 2, 3, 7, 16])
    def test_every_row_belongs_to_one_process(self, size, rows):
        windows, ranks = torch.arange(rows), [SeveralRanks(rank, size, None) for rank in range(size)]
        parts = [one.part(windows).tolist() for one in ranks if not one.is_idle(windows)]
        assert sorted(sum(parts, [])) == windows.tolist()
        assert all(len(one.part(windows)) == 1 for one in ranks if one.is_idle(windows))
        for first in range(rows + 1):
            assert [row for one in ranks for row in one.part(windows)[: one.rows_among(first)].tolist()] == [
                row for part in parts for row in part if row < first
            ]

    def test_what_an_ended_attempt_has_left_in_the_store_is_not_for_the_next(self, monkeypatch):
        monkeypatch.setenv("GROUP_WORLD_SIZE", "1")
        names = []
        for count in ("0", "1"):
            monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", count)
            names.append(attempt())
        assert names == ["attempt 0", "attempt 1"]
        monkeypatch.setenv("GROUP_WORLD_SIZE", "2")  # machines that count their own failures would never meet
        assert attempt() == "all attempts"

    def test_one_process_keeps_its_tensors(self):
        tensor = torch.arange(3)
        assert ALONE.part(tensor) is tensor and ALONE.total(tensor) is tensor and ALONE.add_up([], tensor) is tensor

    def test_more_processes_than_rows_are_refused(self, first, city):
        prepared = prepare(first.tagger, TaskData(city, ("city",)), METHODS["rdp"], Recipe(batch=8))
        with pytest.raises(InputError, match="9 processes share batches of 8 sentences.*start at most 8"):
            TrainingLoop(prepared, Recipe(batch=8), 0, Progress(), SeveralRanks(0, 9, None))


def under_torchrun(monkeypatch, rank, size=2):
    for name, value in {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr(cli, "LINGER", 0.0)


LEARN = ["learn", "none.conll", "--from", "none", "--out", "none"]
TESTED = {name for name, one in METHODS.items() if one.several_devices}


class TestRefusals:
    def test_the_methods_that_are_tested(self):
        assert {type(METHODS[name]).__name__ for name in TESTED} == {"Retain", "RDP", "CPFD", "Joint"}

    @pytest.mark.parametrize(
        ("call", "says"),
        [
            (["bench", "conll2003"], "`bench` runs in one process; call it without torchrun"),
            (["predict", "model", "text"], "`predict` runs in one process"),
            ([*LEARN, "--dry-run"], "--dry-run needs one process"),
            *(([*LEARN, "--method", name], f"method {name} is not tested") for name in sorted({*METHODS} - TESTED)),
        ],
    )
    def test_are_said_once(self, monkeypatch, capsys, call, says):
        said = []
        for rank in (0, 1):
            under_torchrun(monkeypatch, rank)
            assert cli.main(call) == 2
            said.append(capsys.readouterr())
        assert says in said[0].err and said[0].err.count("\n") == 1
        assert not said[0].out and not said[1].out and not said[1].err

    def test_a_cluster_that_only_counts_is_not_torchrun(self, monkeypatch):
        monkeypatch.setenv("RANK", "1")
        monkeypatch.setenv("WORLD_SIZE", "2")
        assert launch() == Launch()

    def test_one_process_of_torchrun_is_alone(self, monkeypatch, capsys):
        under_torchrun(monkeypatch, 0, size=1)
        assert cli.main([*LEARN, "--method", "finetune"]) == 2
        assert "none.conll" in capsys.readouterr().err

    def test_a_gpu_for_every_process(self, monkeypatch):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
        assert device_of_process("auto", Launch(0, 2, 0)) == "cuda:0"
        assert device_of_process("cpu", Launch(1, 2, 1)) == "cpu"
        assert device_of_process("cuda", Launch(0, 1, 0)) == "cuda"
        with pytest.raises(InputError, match=r"GPU of its own, and there is 1 .*--nproc-per-node 1"):
            device_of_process("auto", Launch(1, 2, 1))
        with pytest.raises(InputError, match="all get 'cuda:0'"):
            device_of_process("cuda:0", Launch(0, 2, 0))
