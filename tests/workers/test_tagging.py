"""Bulk tagging: shards that are complete, without doubles and the same, whatever was killed on the way."""

import errno
import gzip
import json
import os
import re
import shutil
from pathlib import Path

import pyarrow.parquet
import pytest
from foreign import checkpoint, texts
from made_once import made_once

from retainer.cli.main import main
from retainer.errors import InputError
from retainer.versions.version import Version
from retainer.workers.pool import Died, Done, Ready
from retainer.workers.tagging.chunks import ChunkSize
from retainer.workers.tagging.inputs import find_inputs
from retainer.workers.tagging.run import BulkProgress, BulkRun
from retainer.workers.tagging.tagger_setup import TaggerSetup

SAMPLE = [text for text, _ in texts(150, 3)]
SMALL = ChunkSize(texts=20)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    make = lambda place: checkpoint(place / "model", "wordpiece", "IOB2", "last", True)  # noqa: E731
    return made_once(tmp_path_factory, "bulk-model", make) / "model"


@pytest.fixture
def inputs(tmp_path):
    """Records, compressed lines with an empty one, and a table."""
    folder = tmp_path / "texts"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in SAMPLE[:70]))
    lines = [*SAMPLE[70:90], "", *SAMPLE[90:110]]
    (folder / "deep" / "b.txt.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    table = pyarrow.table({"text": SAMPLE[110:]})
    pyarrow.parquet.write_table(table, folder / "deep" / "c.parquet")
    return folder


IDS = [f"a.jsonl:{n}" for n in range(1, 71)] + [f"deep/b.txt.gz:{n}" for n in range(1, 42)]
IDS += [f"deep/c.parquet:{n}" for n in range(1, 41)]


class Here:
    """A worker in this process, which loads the model once for all tests."""

    count, works = 2, {}

    def __init__(self, setup, deadly=None):
        self.setup, self.deadly, self.said = setup, deadly, {}

    def start(self, number):
        self.said[number] = Ready()
        return number

    def send(self, worker, payload):
        key = (self.setup.model, self.setup.format)
        if key not in self.works:
            self.works[key] = self.setup.start(0)[0]
        poisoned = self.deadly and any(self.deadly in str(text.content) for _, text in payload)
        self.said[worker] = Died("of it") if poisoned else Done(self.works[key](payload))

    def wait(self, workers):
        return [(workers[0], self.said.pop(workers[0]))]

    def close(self):
        pass


def tag(model, pattern, out, deadly=None, int8=False, **setup):
    files = find_inputs(str(pattern))[0]
    run = BulkRun(TaggerSetup(str(model), device="cpu", **setup), files, int8=int8, cut=SMALL)
    return run.to(out, lambda made: Here(made, deadly), BulkProgress())


def content(out):
    return {path.name: path.read_bytes() for path in Path(out).iterdir()}


def rows(out):
    return [json.loads(line) for shard in sorted(Path(out).glob("part-*")) for line in shard.read_text().splitlines()]


class TestWhatComesOut:
    def test_one_row_per_text_in_order_as_predict_finds_them(self, model, inputs, tmp_path, capsys):
        counts = tag(model, inputs, tmp_path / "out")
        found = rows(tmp_path / "out")
        assert [row["id"] for row in found] == IDS and counts == {"texts": 151, "shards": 8}
        assert [row["text"] for row in found] == [*SAMPLE[:90], "", *SAMPLE[90:]]
        assert main(["predict", str(model), "--input", str(inputs / "a.jsonl"), "--device", "cpu"]) == 0
        plain = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert sum(len(one["entities"]) for one in plain) > 50
        for one, row in zip(plain, found, strict=False):
            assert [e | {"score": 0} for e in one["entities"]] == [e | {"score": 0} for e in row["entities"]]
            assert [e["score"] for e in one["entities"]] == pytest.approx(
                [e["score"] for e in row["entities"]], abs=1e-5
            )

    def test_parquet_holds_the_same(self, model, inputs, tmp_path):
        tag(model, inputs, tmp_path / "lines")
        tag(model, inputs, tmp_path / "tables", format="parquet")
        shards = sorted((tmp_path / "tables").glob("*.parquet"))
        found = [row for shard in shards for row in pyarrow.parquet.read_table(shard).to_pylist()]
        assert found == rows(tmp_path / "lines")

    def test_a_pattern_names_files_below_its_fixed_part(self, model, inputs):
        assert [one.name for one in find_inputs(f"{inputs}/*/*.gz")[0]] == ["deep/b.txt.gz"]
        assert [one.name for one in find_inputs(f"{inputs}/deep/*")[0]] == ["b.txt.gz", "c.parquet"]

    def test_files_that_hold_no_texts_are_left_out_of_a_folder(self, inputs):
        (inputs / "README.md").write_text("about")
        files, remarks = find_inputs(str(inputs))
        assert len(files) == 3 and "1 files, such as" in remarks[0] and "README.md" in remarks[0]


class TestGoingOn:
    def test_what_is_there_is_kept_and_what_is_missing_made_again(self, model, inputs, tmp_path):
        tag(model, inputs, tmp_path / "whole")
        tag(model, inputs, tmp_path / "out")
        shards = sorted((tmp_path / "out").glob("part-*"))
        kept = shards[2].stat().st_mtime_ns
        shards[1].unlink()
        shards[5].unlink()
        (tmp_path / "out" / ".part.unfinished").write_bytes(b"half a sha")  # a kill in the middle of a write
        assert tag(model, inputs, tmp_path / "out") == {"texts": 151, "shards": 8}
        assert content(tmp_path / "out") == content(tmp_path / "whole") and shards[2].stat().st_mtime_ns == kept

    def test_texts_that_kill_every_worker(self, model, inputs, tmp_path):
        with pytest.raises(InputError, match=r"4 workers died over the texts a.jsonl:21 to a.jsonl:40 \(of it\); the"):
            (inputs / "a.jsonl").write_text("\n".join([*SAMPLE[:29], "DEADLY", *SAMPLE[30:70]]) + "\n")
            tag(model, inputs, tmp_path / "out", deadly="DEADLY")
        assert len(rows(tmp_path / "out")) == 131, "the rest is done"
        assert tag(model, inputs, tmp_path / "out") == {"texts": 151, "shards": 8}

    def test_a_damaged_shard(self, model, inputs, tmp_path):
        tag(model, inputs, tmp_path / "out")
        shard = sorted((tmp_path / "out").glob("part-*"))[3]
        shard.write_bytes(shard.read_bytes()[:-10])
        with pytest.raises(InputError, match=f"{re.escape(shard.name)} is damaged; remove it"):
            tag(model, inputs, tmp_path / "out")

    def test_another_run(self, model, inputs, tmp_path):
        tag(model, inputs, tmp_path / "out")
        before = content(tmp_path / "out")
        with pytest.raises(InputError, match="the output of another run: it differs in --format; choose another"):
            tag(model, inputs, tmp_path / "out", format="parquet")
        with (inputs / "a.jsonl").open("a") as file:
            file.write("{}")
        with pytest.raises(InputError, match=r"another run: a.jsonl was added, removed or changed since"):
            tag(model, inputs, tmp_path / "out")
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "thesis.txt").write_text("mine")
        with pytest.raises(InputError, match="holds files of others"):
            tag(model, inputs, tmp_path / "mine")
        assert content(tmp_path / "out") == before

    def test_8_bit_weights_are_made_once_and_are_another_run(self, model, inputs, tmp_path, monkeypatch):
        """The rounding itself takes ten seconds; tests/model/test_onnx.py looks at that."""
        made = []

        def export(version, folder, *, int8):
            made.append((folder, int8))
            shutil.copytree(model, folder)

        monkeypatch.setattr(Version, "export", export)
        assert tag(model, inputs, tmp_path / "out", int8=True) == {"texts": 151, "shards": 8}
        before = content(tmp_path / "out")
        assert [int8 for _, int8 in made] == [True] and not made[0][0].exists() and len(rows(tmp_path / "out")) == 151
        with pytest.raises(InputError, match="another run: it differs in --int8; choose"):
            tag(model, inputs, tmp_path / "out")
        assert content(tmp_path / "out") == before

    def test_a_line_that_is_wrong_keeps_what_is_written(self, model, inputs, tmp_path):
        with (inputs / "a.jsonl").open("a") as file:
            file.write("{broken\n")
        with pytest.raises(InputError, match=r"a.jsonl:71: this is not JSON"):
            tag(model, inputs, tmp_path / "out")
        assert len(rows(tmp_path / "out")) >= 20

    def test_a_disk_that_is_full_keeps_what_is_written(self, model, inputs, tmp_path, monkeypatch):
        tag(model, inputs, tmp_path / "whole")
        sync, count = os.fsync, iter(range(100))

        def refuse_the_sixth(descriptor):
            if next(count) == 5:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            sync(descriptor)

        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", refuse_the_sixth)
            with pytest.raises(InputError, match="out cannot be written: No space left on device"):
                tag(model, inputs, tmp_path / "out")
        whole, kept = content(tmp_path / "whole"), content(tmp_path / "out")
        del kept["manifest.json"]
        assert len(kept) == 3 and kept.items() <= whole.items(), "shards, and nothing that is half a shard"
        assert tag(model, inputs, tmp_path / "out") == {"texts": 151, "shards": 8}
        assert content(tmp_path / "out") == whole


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["a text", "--jobs", "2"], "--jobs, --ray, --format and --int8 are for many texts"),
        (["a text", "--out", "o"], "--out DIR takes the results of --input FILES"),
        (["--input", "-", "--out", "o"], "files that can be read again"),
        (["--input", "none-*.txt", "--out", "o"], "there is no such file"),
        (["--input", __file__, "--out", "o", "--jobs", "0"], "at least 1"),
        (["--input", __file__, "--out", "o", "--jobs", "2", "--ray", "local"], "either --jobs or --ray"),
        (["--input", __file__, "--out", f"{__file__}/o"], "cannot be written: Not a directory"),
        (["--input", __file__, "--out", __file__], "is a file; --out takes a folder"),
        (["--input", __file__, "--out", "o", "--ray", "ray://x:1"], "HOST:PORT"),
        (["--input", __file__, "--out", "o", "--ray", "127.0.0.1:1"], "there is no Ray cluster at 127.0.0.1:1"),
    ],
)
def test_refused(model, tmp_path, monkeypatch, capsys, argv, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("retainer.workers.ray_cluster.require_ray", lambda: None)
    assert main(["predict", str(model), *argv]) == 2
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1 and not Path("o").exists()


def test_without_ray_it_says_how_to_install_it(model, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("retainer.workers.ray_cluster.find_spec", lambda name: None)
    argv = ["predict", str(model), "--input", __file__, "--out", str(tmp_path / "o"), "--ray", "local"]
    assert main(argv) == 2 and "pip install 'retainer[ray]'" in capsys.readouterr().err
