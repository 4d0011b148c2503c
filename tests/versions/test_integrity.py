"""A changed version is not served as if whole, nothing outside its folder is read, and strangers do no harm."""

import json
import os
import random
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from retainer.cli.main import main
from retainer.errors import InputError
from retainer.files import new_folder, scratch_folder, sha256, write_text
from retainer.versions import version as versions
from retainer.versions.delta import can_unpack
from retainer.versions.lineage import Lineage
from retainer.versions.verify import verify_folder
from retainer.versions.version import load

FIXTURE = Path(__file__).parents[1] / "fixtures" / "version-0.1.0"
"""v2 stores its parent."""


@pytest.fixture
def models(tmp_path, monkeypatch):
    """Copies of two versions, as a working folder."""
    for name in ("v1", "v2"):
        shutil.copytree(FIXTURE / name, tmp_path / "models" / name)
    monkeypatch.chdir(tmp_path / "models")
    return tmp_path / "models"


def swap_labels(folder):
    """Make a config call cities artists, and the other way round."""
    config = json.loads((folder / "config.json").read_text())
    other = {"artist": "city", "city": "artist"}
    names = {at: name[:2] + other[name[2:]] if name != "O" else name for at, name in config["id2label"].items()}
    config.update(id2label=names, label2id={name: int(at) for at, name in names.items()})
    (folder / "config.json").write_text(json.dumps(config))


def changed_bytes(file, count, seed=0):
    """Yield copies of a file's bytes in which one byte is another."""
    data, draw = file.read_bytes(), random.Random(seed)
    for at in draw.sample(range(len(data)), min(count, len(data))):
        yield data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]


def rewrite_record(folder, **fields):
    """Change fields of a record, and leave its form and its hash as they are."""
    record = json.loads((folder / "retainer.json").read_text())
    (folder / "retainer.json").write_text(
        json.dumps({**record, **fields}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )


class TestLoad:
    def test_swapped_labels_are_refused(self, models):
        swap_labels(models / "v2")
        with pytest.raises(InputError, match=r"v2/config\.json is truncated or was changed"):
            load(models / "v2", device="cpu")

    def test_every_recorded_file_is_checked_before_anything_is_computed(self, models, monkeypatch):
        monkeypatch.setattr(versions, "load_tagger", lambda *_, **__: pytest.fail("a damaged version was loaded"))
        for name in Lineage.read(models / "v2").files:
            file = models / "v2" / name
            whole = file.read_bytes()
            for data in changed_bytes(file, 5):
                file.write_bytes(data)
                with pytest.raises(InputError, match=name):
                    load(models / "v2", device="cpu")
            file.unlink()
            with pytest.raises(InputError, match=f"has lost its {name}"):
                load(models / "v2", device="cpu")
            file.write_bytes(whole)

    @pytest.mark.parametrize(
        "name", ["added_tokens.json", "model-00001.safetensors", "model.onnx", "generators/1/generator.json"]
    )
    def test_a_file_more_that_a_model_is_loaded_from(self, models, name):
        (models / "v2" / name).parent.mkdir(parents=True, exist_ok=True)
        (models / "v2" / name).write_text("{}")
        with pytest.raises(InputError, match=f"{name} was added"):
            load(models / "v2", device="cpu")

    def test_what_nothing_reads_may_be_added(self, models):
        for name in ("notes.txt", "LICENSE", ".gitattributes", "parent/mine.md"):
            (models / "v2" / name).write_text("mine")
        assert load(models / "v2", device="cpu").types == ("artist", "city")

    def test_fields_of_the_record_are_checked(self, models):
        """Calibrated scores, say, come out of it."""
        rewrite_record(models / "v2", calibration={"artist": {"slope": -1.0, "shift": 0.0}})
        with pytest.raises(InputError, match=r"retainer\.json was changed"):
            load(models / "v2", device="cpu")

    def test_earlier_records_are_checked(self, models):
        record = json.loads((models / "v2" / "retainer.json").read_text())
        record["ancestors"][0]["data"]["sentences"] += 1
        rewrite_record(models / "v2", ancestors=record["ancestors"])
        with pytest.raises(InputError, match="the chain is broken"):
            load(models / "v2", device="cpu")

    def test_the_hash_in_an_earlier_record_is_checked(self, models):
        """No other hash covers it: the next record holds the one that is computed."""
        record = json.loads((models / "v2" / "retainer.json").read_text())
        record["ancestors"][0]["hash"] = "0" * 64
        rewrite_record(models / "v2", ancestors=record["ancestors"])
        assert "the hash of 000000000000 is not that of its record" in verify_folder(models / "v2").sentences[0]
        with pytest.raises(InputError, match="the chain is broken: the hash of 0"):
            load(models / "v2", device="cpu")

    def test_a_record_without_hashes_of_files_loads_with_a_note(self, models, caplog):
        rewrite_record(models / "v2", files={}, hash="")
        assert load(models / "v2", device="cpu").types == ("artist", "city")
        assert [one.message for one in caplog.records] == [
            f"{models / 'v2'}: only the weights were checked, because an older retainer wrote no other hashes"
        ]
        (models / "v2" / "model.safetensors").write_bytes(b"")
        with pytest.raises(InputError, match="truncated or was changed"):
            load(models / "v2", device="cpu")

    def test_a_foreign_checkpoint_of_links_loads(self, models, tmp_path):
        """As the hub's cache has it."""
        (tmp_path / "snapshot").mkdir()
        for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
            (tmp_path / "snapshot" / name).symlink_to(models / "v2" / name)
        assert load(tmp_path / "snapshot", device="cpu").types == ("artist", "city")


class TestOneVersion:
    def test_a_link_that_moves_while_a_version_loads(self, models, monkeypatch):
        (models / "current").symlink_to("v1")
        real = versions.load_tagger

        def meanwhile(spec, **options):
            (models / "current").unlink()
            (models / "current").symlink_to("v2")
            return real(spec, **options)

        monkeypatch.setattr(versions, "load_tagger", meanwhile)
        version = load(models / "current", device="cpu")
        assert version.types == ("artist",) and version.lineage.own_hash == Lineage.read(models / "v1").own_hash

    @pytest.mark.parametrize("name", ["retainer.json", "model.safetensors", "config.json"])
    def test_files_that_are_replaced_while_a_version_loads(self, models, monkeypatch, name):
        real = versions.load_tagger

        def meanwhile(spec, **options):
            os.replace(models / "v2" / name, models / "v1" / name)
            return real(spec, **options)

        monkeypatch.setattr(versions, "load_tagger", meanwhile)
        with pytest.raises(InputError, match=r"v1( was changed while| cannot be loaded| is not|/)"):
            load(models / "v1", device="cpu")

    def test_files_that_are_replaced_after_loading(self, models):
        version = load(models / "v1", device="cpu")
        version.require_unchanged()
        os.replace(models / "v2" / "retainer.json", models / "v1" / "retainer.json")
        with pytest.raises(InputError, match="was changed while it was loaded"):
            version.require_unchanged()


class TestNeighbours:
    @pytest.fixture
    def forbidden(self, models, monkeypatch):
        """A folder that nobody may enter; root may enter any, so for root the system's calls are refused."""
        folder = models / "lost+found"
        folder.mkdir(mode=0)
        for module, name in ((os, "stat"), (os, "lstat"), (os, "scandir"), (os, "listdir")):
            real = getattr(module, name)

            def refuse(path, *rest, real=real, **options):
                if str(path).startswith("lost+found/") or f"{folder}/" in f"{path}":
                    raise PermissionError(13, "Permission denied", str(path))
                return real(path, *rest, **options)

            monkeypatch.setattr(module, name, refuse)

    @pytest.fixture
    def strangers(self, models):
        """Folders whose records are damaged, each in its own way."""
        nested = "[" * 100_000 + "]" * 100_000
        texts = {
            "cut": '{"tasks": ',
            "deep": nested,
            "deeper": '{"tasks": [["a"]], "data": ' + "[" * 500 + "]" * 500 + "}",
            "list": "[1, 2]",
            "number": '{"tasks": 5}',
            "digits": '{"tasks": [["a"]], "seed": ' + "9" * 400 + "}",
            "odd": '{"tasks": [["a"]], "change": {"verb": []}, "scores": {"per_type": {"a": 1}}}',
            "half": '{"tasks": [["\\ud800"]]}',
            "bytes": b"\xff\xfe\x00",
        }
        for name, text in texts.items():
            (models / name / "parent").mkdir(parents=True)
            data = text if isinstance(text, bytes) else text.encode()
            (models / name / "retainer.json").write_bytes(data)
            (models / name / "parent" / "kept.json").write_bytes(data)
        (models / "pipe").mkdir()
        os.mkfifo(models / "pipe" / "retainer.json")
        (models / "loop").symlink_to("loop")

    def test_a_folder_that_may_not_be_entered(self, models, forbidden, capsys):
        assert main(["log", "v2"]) == 0 and "  v1\n" in capsys.readouterr().out
        assert main(["rollback", "v2", "--out", "back"]) == 0
        assert sha256(models / "back" / "retainer.json") == sha256(FIXTURE / "v1" / "retainer.json")

    def test_damaged_strangers(self, models, strangers, capsys):
        assert main(["log", "v2"]) == 0 and "  v1\n" in capsys.readouterr().out
        shutil.rmtree(models / "v1")
        assert main(["rollback", "v2", "--out", "back"]) == 0
        for name in ("cut", "deep", "deeper", "list", "number", "digits", "odd", "half", "bytes", "pipe"):
            assert main(["log", name]) == 2 and main(["rollback", name, "--out", "x"]) == 2
            err = capsys.readouterr().err.splitlines()
            assert len(err) == 2 and all("retainer.json" in line for line in err), err


class TestOutside:
    def test_links_and_pipes_are_named(self, models, tmp_path, capsys):
        (tmp_path / "secret").mkdir()
        (tmp_path / "secret" / "README.md").write_text("private")
        (models / "v2" / "README.md").unlink()
        (models / "v2" / "README.md").symlink_to(tmp_path / "secret" / "README.md")
        (models / "v2" / "more").symlink_to(tmp_path / "secret")
        os.mkfifo(models / "v2" / "fifo")
        (models / "v2" / "parent" / "stranger.bin").write_bytes(b"x")
        assert main(["verify", "v2"]) == 1
        assert capsys.readouterr().out.splitlines()[1:] == [
            "  parent/stranger.bin was added",
            "  README.md is a link",
            "  fifo is a pipe",
            "  more is a link",
        ]
        assert main(["verify", "v2", "--json"]) == 1
        assert json.loads(capsys.readouterr().out)["odd"]["fifo"] == "is a pipe"

    @pytest.mark.parametrize("name", ["config.json", "retainer.json", "model.safetensors"])
    def test_a_version_is_not_loaded_through_links(self, models, name):
        (models / "v2" / name).unlink()
        (models / "v2" / name).symlink_to(FIXTURE / "v2" / name)
        with pytest.raises(InputError, match=f"{name} is a link"):
            load(models / "v2", device="cpu")
        assert verify_folder(models / "v2").sentences == [f"{name} is a link"]

    def test_a_version_in_the_cache_of_the_hub_is_to_be_copied(self, models, tmp_path):
        (tmp_path / "snapshot").mkdir()
        for file in (models / "v1").iterdir():
            (tmp_path / "snapshot" / file.name).symlink_to(file)
        with pytest.raises(InputError, match=r"retainer\.json is a link, .* \(cp -rL\)"):
            load(tmp_path / "snapshot", device="cpu")
        shutil.copytree(tmp_path / "snapshot", tmp_path / "copy")
        assert load(tmp_path / "copy", device="cpu").types == ("artist",)

    def test_linked_language_models_are_not_read(self, models, tmp_path):
        (models / "v2" / "generators").symlink_to(tmp_path)
        with pytest.raises(InputError, match="generators is a link"):
            load(models / "v2", device="cpu")

    def test_a_parent_is_not_stored_or_restored_through_links(self, models, tmp_path, capsys):
        shutil.rmtree(models / "v1")
        (models / "v2" / "parent").rename(tmp_path / "parent")
        (models / "v2" / "parent").symlink_to(tmp_path / "parent")
        assert main(["rollback", "v2", "--out", "back"]) == 2
        assert "nor stored inside" in capsys.readouterr().err and not (models / "back").exists()


class TestEveryByte:
    def test_of_a_stored_parent(self, models):
        for name, count in (("kept.json", 40), ("retainer.json", 5), ("config.json", 5)):
            file = models / "v2" / "parent" / name
            whole = file.read_bytes()
            for data in changed_bytes(file, count):
                file.write_bytes(data)
                assert not verify_folder(models / "v2").as_dict()["ok"], data
            file.write_bytes(whole)
        assert verify_folder(models / "v2").as_dict()["ok"]

    def test_of_the_record(self, models):
        file = models / "v2" / "retainer.json"
        for data in changed_bytes(file, 150):
            file.write_bytes(data)
            assert not verify_folder(models / "v2").as_dict()["ok"], data

    def test_its_form_counts_too(self, models):
        file = models / "v2" / "retainer.json"
        record = json.loads(file.read_text())
        for text in (json.dumps(record), json.dumps(record, indent=2, ensure_ascii=False)):
            file.write_text(text)
            assert verify_folder(models / "v2").changed == ("retainer.json",)

    def test_the_parent_is_that_of_the_record(self, models):
        """A whole stored parent of another version passes all hashes but that of the record."""
        record = json.loads((models / "v2" / "parent" / "retainer.json").read_text())
        facts = json.loads((models / "v2" / "parent" / "kept.json").read_text())
        rewrite_record(models / "v2" / "parent", seed=record["seed"] + 1, hash="", files={})
        facts["files"]["retainer.json"] = sha256(models / "v2" / "parent" / "retainer.json")
        (models / "v2" / "parent" / "kept.json").write_text(json.dumps(facts, indent=2) + "\n")
        assert verify_folder(models / "v2").sentences == ["parent is not the version this one was made from"]

    @pytest.mark.parametrize("value", ['"\\ud800"', "null", "9" * 5000, "[" * 5000 + "]" * 5000])
    def test_nonsense_about_a_stored_parent(self, models, value):
        file = models / "v2" / "parent" / "kept.json"
        known = json.loads(file.read_text())["files"]["config.json"]
        file.write_text(file.read_text().replace(f'"{known}"', value))
        assert "parent/kept.json was changed" in verify_folder(models / "v2").sentences

    def test_half_a_stored_parent(self, models):
        (models / "v2" / "parent" / "kept.json").unlink()
        assert verify_folder(models / "v2").sentences == ["parent/kept.json is missing"]


class TestDelta:
    def test_one_that_unpacks_to_more_than_its_version_is_refused(self, models, monkeypatch, capsys):
        """A megabyte of zeros packed well would fill a disk."""
        delta = models / "v2" / "parent" / "model.safetensors.delta"
        size = 2**28
        head = json.dumps({"bomb": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
        header = len(head).to_bytes(8, "little") + head
        packed = zlib.compress(bytes(2**20), 9) * 256
        parts = {"header": header, "whole:bomb": packed}
        save_file({name: np.frombuffer(data, dtype=np.uint8) for name, data in parts.items()}, delta)
        facts = json.loads((models / "v2" / "parent" / "kept.json").read_text())
        facts["deltas"]["model.safetensors"] = sha256(delta)
        (models / "v2" / "parent" / "kept.json").write_text(json.dumps(facts, indent=2) + "\n")
        shutil.rmtree(models / "v1")
        assert verify_folder(models / "v2").changed == ("parent/model.safetensors.delta",)
        monkeypatch.setattr("retainer.versions.delta._unpacked", lambda *_: pytest.fail("it was unpacked"))
        assert main(["rollback", "v2", "--out", "back"]) == 2
        assert "cannot be written again" in capsys.readouterr().err and not (models / "back").exists()

    def test_the_largest_that_is_stored_can_be_restored(self, tmp_path):
        save_file({"a": np.zeros(10, dtype=np.float32)}, tmp_path / "base")
        assert can_unpack(2**20, tmp_path / "base") and not can_unpack(2**21, tmp_path / "base")


def leave_scratch(place):
    """Run a process that is killed while it writes a version."""
    code = (
        "import os, sys, shutil; from retainer.files import new_folder\n"
        f"with new_folder({str(place)!r}) as scratch:\n"
        f"    shutil.copytree({str(FIXTURE / 'v1')!r}, scratch, dirs_exist_ok=True); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    [left] = [one for one in place.parent.iterdir() if one.name.startswith(f".{place.name}.")]
    return left


class TestLeftBehind:
    def test_it_is_never_accepted_and_the_next_run_removes_it(self, tmp_path, capsys):
        left = leave_scratch(tmp_path / "v1")
        (tmp_path / "link").symlink_to(left)
        for path in (left, tmp_path / "link"):
            with pytest.raises(InputError, match="unfinished run left behind"):
                load(path, device="cpu")
            assert main(["verify", str(path)]) == main(["log", str(path)]) == 2
        with new_folder(tmp_path / "other"):
            assert left.exists(), "another place is no reason to remove it"
        with new_folder(tmp_path / "v1") as scratch:
            (scratch / "file").write_text("whole")
            assert not left.exists()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "other", "v1"]

    def test_that_of_a_living_process_stays(self, tmp_path):
        with scratch_folder(tmp_path / "v1") as mine:
            (mine / "file").write_text("mine")
            with new_folder(tmp_path / "v1"):
                pass
            assert (mine / "file").read_text() == "mine"
        assert [path.name for path in tmp_path.iterdir()] == ["v1"]

    def test_half_a_file_is_removed_by_the_next_writer(self, tmp_path):
        code = f"""
import os, pathlib; import retainer.files as files
files.os.fsync = lambda _: os.kill(os.getpid(), 9)
files.write_text(pathlib.Path({str(tmp_path / "page.html")!r}), "half a page")
"""
        assert subprocess.run([sys.executable, "-c", code]).returncode == -9
        [left] = tmp_path.iterdir()
        os.mkfifo(tmp_path / ".page.html.a.unfinished")
        (tmp_path / ".page.html.b.unfinished").symlink_to(left)
        write_text(tmp_path / "other.html", "another")
        assert left.exists(), "another place is no reason to remove it"
        write_text(tmp_path / "page.html", "a page")
        write_text(tmp_path / "page.html", "a newer page")
        assert (tmp_path / "page.html").read_text() == "a newer page" and not left.exists()
        strangers = [".page.html.a.unfinished", ".page.html.b.unfinished"]
        assert sorted(path.name for path in tmp_path.iterdir()) == [*strangers, "other.html", "page.html"]


def test_the_weights_of_the_fixture_differ():
    """What the tests of swapped files rely on."""
    one, two = (load_file(FIXTURE / name / "model.safetensors") for name in ("v1", "v2"))
    assert one["classifier.weight"].shape != two["classifier.weight"].shape
