"""The record of a version: complete, chained, checked; and going back along it."""

import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.errors import InputError
from retainer.files import in_words, sha256
from retainer.training.learn import learn
from retainer.versions import retype
from retainer.versions.delta import apply_delta, write_delta
from retainer.versions.history import origins
from retainer.versions.lineage import Lineage, record_hash
from retainer.versions.version import load


@pytest.fixture(scope="module")
def made(tmp_path_factory, encoder, artist, city, quick):
    """Four versions in a row, in folders: v1 and v2 learned, v3 renamed, v4 learned with a dev set of all types."""
    folder = tmp_path_factory.mktemp("models")
    both = generate(40, seed=9, types=["artist", "city", "movie"])
    renamed = [s.with_spans(replace(x, type="town" if x.type == "city" else x.type) for x in s.spans) for s in both]
    learn(artist, encoder, recipe=quick, seed=1, device="cpu", out=folder / "v1")
    learn(city, folder / "v1", recipe=quick, method="extend_ner", device="cpu", out=folder / "v2")
    retype.rename_types(load(folder / "v2", device="cpu"), {"city": "town"}).save(folder / "v3")
    movie = generate(60, seed=8, types=["movie"])
    dev = replace(both, sentences=tuple(renamed))
    learn(movie, folder / "v3", method="rdp", recipe=quick, device="cpu", dev=dev, out=folder / "v4")
    return folder


@pytest.fixture
def models(made, tmp_path, monkeypatch):
    """A copy of the four, as a working folder."""
    shutil.copytree(made, tmp_path / "models")
    monkeypatch.chdir(tmp_path / "models")
    return tmp_path / "models"


@pytest.fixture
def run(capsys):
    """Run a command; return its status and what it printed."""

    def call(*argv):
        capsys.readouterr()  # what making the models printed
        status = main([str(arg) for arg in argv])
        out, err = capsys.readouterr()
        return status, out, err

    return call


@pytest.fixture
def refused(run, models):
    """Run a command that must be refused: status 2, one sentence, nothing written."""

    def call(*argv, says):
        before = sorted(models.rglob("*"))
        status, out, err = run(*argv)
        assert status == 2 and out == "" and len(err.splitlines()) == 1, err
        for part in [says] if isinstance(says, str) else says:
            assert part in err
        assert sorted(models.rglob("*")) == before, "something was written"

    return call


def record(folder):
    return json.loads((folder / "retainer.json").read_text())


def bytes_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def flip(file):
    """Change one bit in the middle of a file."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


class TestRecord:
    def test_it_is_complete(self, made):
        one = record(made / "v2")
        assert one["parent"] == record(made / "v1")["weights"] and one["parent_name"] == "v1"
        assert one["tasks"] == [["artist"], ["city"]] and one["method"] == "extend_ner" and one["fields"]
        assert one["data"]["sha256"] and one["data"]["sentences"] == 60 and set(one["data"]["entities"]) == {"city"}
        assert one["recipe"]["epochs"] == 2 and one["seed"] == 0 and one["created"] and one["versions"]["torch"]
        files = {path.name for path in (made / "v2").iterdir()} - {"retainer.json", "README.md"}
        assert set(one["files"]) == files and one["files"]["model.safetensors"] == one["weights"]
        assert str(made) not in json.dumps(one), "no path of the machine"

    def test_scores_per_type_where_the_dev_set_tells_something(self, made):
        scores = record(made / "v4")["scores"]
        assert set(scores["per_type"]) == {"artist", "town", "movie"} and set(scores["before"]) == {"artist", "town"}
        assert set(scores["per_type"]["movie"]) == {"precision", "recall", "f1", "support"}
        assert scores["dev"] == pytest.approx(scores["per_type"]["movie"]["f1"]), "the epoch was chosen on the new type"

    def test_the_scores_are_those_of_the_version_and_of_the_one_before(self, made, encoder, artist, city, quick):
        dev = generate(60, seed=11, types=["artist", "city"])
        recipe = replace(quick, epochs=10)
        one = learn(artist, encoder, recipe=recipe, device="cpu")
        two = learn(city, one, recipe=recipe, dev=dev, device="cpu")
        now = {type_: score["f1"] for type_, score in two.lineage.scores["per_type"].items()}
        assert now == {type_: score.f1 for type_, score in two.evaluate(dev).per_type.items()} and any(now.values())
        assert two.lineage.scores["before"]["artist"]["f1"] == one.evaluate(dev).per_type["artist"].f1 > 0

    def test_what_was_set_aside_tells_nothing_about_old_types(self, first, quick):
        """There an old type may be annotated here and there only."""
        mixed = generate(120, seed=4, types=["artist", "city"])
        version = learn(mixed, first, recipe=quick, device="cpu")
        assert set(version.lineage.scores["per_type"]) == {"city"} and "before" not in version.lineage.scores

    def test_the_chain_is_in_the_last_record(self, made):
        four = Lineage.load(made / "v4")
        hashes = [record(made / f"v{number}")["hash"] for number in (1, 2, 3)]
        assert [one["hash"] for one in four.ancestors] == hashes and four.parent_hash == hashes[-1]
        assert len(set(hashes)) == 3, "a renamed version has the same weights, but is another one"
        assert record(made / "v3")["weights"] == record(made / "v2")["weights"]

    def test_a_record_of_before_loads_and_goes_on(self, models, city, quick):
        """Files written before there were hashes of records, of files, and ancestors."""
        old = {
            name: value
            for name, value in record(models / "v1").items()
            if name
            in "encoder parent task tasks data method fields recipe seed scores versions created weights".split()
        }
        old["scores"].pop("per_type")
        (models / "v1" / "retainer.json").write_text(json.dumps(old))
        version = load(models / "v1", device="cpu")
        assert version.lineage.files == {} and version.types == ("artist",)
        learn(city, version, recipe=quick, device="cpu", out=models / "v5")
        assert Lineage.load(models / "v5").parent_hash == record_hash(old)
        assert main(["verify", "v5"]) == main(["verify", "v1"]) == main(["log", "v5"]) == 0
        assert main(["rollback", "v5", "--out", "again"]) == 0
        assert (models / "again" / "retainer.json").read_text() == json.dumps(old)

    def test_a_record_of_the_future_is_refused_with_the_reason(self, models):
        (models / "v1" / "retainer.json").write_text(json.dumps({**record(models / "v1"), "flavour": "salt"}))
        with pytest.raises(InputError, match=r"'flavour' is not known here, a newer retainer"):
            load(models / "v1")

    @pytest.mark.parametrize("name", ["../v2/config.json", "/etc/hostname", "a/../../b"])
    def test_names_that_lead_out_of_the_folder_are_refused(self, models, run, name):
        """A record may come from a stranger, and rollback writes what it names."""
        for field in ("files", "parent_files"):
            (models / "v1" / "retainer.json").write_text(json.dumps({**record(models / "v1"), field: {name: "0"}}))
            with pytest.raises(InputError, match="not a path inside the folder"):
                Lineage.read(models / "v1")
        assert run("rollback", "v1", "--out", "back")[0] == 2

    def test_an_empty_field_more_does_not_change_a_hash(self, made):
        one = record(made / "v1")
        assert record_hash({**one, "flavour": "", "salt": [], "sugar": {}}) == one["hash"]
        assert record_hash({**one, "flavour": "sweet"}) != one["hash"] != record_hash({**one, "seed": 2})

    @pytest.mark.parametrize("name", ["v1", "v4"])
    def test_the_hash_alone_is_read_without_the_ancestors(self, models, name):
        file = models / name / "retainer.json"
        whole, record = Lineage.read(models / name).own_hash, json.loads(file.read_text())
        assert whole and Lineage.read_hash(models / name) == whole
        turned = dict(reversed(record.items()))
        for other in (
            json.dumps(record),
            json.dumps(turned),
            json.dumps(turned, indent=2),
            json.dumps(record, indent=4),
        ):
            file.write_text(other)
            assert Lineage.read_hash(models / name) == whole, "in any form"
        bare = {key: value for key, value in record.items() if key not in ("hash", "ancestors")}
        file.write_text(json.dumps(bare, indent=2))
        assert Lineage.read_hash(models / name) == Lineage.read(models / name).own_hash
        file.write_text(json.dumps(record, indent=2)[:200])
        with pytest.raises(InputError, match="damaged"):
            Lineage.read_hash(models / name)

    def test_a_long_history_is_not_read_for_it(self, models, monkeypatch):
        """So the history of a version among a thousand takes a thousand short looks, not a million."""
        monkeypatch.setattr("retainer.versions.lineage.read_own", None)
        assert Lineage.read_hash(models / "v4") == record(models / "v4")["hash"]

    def test_where_every_type_comes_from(self, made):
        known = origins(Lineage.load(made / "v4"))
        assert {type_: origin.version for type_, origin in known.items()} == {"artist": 1, "town": 2, "movie": 4}
        assert known["town"].story == "called city before" and known["town"].now and known["town"].before
        renamed = origins(Lineage.load(made / "v3"))
        assert renamed["town"].version == 2 and renamed["artist"].now is None


class TestLog:
    def test_newest_first(self, models, run):
        status, out, err = run("log", "v4")
        assert status == 0 and err == ""
        order = [
            out.index(part) for part in ("learned movie", "renamed city to town", "learned city", "learned artist")
        ]
        assert order == sorted(order)
        for number in (1, 2, 3, 4):
            assert f"● {record(models / f'v{number}')['hash'][:12]}" in out
            assert f"  v{number}\n" in out, "the versions that lie beside are named"
        assert "extend_ner, 60 sentences" in out and "town" in out and "(before " in out
        assert "bare encoder" in out.splitlines()[-1]

    def test_json(self, models, run):
        document = json.loads(run("log", "v4", "--json")[1])
        assert [one["gained"] for one in document["versions"]] == [["movie"], [], ["city"], ["artist"]]
        assert [one["number"] for one in document["versions"]] == [4, 3, 2, 1]
        assert document["versions"][0]["types"] == ["artist", "town", "movie"]

    def test_of_several_copies_the_recorded_one_is_named(self, models, run):
        """A copy, or what rollback wrote, has the same hash; the record says what the parent was called."""
        shutil.copytree(models / "v1", models / "a-copy")
        (models / "b-link").symlink_to("v3")
        places = [one["place"] for one in json.loads(run("log", "v4", "--json")[1])["versions"]]
        assert places == ["v4", "v3", "v2", "v1"]
        assert json.loads(run("log", "a-copy", "--json")[1])["versions"][0]["place"] == "a-copy", (
            "the one that is asked"
        )
        (models / "v1").rename(models / "zero")
        places = [one["place"] for one in json.loads(run("log", "v4", "--json")[1])["versions"]]
        assert places[-1] == "a-copy", "none bears the name, and both are that version"

    def test_of_a_foreign_beginning(self, checkpoint, city, quick, run, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        learn(city, checkpoint("O", "B-x", "I-x"), recipe=quick, device="cpu", out=tmp_path / "v")
        assert "which knew x" in run("log", "v")[1].splitlines()[-1]

    def test_wrong_calls(self, refused, encoder):
        refused("log", "nowhere", says="nowhere is not a folder")
        refused("log", encoder, says="has no retainer.json")


class TestVerify:
    def test_all_is_well(self, models, run):
        for name in ("v1", "v2", "v3", "v4"):
            status, out, err = run("verify", name)
            assert status == 0 and f"{name} is as it was saved" in out and err == ""
        assert "a chain of 4 versions" in out and record(models / "v4")["hash"][:12] in out
        assert json.loads(run("verify", "v4", "--json")[1])["ok"] is True

    @pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"])
    def test_a_changed_file_is_named(self, models, run, name):
        flip(models / "v2" / name)
        status, out, err = run("verify", "v2")
        assert status == 1 and f"{name} was changed" in out and err == ""
        found = json.loads(run("verify", "v2", "--json")[1])
        assert not found["ok"] and found["changed"] == [name] and found["missing"] == found["added"] == []

    def test_missing_and_added_files(self, models, run):
        (models / "v2" / "tokenizer_config.json").unlink()
        (models / "v2" / "added_tokens.json").write_text("{}")
        for harmless in (".gitattributes", "LICENSE", "NOTES.md"):
            (models / "v2" / harmless).write_text("mine")
        status, out, _ = run("verify", "v2")
        assert status == 1 and out.splitlines()[1:] == [
            "  tokenizer_config.json is missing",
            "  added_tokens.json was added",
        ]

    def test_people_may_edit_the_card(self, models, run):
        (models / "v2" / "README.md").write_text("ours now")
        assert run("verify", "v2")[0] == 0

    @pytest.mark.parametrize(
        "change", [{"seed": 7}, {"created": ""}, {"data": {}}, {"hash": ""}, {"parent_hash": "00"}]
    )
    def test_a_changed_record(self, models, run, change):
        (models / "v2" / "retainer.json").write_text(json.dumps({**record(models / "v2"), **change}))
        status, out, _ = run("verify", "v2")
        assert status == 1 and "retainer.json was changed" in out

    def test_a_broken_record(self, models, run):
        (models / "v2" / "retainer.json").write_text("{")
        status, out, _ = run("verify", "v2")
        assert status == 1 and "retainer.json was changed" in out

    def test_a_changed_ancestor_breaks_the_chain(self, models, run):
        one = record(models / "v4")
        one["ancestors"][1]["data"]["sentences"] = 61
        (models / "v4" / "retainer.json").write_text(json.dumps(one))
        status, out, _ = run("verify", "v4")
        assert status == 1 and "the chain is broken" in out and one["ancestors"][1]["hash"][:12] in out
        one["ancestors"] = one["ancestors"][2:]
        (models / "v4" / "retainer.json").write_text(json.dumps(one))
        assert "the versions before" in run("verify", "v4")[1]

    def test_labels_that_do_not_fit(self, models, run):
        """Where an older retainer wrote no hashes, the labels are what can be compared."""
        one = record(models / "v2")
        (models / "v2" / "retainer.json").write_text(json.dumps({**one, "files": {}, "hash": ""}))
        status, out, err = run("verify", "v2")
        assert status == 0 and "config.json" in err, "it is said what cannot be checked"
        config = json.loads((models / "v2" / "config.json").read_text())
        for change, said in (
            ({"id2label": {**config["id2label"], "3": "B-town", "4": "I-town"}}, "types are not those"),
            ({"label2id": {**config["label2id"], "O": 1}}, "disagree about O"),
            ({"id2label": {str(at): "O" for at in range(3)}, "label2id": {"O": 0}}, "a head of 5 rows"),
            ({"id2label": {"0": "x"}}, "no labels that can be read"),
        ):
            (models / "v2" / "config.json").write_text(json.dumps({**config, **change}))
            status, out, _ = run("verify", "v2")
            assert status == 1 and said in out

    def test_language_models_are_compared_too(self, encoder, artist, quick, run, tmp_path):
        learn(artist, encoder, recipe=quick, method="learn_and_review", device="cpu", out=tmp_path / "v")
        assert run("verify", tmp_path / "v")[0] == 0
        flip(tmp_path / "v" / "generators" / "1" / "generator.safetensors")
        status, out, _ = run("verify", tmp_path / "v")
        assert status == 1 and "generators/1/generator.safetensors was changed" in out

    def test_without_a_record(self, refused, checkpoint, models):
        refused("verify", checkpoint("O", "B-x"), says=["has no retainer.json", "nothing to compare it with"])
        refused("verify", "nowhere", says="not a folder")


class TestRollback:
    @pytest.mark.parametrize("steps", [1, 2, 3])
    def test_the_same_bits_come_back(self, models, run, steps):
        status, out, err = run("rollback", "v4", "--out", "back", "--steps", steps)
        assert status == 0 and err == "" and "back to" in out and "written" in out
        assert bytes_of(models / "back") == bytes_of(models / f"v{4 - steps}")
        assert run("verify", "back")[0] == 0
        assert load("back", device="cpu").types

    def test_to_a_hash(self, models, run, refused):
        wanted = record(models / "v1")["hash"]
        document = json.loads(run("rollback", "v4", "--out", "back", "--to", wanted[:8], "--json")[1])
        assert document["hash"] == wanted and document["types"] == ["artist"]
        assert document["bytes"] == sum(path.stat().st_size for path in (models / "back").rglob("*"))
        refused("rollback", "v4", "--out", "x", "--to", "ffff", says=["no version", wanted[:12]])
        refused("rollback", "v4", "--out", "x", "--to", "a", says="too short")
        refused("rollback", "v4", "--out", "x", "--to", wanted, "--steps", 2, says="--steps and --to")

    def test_folders_may_have_got_other_names(self, models, run):
        (models / "v3").rename(models / "zzz")
        run("rollback", "v4", "--out", "back")
        assert bytes_of(models / "back") == bytes_of(models / "zzz")

    def test_a_parent_elsewhere(self, models, run, refused, tmp_path):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (models / "v3").rename(elsewhere / "v3")
        refused("rollback", "v4", "--out", "back", says=["v3", "neither beside", "--from", "--keep-parent"])
        refused("rollback", "v4", "--out", "back", "--from", "nowhere", says="--from nowhere is not a folder")
        assert run("rollback", "v4", "--out", "back", "--from", elsewhere)[0] == 0
        assert run("rollback", "v4", "--out", "again", "--from", elsewhere / "v3")[0] == 0
        assert bytes_of(models / "back") == bytes_of(models / "again") == bytes_of(elsewhere / "v3")

    def test_a_changed_parent(self, models, run, refused):
        shutil.copytree("v3", "whole")
        flip(models / "v3" / "tokenizer.json")
        assert run("rollback", "v4", "--out", "back")[0] == 0, "another copy lies there"
        shutil.rmtree("whole")
        shutil.rmtree("back")
        refused(
            "rollback", "v4", "--out", "back", says=["v3", "not as it was saved: tokenizer.json was changed", "--from"]
        )

    def test_what_was_written_is_looked_at_again(self, models, refused, monkeypatch):
        def careless(source, target):
            target.write_bytes(source.read_bytes()[: -1 if source.name == "config.json" else None])

        monkeypatch.setattr("shutil.copyfile", careless)
        refused("rollback", "v4", "--out", "back", says="v3 (")

    def test_nothing_before(self, refused, models):
        refused("rollback", "v1", "--out", "back", says="the bare encoder")
        refused(
            "rollback",
            "v4",
            "--out",
            "back",
            "--steps",
            5,
            says="v4 goes back 4 steps at most",
        )
        refused("rollback", "v4", "--out", "back", "--steps", 0, says="at least 1")
        refused("rollback", "v4", "--out", "v1", says="exists already")
        refused("rollback", "nowhere", "--out", "back", says="nowhere")

    def test_a_parent_that_was_never_saved(self, first, city, quick, refused, models):
        loose = replace(first.lineage, weights="", hash="", files={})
        version = type(first)(first.tagger, loose)
        learn(city, version, recipe=quick, device="cpu", out=models / "v9")
        refused("rollback", "v9", "--out", "back", says="never saved")

    def test_a_foreign_parent(self, checkpoint, city, quick, run, refused, models):
        foreign = shutil.copytree(checkpoint("O", "B-x", "I-x"), models / "foreign")
        learn(city, foreign, recipe=quick, device="cpu", out=models / "v9")
        assert run("rollback", "v9", "--out", "back")[0] == 0
        assert bytes_of(models / "back") == bytes_of(foreign)
        shutil.rmtree("back")
        flip(foreign / "config.json")
        refused("rollback", "v9", "--out", "back", says=["foreign", "config.json was changed"])

    def test_no_room(self, models, refused, monkeypatch):
        monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=10))
        refused("rollback", "v4", "--out", "back", says=["would need", "10 bytes are free"])


class TestKeepParent:
    @pytest.fixture
    def kept(self, models, city, quick):
        """v3 and v4 learned again, each with its parent inside, and all other folders gone."""
        rename = retype.rename_types(load(models / "v2", device="cpu"), {"city": "town"})
        rename.save(models / "w3", keep_parent=models / "v2")
        movie = generate(60, seed=8, types=["movie"])
        learn(movie, models / "w3", recipe=quick, device="cpu", out=models / "w4", keep_parent=True)
        before = {name: bytes_of(models / name) for name in ("v2", "w3")}
        for name in ("v1", "v2", "v3", "v4", "w3"):
            shutil.rmtree(models / name)
        return before

    def test_it_comes_out_again_bit_for_bit(self, models, kept, run):
        assert run("verify", "w4")[0] == 0
        assert run("rollback", "w4", "--out", "three")[0] == 0
        assert bytes_of(models / "three") == kept["w3"]
        assert run("rollback", "w4", "--out", "two", "--steps", 2)[0] == 0
        assert bytes_of(models / "two") == kept["v2"]
        assert run("verify", "two")[0] == run("verify", "three")[0] == 0
        assert run("rollback", "three", "--out", "again")[0] == 0
        assert bytes_of(models / "again") == kept["v2"]

    def test_it_costs_less_than_a_copy(self, models, kept):
        stored = {str(path): len(data) for path, data in bytes_of(models / "w4" / "parent").items()}
        assert "model.safetensors.delta" in stored and "tokenizer.json" not in stored
        assert sum(stored.values()) < sum(map(len, kept["w3"].values()))

    def test_a_rename_keeps_next_to_nothing(self, models):
        version = load(models / "v2", device="cpu")
        retype.rename_types(version, {"city": "town"}).save(models / "w3", keep_parent=models / "v2")
        assert not list((models / "w3" / "parent").glob("*.delta")), "the weights are the same file"

    def test_not_needed(self, models, kept, run, refused):
        shutil.rmtree(models / "w4" / "parent")
        assert run("verify", "w4")[0] == 0, "whoever wants the room may delete it"
        refused("rollback", "w4", "--out", "back", says="nor stored inside")

    @pytest.mark.parametrize("name", ["parent/model.safetensors.delta", "parent/config.json", "parent/retainer.json"])
    def test_damage_is_reported(self, models, kept, run, refused, name):
        flip(models / "w4" / name)
        status, out, _ = run("verify", "w4")
        assert status == 1 and f"{name} was changed" in out
        status, _, err = run("rollback", "w4", "--out", "back")
        assert status == 2 and not (models / "back").exists() and err.startswith("retainer: ")

    def test_what_it_says_about_itself_is_damaged(self, models, kept, run, refused):
        (models / "w4" / "parent" / "kept.json").write_text("{")
        status, out, _ = run("verify", "w4")
        assert status == 1 and "parent/kept.json was changed" in out
        refused("rollback", "w4", "--out", "back", says="kept.json is damaged")

    def test_a_name_that_leads_out_of_the_folder(self, models, kept, refused):
        facts = json.loads((models / "w4" / "parent" / "kept.json").read_text())
        facts["files"]["../../stolen"] = facts["files"].pop("config.json")
        (models / "w4" / "parent" / "kept.json").write_text(json.dumps(facts))
        refused("rollback", "w4", "--out", "back", says="kept.json is damaged")

    def test_the_version_itself_must_be_whole(self, models, kept, refused):
        flip(models / "w4" / "model.safetensors")
        refused("rollback", "w4", "--out", "back", says="model.safetensors of the parent inside w4 cannot be written")

    def test_by_command(self, models, run, city, refused):
        from retainer.data.io import write

        write(generate(60, seed=8, types=["dish"]), "dish.conll", "conll")
        call = ("learn", "dish.conll", "--from", "v1", "--out", "w2", "--epochs", 1, "--device", "cpu")
        status, out, _ = run(*call, "--keep-parent")
        assert status == 0 and "kept      the previous version" in out and "kB" in out
        assert in_words(sum(map(len, bytes_of(models / "w2" / "parent").values()))) in out
        assert not (models / "v2" / "parent").exists(), "nothing is kept unless asked for"

    def test_nothing_to_keep(self, encoder, artist, city, first, quick, tmp_path):
        with pytest.raises(InputError, match="first version"):
            learn(artist, encoder, recipe=quick, device="cpu", out=tmp_path / "v", keep_parent=True)
        loose = type(first)(first.tagger, first.lineage)
        with pytest.raises(InputError, match="not loaded from a folder"):
            learn(city, loose, recipe=quick, device="cpu", out=tmp_path / "v", keep_parent=True)
        with pytest.raises(InputError, match="needs a folder"):
            learn(city, first, recipe=quick, device="cpu", keep_parent=True)
        assert list(tmp_path.iterdir()) == []

    def test_a_parent_changed_meanwhile(self, models, city, quick):
        version = load(models / "v1", device="cpu")
        flip(models / "v1" / "tokenizer.json")
        with pytest.raises(InputError, match=r"tokenizer\.json was changed after it was saved, .*v1 cannot be stored"):
            learn(city, version, recipe=quick, device="cpu", out=models / "w2", keep_parent=True)
        assert not (models / "w2").exists()

    def test_a_foreign_parent(self, checkpoint, city, quick, run, models):
        foreign = shutil.copytree(checkpoint("O", "B-x", "I-x"), models / "foreign")
        before = bytes_of(foreign)
        (foreign / "train.txt").write_text("private")
        learn(city, foreign, recipe=quick, device="cpu", out=models / "w2", keep_parent=True)
        shutil.rmtree(foreign)
        assert run("rollback", "w2", "--out", "back")[0] == 0 and bytes_of(models / "back") == before


TENSORS = st.dictionaries(
    st.sampled_from("abcd"),
    st.tuples(
        st.sampled_from(["float32", "float16", "int64", "uint8"]),
        st.lists(st.integers(0, 3), max_size=2),
        st.integers(0, 2**31),
    ),
    min_size=1,
)


@settings(max_examples=60, deadline=None)
@given(TENSORS, TENSORS)
def test_any_file_comes_out_of_its_difference_to_any_other(tmp_path_factory, one, other):
    folder = tmp_path_factory.mktemp("delta")
    for name, tensors in (("one", one), ("other", other)):
        made = {
            key: np.random.default_rng(seed).integers(0, 9, size=shape).astype(kind)
            for key, (kind, shape, seed) in tensors.items()
        }
        save_file(made, folder / name, metadata={"format": name})
    write_delta(folder / "one", folder / "other", folder / "delta")
    apply_delta(folder / "delta", folder / "other", folder / "again")
    assert sha256(folder / "again") == sha256(folder / "one")


@pytest.mark.parametrize(("size", "said"), [(12, "12 bytes"), (90_281_028, "90 MB"), (1_300_000_000, "1.3 GB")])
def test_sizes_in_words(size, said):
    assert in_words(size) == said
