"""A change of low rank, stored by its factors: exact to the last bit, small, and refused where it is damaged."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from retainer.versions.delta import apply_delta, unpacked_sha256, write_delta
from retainer.versions.low_rank import LowRankChange


def changed(shape=(96, 64), rank=4, scale=1e-3, seed=0):
    """A matrix, and another whose difference to it is of low rank."""
    draw = np.random.default_rng(seed)
    before = draw.normal(0, 0.05, shape).astype(np.float32)
    product = draw.normal(0, 1, (shape[0], rank)) @ draw.normal(0, scale, (rank, shape[1]))
    return before, (before + product.astype(np.float32)).astype(np.float32)


def same(one, other):
    return np.array_equal(one.view(np.uint32), other.view(np.uint32))


class TestMatrices:
    @pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e4])
    @pytest.mark.parametrize("rank", [1, 4, 12])
    def test_every_bit_returns(self, scale, rank):
        """Whatever the size of the change, and where the rank is more or less than was thought."""
        before, after = changed(scale=scale)
        assert same(LowRankChange.between(before, after, rank).applied(after), before)

    def test_odd_numbers_return_too(self):
        before, after = changed()
        before[0, :6] = [0.0, -0.0, 1e-42, -1e-42, 3e38, 1e-30]
        after[1, :4] = [-0.0, 0.0, 1e-45, -3e38]
        assert same(LowRankChange.between(before, after, 4).applied(after), before)

    def test_what_is_no_number_is_not_tried(self):
        before, after = changed()
        assert LowRankChange.between(before, before, 4) is None
        before[3, 3] = np.nan
        assert LowRankChange.between(before, after, 4) is None

    def test_the_factors_leave_little_to_store(self):
        before, after = changed((256, 256), rank=4)
        change = LowRankChange.between(before, after, 4)
        assert change.left.shape == (256, 4) and change.right.shape == (4, 256)
        assert len(change.rest) * 8 / before.size < 1.5, "bits per number"

    @pytest.mark.parametrize(
        "damage",
        [
            lambda one: replace(one, left=one.left[:-1]),
            lambda one: replace(one, right=one.right[:, :-1]),
            lambda one: replace(one, right=one.right[:-1]),
            lambda one: replace(one, left=one.left.astype(np.float64)),
            lambda one: replace(one, left=one.left.ravel()),
            lambda one: replace(one, left=np.zeros((96, 65), np.float32), right=np.zeros((65, 64), np.float32)),
        ],
    )
    def test_factors_that_do_not_fit_are_refused(self, damage):
        before, after = changed()
        with pytest.raises(ValueError, match="does not fit"):
            damage(LowRankChange.between(before, after, 4)).applied(after)


class TestFiles:
    @pytest.fixture
    def files(self, tmp_path):
        """Two files that differ in two matrices by a change of low rank, in a vector, and in a table that is larger."""
        before, after = {}, {}
        for at in range(2):
            before[f"layer.{at}"], after[f"layer.{at}"] = changed((256, 192), seed=at)
        before["bias"], after["bias"] = np.ones(9, np.float32), np.arange(9, dtype=np.float32)
        before["head"], after["head"] = np.ones((3, 192), np.float32), np.ones((5, 192), np.float32)
        before["table"] = after["table"] = changed((300, 192))[0]
        save_file(before, tmp_path / "before.safetensors", metadata={"format": "pt"})
        save_file(after, tmp_path / "after.safetensors", metadata={"format": "pt"})
        return tmp_path

    def written(self, files, rank):
        delta = files / f"rank-{rank}.delta"
        write_delta(files / "before.safetensors", files / "after.safetensors", delta, rank)
        return delta

    def test_the_file_returns_and_takes_little(self, files):
        small, plain = self.written(files, 4), self.written(files, 0)
        apply_delta(small, files / "after.safetensors", files / "again.safetensors")
        whole = (files / "before.safetensors").read_bytes()
        assert (files / "again.safetensors").read_bytes() == whole
        assert unpacked_sha256(small, files / "after.safetensors") == hashlib.sha256(whole).hexdigest()
        assert small.stat().st_size < 0.2 * plain.stat().st_size

    def test_without_a_rank_it_is_the_delta_it_always_was(self, files):
        assert {name.split(":")[0] for name in load_file(self.written(files, 0))} == {"header", "difference", "whole"}

    def test_a_change_of_high_rank_is_stored_as_ever(self, files):
        rows = load_file(files / "after.safetensors")
        rows["layer.0"] = np.random.default_rng(9).normal(0, 0.05, (256, 192)).astype(np.float32)
        save_file(rows, files / "after.safetensors", metadata={"format": "pt"})
        stored = load_file(self.written(files, 4))
        assert "difference:layer.0" in stored and "left:layer.1" in stored

    @pytest.mark.parametrize("part", ["left:layer.0", "right:layer.0", "rest:layer.0"])
    def test_what_is_damaged_is_said_to_be(self, files, part):
        delta = self.written(files, 4)
        stored = load_file(delta)
        stored[part] = stored[part][: len(stored[part]) // 2]
        save_file(stored, delta)
        with pytest.raises(ValueError, match=r"damaged|fit|reshape"):
            unpacked_sha256(delta, files / "after.safetensors")

    def test_another_base_is_refused(self, files):
        delta = self.written(files, 4)
        rows = load_file(files / "after.safetensors")
        rows["layer.0"] = rows["layer.0"][:-1].copy()
        save_file(rows, files / "other.safetensors")
        with pytest.raises(ValueError, match=r"layer\.0 is not a matrix that both files have"):
            unpacked_sha256(delta, files / "other.safetensors")
