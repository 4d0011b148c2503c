"""A matrix as another one plus a product of two thin ones, bit for bit: what adapters change is of low rank.

The product does not give the matrix exactly, for both were rounded when they were saved. So the last bits that differ
are stored too, most of them zero. Whoever unpacks must compute the very numbers of whoever packed, on any machine:
hence no product of a library, whose sums come in an order of its own, but one column after the other in double
precision, where every operation has one right result.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, np.dtype[np.float32]]
_Doubles = np.ndarray[Any, np.dtype[np.float64]]
_BitPatterns = np.ndarray[Any, np.dtype[np.uint32]]

_SPARE_COLUMNS = 8
"""Columns more than the rank to look for it with: random ones may miss a direction, so many more do not."""

_ROUNDS = 4
"""How often both factors are fitted; more rounds gain little."""
_FINEST = 1e-6
"""Numbers below this are rounded as finely as it; the few there are would else outweigh all others."""


@dataclass(frozen=True)
class LowRankChange:
    """What makes one matrix out of another: two thin ones, and the bits that their product gets wrong, packed."""

    left: Matrix
    right: Matrix
    rest: bytes

    @property
    def size(self) -> int:
        """The bytes it takes."""
        return self.left.nbytes + self.right.nbytes + len(self.rest)

    @classmethod
    def between(cls, wanted: Matrix, known: Matrix, rank: int) -> LowRankChange | None:
        """Find the change of at most this rank; None where there is none to look for."""
        with np.errstate(all="ignore"):
            difference = wanted.astype(np.float64) - known.astype(np.float64)
        if not difference.any() or not np.isfinite(difference).all():
            return None
        try:
            found = _factors(difference, rank)
        except np.linalg.LinAlgError:
            return None
        left, right = _rounded(_sharpened(difference, *found, _precision(known)))
        wrong = _bits(wanted) - _bits(_sum(known, left, right))
        return cls(left, right, zlib.compress(_planes(_folded(wrong)), 6))

    def applied(self, known: Matrix) -> Matrix:
        """Return the matrix that is meant; a ValueError means that this is damaged."""
        rows, columns = known.shape
        fits = self.left.ndim == self.right.ndim == 2 and self.left.shape[1] == len(self.right) <= min(known.shape)
        kinds = {self.left.dtype, self.right.dtype} == {np.dtype(np.float32)}
        if not fits or not kinds or (len(self.left), self.right.shape[1]) != (rows, columns):
            raise ValueError("a change of low rank does not fit its matrix")
        planes = zlib.decompressobj().decompress(self.rest, known.nbytes)
        wrong = _unfolded(np.frombuffer(planes, np.uint8).reshape(4, known.size)).reshape(known.shape)
        return (_bits(_sum(known, self.left, self.right)) + wrong).view(np.float32)


def _factors(difference: _Doubles, rank: int) -> tuple[_Doubles, _Doubles]:
    """Split a matrix of low rank: random mixtures of its columns span what they all lie in."""
    columns = min(rank + _SPARE_COLUMNS, *difference.shape)
    span, _ = np.linalg.qr(difference @ np.random.default_rng(0).standard_normal((difference.shape[1], columns)))
    inner, sizes, right = np.linalg.svd(span.T @ difference, full_matrices=False)
    return span @ (inner[:, :rank] * sizes[:rank]), right[:rank]


def _precision(known: Matrix) -> _Doubles:
    """Return how much a difference says at every place: small numbers were rounded to finer steps than large ones."""
    steps = np.spacing(np.maximum(np.abs(known), np.float32(_FINEST))).astype(np.float64)
    shares: _Doubles = (steps.min() / steps) ** 2
    return shares


def _sharpened(difference: _Doubles, left: _Doubles, right: _Doubles, precision: _Doubles) -> tuple[_Doubles, _Doubles]:
    """Fit both factors in turn with every place weighed by its precision: a quarter of the bits is then left to store.

    Where the rank is less than was thought, there is nothing to solve for, and the factors are left as they are.
    """
    try:
        for _ in range(_ROUNDS):
            sharper = _fitted(difference, right, precision)
            left, right = sharper, _fitted(difference.T, sharper.T, precision.T).T
    except np.linalg.LinAlgError:
        pass
    return left, right


def _fitted(difference: _Doubles, right: _Doubles, precision: _Doubles) -> _Doubles:
    """Return the left factor that fits best beside a right one: weighted least squares, row by row."""
    squares = np.einsum("ij,pj,qj->ipq", precision, right, right, optimize=True)
    fitted: _Doubles = np.linalg.solve(squares, ((precision * difference) @ right.T)[..., None])[..., 0]
    return fitted


def _rounded(factors: tuple[_Doubles, _Doubles]) -> tuple[Matrix, Matrix]:
    with np.errstate(all="ignore"):
        left, right = (np.ascontiguousarray(factor, dtype=np.float32) for factor in factors)
    return left, right


def _sum(known: Matrix, left: Matrix, right: Matrix) -> Matrix:
    """Return the matrix plus the product, rounded once; the same on every machine."""
    total = known.astype(np.float64)
    with np.errstate(all="ignore"):
        for column, row in zip(left.T.astype(np.float64), right.astype(np.float64), strict=True):
            total += column[:, None] * row
        return total.astype(np.float32)


def _bits(matrix: Matrix) -> _BitPatterns:
    return np.ascontiguousarray(matrix).view(np.uint32)


def _folded(wrong: _BitPatterns) -> _BitPatterns:
    """Make small numbers of what is off by little in either direction: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return np.where(wrong >> 31, ~(wrong << 1), wrong << 1).astype(np.uint32)


def _unfolded(planes: np.ndarray[Any, np.dtype[np.uint8]]) -> _BitPatterns:
    """Read the planes of bytes, and turn the numbers back."""
    folded = np.ascontiguousarray(planes.T).view("<u4").reshape(-1).astype(np.uint32)
    return np.where(folded & 1, ~(folded >> 1), folded >> 1).astype(np.uint32)


def _planes(words: _BitPatterns) -> bytes:
    """Put the first bytes of all numbers first, then the second ones, and so on."""
    return words.astype("<u4").view(np.uint8).reshape(-1, 4).T.tobytes()
