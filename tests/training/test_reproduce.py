"""`learn --config V/retainer.json`: the run that made a version, again; told at once where it cannot be the same."""

import json
import shutil
from dataclasses import replace

import pytest
from recorded_progress import Record

from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.tasks import hide
from retainer.errors import InputError
from retainer.methods import METHODS
from retainer.training.learn import learn
from retainer.training.recipe import Recipe
from retainer.training.reproduce import Reproduction, expanded
from retainer.training.request import LearnRequest
from retainer.versions import retype
from retainer.versions.version import load

TYPES = ["artist", "city", "movie"]
BRIEF = ("--epochs", "2", "--device", "cpu")


@pytest.fixture(scope="module")
def made(tmp_path_factory, encoder):
    """Versions and the files they were learned from: v2 with settings of its own, v3 with types old and new."""
    folder = tmp_path_factory.mktemp("replay")
    shutil.copytree(encoder, folder / "encoder")
    write(hide(generate(120, seed=6, types=TYPES), ["artist"]), folder / "artist.conll", "conll")
    write(generate(120, seed=5, types=TYPES), folder / "all.conll", "conll")
    write(generate(40, seed=9, types=TYPES), folder / "dev.conll", "conll")
    calls = (
        ("artist.conll", "--from", "encoder", "--out", "v1", "--seed", "3"),
        ("all.conll", "--from", "v1", "--out", "v2", "--types", "city", "--dev", "dev.conll", "--method",
         "rdp", "--set.temperature", "0.5", "--set.lr", "1e-3", "--set.select", "all", "--seed", "7"),
        ("all.conll", "--from", "v2", "--out", "v3", "--types", "movie,artist", "--method", "cfner",
         "--recipe", "paper"),
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for call in calls:
            assert main(["learn", *call, *BRIEF]) == 0
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture
def run(capsys):
    def call(*argv):
        capsys.readouterr()
        status = main([*argv, "--device", "cpu"])
        return status, *capsys.readouterr()

    return call


@pytest.fixture
def refused(run, here):
    def call(*argv, says):
        before = sorted(here.rglob("*"))
        status, out, err = run("learn", *argv, "--out", "again")
        assert status == 2 and out == "" and len(err.splitlines()) == 1, err
        for part in says:
            assert part in err
        assert sorted(here.rglob("*")) == before, "something was written"

    return call


def record(folder):
    return json.loads((folder / "retainer.json").read_text())


class TestTheSame:
    @pytest.mark.parametrize(
        ("name", "call"),
        [
            ("v1", ("artist.conll", "--from", "encoder")),
            ("v1", ("artist.conll",)),
            ("v2", ("all.conll", "--dev", "dev.conll")),
            ("v3", ("all.conll",)),
        ],
    )
    def test_bit_for_bit(self, here, run, name, call):
        status, out, err = run("learn", *call, "--config", f"{name}/retainer.json", "--out", "again")
        assert status == 0 and "the same weights, bit for bit" in out and "not the settings" not in err
        assert (here / "again" / "model.safetensors").read_bytes() == (here / name / "model.safetensors").read_bytes()
        same = ("parent", "parent_hash", "tasks", "again", "data", "method", "fields", "recipe", "seed", "calibration")
        one, other = record(here / name), record(here / "again")
        assert {key: one[key] for key in same} == {key: other[key] for key in same}
        assert one["scores"]["balance"] == other["scores"]["balance"]

    def test_the_folder_will_do_and_so_will_a_copy_of_the_record(self, here, run):
        status, out, _ = run("learn", "artist.conll", "--config=v1", "--out", "again", "--json")
        assert json.loads(out)["replays"] == {"hash": record(here / "v1")["hash"], "same_weights": True}
        shutil.copy(here / "v1" / "retainer.json", here / "my-run.json")
        shutil.rmtree(here / "v1")
        status, out, _ = run("learn", "artist.conll", "--config", "my-run.json", "--from", "encoder", "--out", "v1")
        assert status == 0 and "bit for bit" in out

    def test_old_types_found_but_not_named(self, here, run):
        """They were gold where they stood; naming them would claim more."""
        argv = ("learn", "all.conll", "--from", "v1", "--out", "loose", *BRIEF[:2])
        assert run(*argv)[0] == 0
        assert not any(word.startswith("--types") for word in expanded(["--config", "loose"])[0])
        status, out, err = run("learn", "all.conll", "--config", "loose", "--out", "again")
        assert status == 0 and "bit for bit" in out and "also has entities of artist" in err

    @pytest.mark.parametrize("name", [name for name, one in METHODS.items() if not one.joint])
    def test_every_method_is_found_again(self, name, here, first):
        """One with fields of its own is recorded by its class."""
        told = {**record(here / "v3"), "method": type(METHODS[name]).__name__, "fields": {}}
        (here / "v3" / "retainer.json").write_text(json.dumps(told))
        (flag,) = (word for word in expanded(["--config", "v3"])[0] if word.startswith("--method="))
        assert type(METHODS[flag.removeprefix("--method=")]) is type(METHODS[name])


class TestTheCommandLineWins:
    def test_and_what_differs_is_told(self, here, run):
        argv = ("learn", "all.conll", "--config", "v2", "--dev", "dev.conll", "--out", "again")
        status, out, err = run(*argv, "--seed", "8", "--set.lr", "2e-3", "--epochs", "1")
        assert status == 0 and "other weights" in out
        assert "seed 8 instead of 7" in err and "lr 0.002 instead of 0.001" in err and "epochs 1 instead of 2" in err
        made = record(here / "again")
        assert made["seed"] == 8 and made["fields"]["temperature"] == 0.5 and made["recipe"]["lr"] == 2e-3

    def test_another_method_or_recipe_brings_its_own_numbers(self, here, run):
        argv = ("learn", "all.conll", "--config", "v2", "--dev", "dev.conll", "--out", "again", "--epochs", "1")
        status, _, err = run(*argv, "--method", "extend_ner", "--recipe", "paper")
        made = record(here / "again")
        assert status == 0 and made["method"] == "extend_ner" and made["recipe"]["optimizer"] == "sgd"
        assert "method extend_ner instead of rdp" in err and made["seed"] == 7


class TestNotTheSame:
    def test_other_data(self, here, run, refused):
        write(generate(110, seed=5, types=TYPES), here / "fewer.conll", "conll")
        call = ("fewer.conll", "--config", "v2", "--dev", "dev.conll")
        refused(*call, says=["not what version", "DATA has 110 sentences to learn from instead of 120", "--anyway"])
        refused(*call, "--dry-run", says=["DATA has 110 sentences"])
        status, out, err = run("learn", *call, "--anyway", "--out", "again")
        assert status == 0 and "other weights" in out and "DATA has 110 sentences" in err

    def test_other_words_or_entities(self, here, refused):
        text = (here / "artist.conll").read_text()
        (here / "words.conll").write_text(text.replace("\tO", "x\tO", 1))
        refused("words.conll", "--config", "v1", says=["as many sentences and entities, but other ones"])

    def test_another_dev_set_or_none(self, here, refused):
        write(generate(40, seed=10, types=TYPES), here / "other.conll", "conll")
        refused("all.conll", "--config", "v2", "--dev", "other.conll", says=["the dev set differs"])
        refused("all.conll", "--config", "v2", says=["it had a dev set of 40 sentences (--dev)"])
        refused("artist.conll", "--config", "v1", "--dev", "dev.conll", says=["it had no --dev"])

    def test_another_parent(self, here, refused):
        """Its weights are the same, and still it is another version."""
        retype.rename_types(load("v2", device="cpu"), {"city": "town"}).save("renamed")
        says = ["the model to start from (--from) is not v2"]
        refused("all.conll", "--config", "v3", "--from", "renamed", says=says)
        refused("all.conll", "--config", "v3", "--from", "v1", says=says)

    def test_a_parent_that_is_not_there(self, here, run, refused):
        (here / "elsewhere").mkdir()
        shutil.move(here / "v1", here / "elsewhere" / "v1")
        call = ("all.conll", "--config", "v2", "--dev", "dev.conll")
        refused(*call, says=["(v1, ", "does not lie beside it; say where it is (--from)", "rollback"])
        status, out, _ = run("learn", *call, "--from", "elsewhere/v1", "--out", "again")
        assert status == 0 and "bit for bit" in out

    def test_a_record_that_chose_its_epoch_otherwise(self, here):
        """Older versions chose on a few entities set aside; today that gives another epoch, which must be said."""
        task = LearnRequest("artist.conll", "encoder", recipe=Recipe(epochs=2), seed=3, device="cpu").resolve()
        record, progress = load("v1", device="cpu").lineage, Record()
        Reproduction(record).check(task.facts, task.version.lineage.own_hash, progress)
        assert record.data["dev_chooses"] is False and progress.notes == []
        data = {name: value for name, value in record.data.items() if name != "dev_chooses"}
        older = replace(record, data=data, scores={**record.scores, "dev": 91.0})
        Reproduction(older).check(task.facts, task.version.lineage.own_hash, progress)
        assert (
            len(progress.notes) == 1 and "chose its epoch differently; here the last epoch is kept" in progress.notes[0]
        )

    def test_other_software_is_told(self, here, run):
        told = record(here / "v1")
        (here / "old.json").write_text(json.dumps({**told, "versions": {**told["versions"], "torch": "1.0"}}))
        _, out, err = run("learn", "artist.conll", "--config", "old.json", "--from", "encoder", "--out", "again")
        assert "made with torch 1.0 (here " in err and "bit for bit" in out


class TestNoRunToRepeat:
    def test_records_without_one(self, here, refused):
        retype.rename_types(load("v1", device="cpu"), {"artist": "musician"}).save("renamed")
        refused("artist.conll", "--config", "renamed", says=["was not learned (renamed artist to musician)"])
        (here / "v1" / "retainer.json").write_text("{")
        refused("artist.conll", "--config", "v1", says=["is damaged"])
        refused("artist.conll", "--from", "encoder", "--anyway", says=["none is given"])

    def test_yaml_is_yaml(self, here, run):
        (here / "run.yaml").write_text("epochs: 1\nseed: 4\n")
        assert run("learn", "artist.conll", "--from", "encoder", "--config", "run.yaml", "--out", "again")[0] == 0
        assert record(here / "again")["seed"] == 4 and record(here / "again")["recipe"]["epochs"] == 1

    def test_in_memory_versions_have_no_file_to_compare(self, first, city, tmp_path):
        learn(city, first, recipe=Recipe(epochs=1), device="cpu", out=tmp_path / "v2")
        with pytest.raises(InputError, match="does not lie beside it"):
            expanded(["--config", str(tmp_path / "v2")])
