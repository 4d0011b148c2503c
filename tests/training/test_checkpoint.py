"""The kept state of an unfinished run: whole or not used, and never worth more than the run itself."""

import errno
import json
import os
from dataclasses import replace

import pytest
import torch
from recorded_progress import Record
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from retainer.errors import InputError
from retainer.training import checkpoint as module
from retainer.training.checkpoint import Checkpoint, State
from retainer.training.learn import learn
from retainer.training.run_lock import run_lock

CPU = torch.device("cpu")
FULL = SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")


@pytest.fixture
def kept(tmp_path):
    """A checkpoint with a small state on disk."""
    said = []
    one = Checkpoint(tmp_path / "v.partial", "k", warn=said.append)
    one.pending = State(
        {"weight": torch.arange(6.0).view(2, 3)}, {"0.step": torch.tensor(3.0)}, facts={"epoch": 2, "history": []}
    )
    one.flush()
    return one, said


class TestDamage:
    def test_a_whole_state_comes_back(self, kept):
        one, said = kept
        state = one.load(CPU)
        assert torch.equal(state.student["weight"], torch.arange(6.0).view(2, 3))
        assert state.optimizer["0.step"] == 3.0 and state.facts == {"epoch": 2, "history": []} and said == []

    def test_no_flipped_bit_is_ever_used(self, kept):
        one, said = kept
        whole = one.file.read_bytes()
        for at in range(len(whole)):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << at % 8
            one.file.write_bytes(damaged)
            assert one.load(CPU) is None, f"bit {at % 8} of byte {at} was flipped"
        assert said and all("damaged" in text and "begins again" in text for text in said)

    @pytest.mark.parametrize("damage", ["facts", "tensor", "no checksum", "half"])
    def test_a_damaged_state_is_set_aside(self, kept, damage):
        one, said = kept
        with safe_open(one.file, framework="pt") as file:
            meta, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}
        if damage == "facts":
            meta["facts"] = meta["facts"].replace("epoch", "epoxy")
        elif damage == "tensor":
            del tensors["optimizer:0.step"]
        elif damage == "no checksum":
            del meta["sha256"]
        save_file(tensors, one.file, metadata=meta)
        if damage == "half":
            one.file.write_bytes(one.file.read_bytes()[:-10])
        assert one.load(CPU) is None and not one.file.exists() and one.set_aside.exists()
        assert len(said) == 1 and str(one.file) in said[0] and "damaged.safetensors" in said[0]

    def test_other_settings_are_not_damage(self, kept):
        one, said = kept
        assert replace(one, key="other").load(CPU) is None and one.file.exists() and said == []

    def test_the_run_begins_again_and_ends_alike(self, first, few, quick, tmp_path):
        options = {"recipe": quick, "device": "cpu", "out": tmp_path / "v"}
        whole = learn(few, first, recipe=quick, device="cpu")
        with pytest.raises(KeyboardInterrupt):
            learn(few, first, progress=Stopped(1), **options)
        state = tmp_path / "v.partial" / "state.safetensors"
        data = bytearray(state.read_bytes())
        data[-5] ^= 4  # in the middle of the weights
        state.write_bytes(data)
        record = Record()
        again = learn(few, first, progress=record, **options)
        assert [epoch.number for epoch in record.epochs] == [1, 2] and any(
            "is damaged" in note for note in record.notes
        )
        assert all(torch.equal(one, again.tagger.state_dict()[name]) for name, one in whole.tagger.state_dict().items())


class Stopped(Record):
    """Ctrl-C in the step after an epoch."""

    def step(self):
        super().step()
        if len(self.epochs) == self.stop_after:
            raise KeyboardInterrupt


class TestInterrupted:
    def test_the_last_finished_epoch_is_kept(self, first, few, quick, tmp_path):
        options = {"recipe": replace(quick, epochs=3), "device": "cpu"}
        whole = learn(few, first, **options)
        with pytest.raises(KeyboardInterrupt):
            learn(few, first, out=tmp_path / "v", progress=Stopped(2), **options)
        record = Record()
        again = learn(few, first, out=tmp_path / "v", progress=record, **options)
        assert [epoch.number for epoch in record.epochs] == [3]
        assert all(torch.equal(one, again.tagger.state_dict()[name]) for name, one in whole.tagger.state_dict().items())

    def test_nothing_is_learned_again_if_only_writing_failed(self, first, few, quick, tmp_path, monkeypatch):
        def full(*_, **__):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch, pytest.raises(InputError, match="v cannot be written: No space left"):
            patch.setattr("retainer.versions.version.Version.save", full)
            learn(few, first, recipe=quick, device="cpu", out=tmp_path / "v")
        record = Record()
        learn(few, first, recipe=quick, device="cpu", out=tmp_path / "v", progress=record)
        assert record.epochs == [] and (tmp_path / "v" / "model.safetensors").is_file()
        assert not (tmp_path / "v.partial").exists()


class TestKilledWhenItsVersionWasWritten:
    """The state is of no use any more; only the command that left it there can know."""

    @pytest.fixture
    def left(self, first, few, quick, tmp_path):
        learn(few, first, recipe=quick, device="cpu", out=tmp_path / "v")
        (tmp_path / "v.partial").mkdir()
        (tmp_path / "v.partial.lock").touch()
        return tmp_path

    def test_the_same_command_removes_it(self, left, first, few, quick):
        with pytest.raises(InputError, match="exists already"):
            learn(few, first, recipe=quick, device="cpu", out=left / "v")
        assert [path.name for path in left.iterdir()] == ["v"]

    def test_that_of_another_run_stays(self, left, first, few, quick):
        with pytest.raises(InputError, match="exists already"):
            learn(few, first, recipe=quick, device="cpu", out=left / "v", seed=7)
        (left / "v" / "retainer.json").write_text("{")
        with pytest.raises(InputError, match="exists already"):
            learn(few, first, recipe=quick, device="cpu", out=left / "v")
        assert sorted(path.name for path in left.iterdir()) == ["v", "v.partial", "v.partial.lock"]


class TestFullDisk:
    @pytest.mark.parametrize("error", [FULL, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))])
    def test_costs_the_state_and_not_the_run(self, first, few, quick, tmp_path, monkeypatch, error):
        def full(tensors, path, metadata):
            path.write_bytes(b"half")
            raise error

        monkeypatch.setattr(module, "save_file", full)
        record = Record()
        learn(
            few, first, recipe=quick, device="cpu", state_folder=tmp_path / "s", checkpoint_seconds=0, progress=record
        )
        said = [note for note in record.notes if "No space left on device" in note]
        assert len(record.epochs) == 2 and len(said) == 1 and "training goes on" in said[0]

    def test_leaves_the_older_state(self, kept, monkeypatch):
        one, said = kept

        def full(tensors, path, metadata):
            path.write_bytes(b"half")
            raise FULL

        monkeypatch.setattr(module, "save_file", full)
        one.pending = State({}, {})
        one.flush()
        assert said and [path.name for path in one.folder.iterdir()] == ["state.safetensors"]
        assert one.load(CPU).facts["epoch"] == 2

    def test_is_known_before_training(self, first, few, quick, tmp_path, monkeypatch):
        monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 10})())
        record = Record()
        with pytest.raises(InputError, match="would need .* but only 10 bytes are free"):
            learn(few, first, recipe=quick, device="cpu", out=tmp_path / "v", progress=record)
        assert record.steps == 0 and not list(tmp_path.iterdir())


class TestTwoAtOnce:
    def test_the_second_is_refused_before_it_trains(self, first, few, quick, tmp_path):
        record = Record()
        with run_lock(tmp_path / "v.partial", tmp_path / "v"):
            with pytest.raises(InputError, match=rf"process {os.getpid()} is learning to \S*v now"):
                learn(few, first, recipe=quick, device="cpu", out=tmp_path / "v", progress=record)
        assert record.steps == 0 and not list(tmp_path.iterdir())

    def test_a_killed_process_locks_nothing(self, first, few, quick, tmp_path):
        (tmp_path / "v.partial.lock").write_text(json.dumps({"process": 1, "host": "h"}))
        learn(few, first, recipe=quick, device="cpu", out=tmp_path / "v")
        assert [path.name for path in tmp_path.iterdir()] == ["v"]

    def test_a_holder_that_says_nothing(self, tmp_path):
        with run_lock(tmp_path / "s", tmp_path / "v"):
            (tmp_path / "s.lock").write_text("")
            with pytest.raises(InputError, match="another process is learning to"), run_lock(tmp_path / "s", tmp_path):
                pass

    def test_folders_made_for_the_lock_vanish(self, tmp_path):
        with pytest.raises(ZeroDivisionError), run_lock(tmp_path / "a" / "b" / "s", tmp_path):
            1 / 0  # noqa: B018
        assert not list(tmp_path.iterdir())

    def test_a_place_that_cannot_be_written(self, tmp_path):
        (tmp_path / "file").touch()
        for place in (tmp_path / "file" / "v", "/proc/v"):
            with pytest.raises(InputError, match="cannot be written"), run_lock(type(tmp_path)(place), place):
                pass
