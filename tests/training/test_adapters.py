"""Learning with adapters: what moves, what is kept, what is saved, and what is refused."""

import json
import re
import shutil
import sys
from dataclasses import replace

import pytest
import torch
from peft import PeftModel
from recorded_progress import Record
from transformers import AutoModelForTokenClassification

from retainer.bench.cell import Cell
from retainer.bench.preset import Setting
from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.errors import InputError
from retainer.files import sha256
from retainer.methods import METHODS
from retainer.model.adapters import FASTER, adapter_parameters, learned_state
from retainer.model.predict import run_tagger, tag
from retainer.training.blend import blended
from retainer.training.learn import learn
from retainer.training.loop import TrainingLoop
from retainer.training.prepare import prepare
from retainer.training.progress import Progress
from retainer.training.recipe import Recipe
from retainer.training.speed.embedding_subset import EmbeddingSubset
from retainer.training.speed.mixed_precision import MixedPrecision
from retainer.training.step import TrainingStep
from retainer.training.task_data import TaskData
from retainer.versions.delta import unpacked_sha256, write_delta
from retainer.versions.verify import verify_folder
from retainer.versions.version import load


@pytest.fixture
def adapted(quick):
    """A recipe with adapters."""
    return replace(quick, adapter_rank=4)


@pytest.fixture
def prepared(first, city, adapted):
    return prepare(first.tagger, TaskData(city, ("city",)), METHODS["rdp"], adapted)


def moved(old, new):
    """Name the weights of an encoder that differ."""
    after = new.tagger.network.state_dict()
    return {name for name, tensor in old.tagger.network.state_dict().items() if not torch.equal(tensor, after[name])}


def equal(one, other):
    weights = one.tagger.state_dict()
    return all(torch.equal(tensor, weights[name]) for name, tensor in other.tagger.state_dict().items())


class TestWhatLearns:
    def test_the_student_begins_as_the_teacher(self, first, prepared):
        before, after = (run_tagger(one, prepared.slice, hidden=True) for one in (first.tagger, prepared.student))
        assert torch.equal(before.hidden, after.hidden) and prepared.changed == 0
        assert torch.equal(before.logits, after.logits[:, : before.logits.shape[1]])
        assert adapter_parameters(prepared.student.network) and not adapter_parameters(first.tagger.network)

    def test_the_optimizer_has_adapters_and_head_alone(self, prepared, adapted, quick):
        step = TrainingStep(prepared, prepared.slice, adapted)
        step.begin(0)
        step(*prepared.slice.shuffled(16, 0)[0])
        held = {id(one) for group in step.optimizer.param_groups for one in group["params"]}
        head = [one for one in prepared.student.head.parameters() if one.requires_grad]
        assert held == {id(one) for one in (*adapter_parameters(prepared.student.network), *head)}
        assert {id(one) for one in prepared.student.parameters() if one.grad is not None} <= held
        frozen = [one for one in prepared.student.body.parameters() if id(one) not in held]
        assert frozen and not any(one.requires_grad for one in frozen)
        factors = {group["factor"] for group in step.optimizer.param_groups}
        assert factors == {FASTER, quick.head_factor}

    def test_only_query_and_value_move(self, first, city, adapted):
        version = learn(city, first, recipe=adapted, device="cpu")
        wanted = {f"bert.encoder.layer.{at}.attention.self.{one}.weight" for at in (0, 1) for one in ("query", "value")}
        assert moved(first, version) == wanted

    @pytest.mark.parametrize("method", ["retain", "podnet", "cpfd", "joint"])
    def test_methods_of_every_sort(self, first, few, adapted, encoder, method):
        """One that blends, one that compares layers, one that compares attention, and one that starts over."""
        start = encoder if method == "joint" else first
        version = learn(few, start, method=method, recipe=replace(adapted, epochs=1), device="cpu")
        assert version.types[-1] == "city" and not adapter_parameters(version.tagger.network)

    @pytest.mark.parametrize("head", ["linear", "cosine"])
    def test_a_first_version(self, encoder, artist, adapted, head, tmp_path):
        version = learn(artist, encoder, recipe=replace(adapted, head=head), device="cpu", out=tmp_path / "v1")
        assert version.types == ("artist",) and version.tagger.head.kind == head
        again = learn(artist, encoder, recipe=replace(adapted, head=head), device="cpu")
        assert equal(version, again), "the same seed gives the same adapters"
        found = [tag(one.tagger, one.tagger.tokenize(artist.sentences)).ids for one in (version, load(tmp_path / "v1"))]
        assert found[0].tolist() == found[1].tolist()


class TestFastPaths:
    def test_half_precision_moves_the_adapters(self, prepared, adapted):
        step = TrainingStep(prepared, prepared.slice, replace(adapted, clip=0.0))
        half = step.arithmetic = MixedPrecision(prepared.student)
        before = [one.detach().clone() for one in adapter_parameters(prepared.student.network)]
        for windows, length in prepared.slice.shuffled(16, 0)[:2]:  # A has a gradient once B is not zero any more
            step(windows, length)
        after = adapter_parameters(prepared.student.network)
        assert {id(full) for full, _ in half.pairs} == {id(one) for one in after}
        assert all(not torch.equal(*pair) for pair in zip(before, after, strict=True))
        assert all(torch.equal(full.detach().bfloat16(), rounded.detach()) for full, rounded in half.pairs)

    def test_a_narrow_table_changes_nothing(self, first, city, adapted, monkeypatch):
        recipe = replace(adapted, precision="full")
        narrow = learn(city, first, recipe=recipe, device="cpu")
        for name, whole in (("narrow", lambda _: None), ("renumber", lambda _, one: one), ("widen", lambda _: None)):
            monkeypatch.setattr(EmbeddingSubset, name, whole)
        assert equal(narrow, learn(city, first, recipe=recipe, device="cpu"))

    def test_a_step_asks_the_device_nothing(self, prepared, adapted):
        """Else it could not be recorded on a GPU: a tensor without content has no number to tell."""
        layer = prepared.student.network.bert.encoder.layer[0].attention.self.query.to("meta")
        layer(torch.zeros(2, 8, 32, device="meta")).sum().backward()
        assert [one.grad.device.type for one in (*layer.lora_A.parameters(), *layer.lora_B.parameters())] == [
            "meta",
            "meta",
        ]


class TestKept:
    def test_the_state_of_an_epoch_has_what_can_change(self, prepared):
        state = learned_state(prepared.student)
        whole = prepared.student.state_dict()
        encoder = {name for name in state if name.startswith("network.")}
        assert encoder == {name for name in whole if ".lora_" in name} != set()
        assert {name for name in whole if name.startswith("head.")} < state.keys()

    def test_a_stopped_run_goes_on(self, first, few, adapted, tmp_path):
        class Stopped(Record):
            def step(self):
                super().step()
                if len(self.epochs) == self.stop_after:
                    raise KeyboardInterrupt

        recipe = replace(adapted, epochs=3)
        whole = learn(few, first, recipe=recipe, device="cpu")
        with pytest.raises(KeyboardInterrupt):
            learn(few, first, recipe=recipe, device="cpu", out=tmp_path / "v", progress=Stopped(2))
        record = Record()
        again = learn(few, first, recipe=recipe, device="cpu", out=tmp_path / "v", progress=record)
        assert [epoch.number for epoch in record.epochs] == [3] and equal(whole, again)

    def test_the_best_epoch_returns(self, first, city, adapted):
        """Of two runs that agree, the one that is stopped early is the one that was short."""
        dev = generate(40, seed=9, types=["city"])
        recipe = replace(adapted, epochs=6, lr=2e-2, patience=1)
        long = learn(city, first, dev=dev, recipe=recipe, device="cpu")
        scores = [epoch["dev"] for epoch in long.lineage.scores["history"]]
        best = long.lineage.scores["epoch"]
        assert scores[best - 1] == max(scores)
        task = prepare(first.tagger, TaskData(city, ("city",), dev), METHODS["retain"], recipe)
        assert long.lineage.prior or task.dev.scores(long.tagger).micro_of(("city",)) == pytest.approx(max(scores))

    def test_a_run_that_diverges_leaves_a_plain_version(self, first, few, adapted, tmp_path, monkeypatch):
        check, seen = TrainingLoop._require_finite, []

        def broken(loop, step, number, windows):
            seen.append(number)
            if loop.epoch == 1:
                step.log[number] = float("nan")
            check(loop, step, number, windows)

        monkeypatch.setattr(TrainingLoop, "_require_finite", broken)
        with pytest.raises(InputError, match="the last good epoch is kept in"):
            learn(few, first, recipe=adapted, device="cpu", out=tmp_path / "v")
        kept = load(tmp_path / "v.partial" / "epoch-1", device="cpu")
        assert moved(first, kept) and not adapter_parameters(kept.tagger.network)


@pytest.fixture(scope="module")
def chain(tmp_path_factory, first, city, quick):
    """Versions that store their parent: learned with adapters, and without."""
    folder = tmp_path_factory.mktemp("chain")
    first.save(folder / "v1")
    for name, rank in (("adapters", 4), ("everything", 0)):
        recipe = replace(quick, adapter_rank=rank)
        learn(city, folder / "v1", recipe=recipe, device="cpu", out=folder / name, keep_parent=True)
    return folder


class TestSaved:
    def test_it_is_a_plain_folder(self, chain, city):
        """transformers loads it as it loads any, and says what we say; peft is in the record alone."""
        version = load(chain / "adapters", device="cpu")
        model = AutoModelForTokenClassification.from_pretrained(chain / "adapters").eval()
        batch = version.tagger.tokenize(city.sentences).shuffled(4, 0)[0]
        encoded = version.tagger.tokenize(city.sentences).batch(*batch)
        with torch.no_grad():
            theirs = model(input_ids=encoded.ids, attention_mask=encoded.mask.long()).logits
            ours = version.tagger(encoded)
        assert torch.allclose(ours[encoded.mask.bool()], theirs[encoded.mask.bool()], atol=1e-5)
        names = {path.name for path in (chain / "adapters").iterdir()}
        assert names == {path.name for path in (chain / "everything").iterdir()}
        written = [name for name in names if re.search("peft|lora", name)]
        assert not written and "peft" not in (chain / "adapters" / "config.json").read_text()
        with pytest.raises(ValueError, match="adapter_config"):
            PeftModel.from_pretrained(model, chain / "adapters")

    def test_the_record_says_how(self, chain, capsys):
        record = json.loads((chain / "adapters" / "retainer.json").read_text())
        assert record["recipe"]["adapter_rank"] == 4 and record["versions"]["peft"]
        assert "peft" not in json.loads((chain / "everything" / "retainer.json").read_text())["versions"]
        assert main(["log", str(chain / "adapters")]) == 0
        assert capsys.readouterr().out.count("with adapters of rank 4") == 1

    def test_the_stored_parent_is_small_and_exact(self, chain, tmp_path, capsys):
        sizes = [
            (chain / name / "parent" / "model.safetensors.delta").stat().st_size for name in ("adapters", "everything")
        ]
        assert sizes[0] < 0.3 * sizes[1]  # of this tiny encoder; of a real one a thirtieth
        assert verify_folder(chain / "adapters").sentences == []
        shutil.copytree(chain / "adapters", tmp_path / "alone")
        assert main(["rollback", str(tmp_path / "alone"), "--out", str(tmp_path / "again")]) == 0
        assert sha256(tmp_path / "again" / "model.safetensors") == sha256(chain / "v1" / "model.safetensors")
        assert verify_folder(tmp_path / "again").sentences == []

    def test_a_changed_factor_is_found(self, chain, tmp_path):
        shutil.copytree(chain / "adapters", tmp_path / "v")
        delta = tmp_path / "v" / "parent" / "model.safetensors.delta"
        data = bytearray(delta.read_bytes())
        data[-3] ^= 1
        delta.write_bytes(data)
        assert verify_folder(tmp_path / "v").changed == ("parent/model.safetensors.delta",)

    def test_the_next_version_needs_no_adapters(self, chain, artist, quick):
        more = replace(generate(24, seed=8, types=["movie"]))
        version = learn(more, chain / "adapters", recipe=replace(quick, epochs=1), device="cpu")
        assert version.types == ("artist", "city", "movie")


@pytest.fixture
def called(chain, city, tmp_path, capsys):
    write(city, tmp_path / "city.conll", "conll")

    def call(*options):
        argv = ["learn", tmp_path / "city.conll", "--from", chain / "v1", "--epochs", "2", "--device", "cpu", *options]
        return main([str(part) for part in argv]), capsys.readouterr().err

    return call


class TestCommandLine:
    def test_the_same_run_again(self, called, tmp_path, chain):
        out = tmp_path / "v2"
        assert called("--set.adapter_rank", "4", "--out", out)[0] == 0
        status, said = called("--config", out / "retainer.json", "--out", tmp_path / "again")
        assert status == 0 and "not the settings" not in said
        assert sha256(out / "model.safetensors") == sha256(tmp_path / "again" / "model.safetensors")

    def test_another_peft_is_noted(self, called, tmp_path, monkeypatch):
        assert called("--set.adapter_rank", "4", "--out", tmp_path / "v2")[0] == 0
        usual = sys.modules["retainer.runtime"].version
        monkeypatch.setattr("retainer.runtime.version", lambda name: "0.99" if name == "peft" else usual(name))
        status, said = called("--config", tmp_path / "v2" / "retainer.json", "--out", tmp_path / "again")
        assert status == 0 and "(here 0.99); the last bits may differ" in said

    def test_a_dry_run(self, called, tmp_path):
        assert called("--set.adapter_rank", "4", "--dry-run", "--out", tmp_path / "v2")[0] == 0
        assert not (tmp_path / "v2").exists()

    @pytest.mark.parametrize(
        ("value", "sentence"),
        [
            ("-1", "adapter_rank must not be below 0, and is -1"),
            ("0.5", "adapter_rank of the recipe must be a whole number, not 0.5"),
            ("true", "adapter_rank of the recipe must be a whole number, not True"),
            ("33", "adapter_rank 33 is more than the width of the encoder, 32"),
        ],
    )
    @pytest.mark.parametrize("dry", [[], ["--dry-run"]])
    def test_bad_values(self, called, tmp_path, value, sentence, dry):
        status, said = called("--set.adapter_rank", value, "--out", tmp_path / "v2", *dry)
        assert status == 2 and sentence in said and said.count("\n") == 1
        assert not (tmp_path / "v2").exists() and not (tmp_path / "v2.partial").exists()

    def test_without_peft(self, called, tmp_path, monkeypatch):
        monkeypatch.setattr("retainer.model.adapters.find_spec", lambda name: None)
        status, said = called("--set.adapter_rank", "4", "--out", tmp_path / "v2")
        assert status == 2 and "run: pip install 'retainer[adapters]'" in said and said.count("\n") == 1

    def test_a_method_that_leaves_the_encoder_alone(self, called, tmp_path):
        status, said = called("--set.adapter_rank", "4", "--method", "frozen", "--out", tmp_path / "v2")
        assert status == 2 and "method frozen leaves the encoder as it is" in said

    def test_an_encoder_of_another_kind(self, called, tmp_path, monkeypatch):
        monkeypatch.setattr("retainer.model.adapters.QUERY_AND_VALUE", (("in_proj", "out_proj"),))
        status, said = called("--set.adapter_rank", "4", "--out", tmp_path / "v2")
        assert status == 2 and "adapters for BertForTokenClassification are not known" in said
        assert said.count("\n") == 1 and not (tmp_path / "v2.partial").exists()


def test_a_bench_with_adapters(encoder, tmp_path, capsys):
    """A cell of its own, with the rank in its record; `frozen` is refused before anything is measured."""
    data = tmp_path / "data"
    data.mkdir()
    for name, seed in (("train", 1), ("dev", 2), ("test", 3)):
        write(generate(60, seed=seed, types=["artist", "city"]), data / f"{name}.conll", "conll")
    call = ["bench", "own", "--data", data, "--out", tmp_path / "out", "--setting", "FG-1-PG-1", "--encoder", encoder]
    call += ["--device", "cpu", "--seeds", "1", "--set.epochs", "1", "--set.adapter_rank", "4", "--methods"]
    assert main([str(part) for part in (*call, "rdp")]) == 0
    (cell,) = (tmp_path / "out").glob("own/FG-1-PG-1/rdp.*/seed-1.json")
    assert json.loads(cell.read_text())["recipe"]["adapter_rank"] == 4
    capsys.readouterr()
    assert main([str(part) for part in (*call, "frozen")]) == 2
    assert "method frozen leaves the encoder as it is" in capsys.readouterr().err


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_blend_keeps_the_stored_parent_small(chain, tmp_path, share):
    before, after = (load(chain / name, device="cpu").tagger for name in ("v1", "adapters"))
    blended(after, before, share).save(tmp_path)
    sizes = []
    for rank in (4, 0):
        delta = tmp_path / f"{rank}.delta"
        write_delta(chain / "v1" / "model.safetensors", tmp_path / "model.safetensors", delta, rank)
        assert unpacked_sha256(delta, tmp_path / "model.safetensors") == sha256(chain / "v1" / "model.safetensors")
        sizes.append(delta.stat().st_size)
    assert sizes[0] < 0.9 * sizes[1]


def test_cells_without_adapters_keep_their_keys():
    """tests/bench/test_keys.py pins the hashes; here: 0 is the same as nothing, and 8 is a cell of its own."""
    setting = Setting("FG-1-PG-1", 1, 1, 10)
    plain, zero, eight = (
        Cell("p", setting, "retain", METHODS["retain"], 1, "builtin", Recipe().changed(change))
        for change in ({}, {"adapter_rank": 0}, {"adapter_rank": 8})
    )
    assert "adapter_rank" not in plain.configuration["recipe"] and plain.configuration == zero.configuration
    assert eight.configuration["recipe"]["adapter_rank"] == 8
    with pytest.raises(InputError, match="method frozen leaves the encoder as it is"):
        replace(eight, name="frozen", method=METHODS["frozen"])


def test_progress_is_not_needed(first, few, adapted):
    """The loop alone merges what it has trained."""
    task = prepare(first.tagger, TaskData(few, ("city",)), METHODS["rdp"], adapted)
    student = TrainingLoop(task, replace(adapted, epochs=1), 0, Progress()).run()
    assert not adapter_parameters(student.network) and not hasattr(student.network, "peft_config")
