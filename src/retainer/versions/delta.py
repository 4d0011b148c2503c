"""One safetensors file as its difference to another: bit for bit, and a good deal smaller than a copy.

Two versions in a row share a great deal: rows of the embedding table whose pieces did not occur in the data are equal,
and of the other values mostly the last bits differ. So the bits of both are compared (exclusive or) and the result is
packed, with the first bytes of all values side by side, then the second ones, and so on. A file that shares nothing is
stored whole. Where adapters were trained, the change of a matrix is of low rank, and its factors take less still.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from retainer.versions.low_rank import LowRankChange, Matrix
from retainer.versions.own_files import parse_json

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_HEADER = "header"
_WIDTHS = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2}
"""Bytes of a value, where they are worth sorting."""

_MAX_HEADER = 10**8
"""The longest header that safetensors reads."""

_SPARE_BYTES = 2**20


@dataclass(frozen=True)
class TensorEntry:
    """Where a tensor lies in a file, and what is in it."""

    kind: str
    shape: tuple[int, ...]
    start: int
    end: int

    def alike(self, other: TensorEntry | None) -> bool:
        """Return whether another tensor has the same kind and shape."""
        return other is not None and (self.kind, self.shape) == (other.kind, other.shape)


@dataclass(frozen=True)
class SafetensorsFile:
    """A safetensors file: the bytes before its tensors, and where each of these lies."""

    header: bytes
    tensors: dict[str, TensorEntry]
    bytes: Bytes

    @classmethod
    def open(cls, path: Path) -> SafetensorsFile:
        """Read the header of a file, not its tensors."""
        whole: Bytes = np.memmap(path, dtype=np.uint8, mode="r")
        begin = 8 + int.from_bytes(whole[:8].tobytes(), "little")
        if begin > min(len(whole), _MAX_HEADER):
            raise ValueError(f"{path} is not a whole safetensors file")
        header = whole[:begin].tobytes()
        return cls(header, tensors_of(header), whole)

    def __getitem__(self, name: str) -> Bytes:
        """Return the bytes of a tensor."""
        one = self.tensors[name]
        return self.bytes[one.start : one.end]


def tensors_of(header: bytes) -> dict[str, TensorEntry]:
    """Read the beginning of a safetensors file: the tensors, in the order they lie in."""
    found = parse_json(header[8:])
    if not isinstance(found, dict):
        raise ValueError("the header of a safetensors file is not an object")
    entries = {name: _entry(one, len(header)) for name, one in found.items() if name != "__metadata__"}
    return dict(sorted(entries.items(), key=lambda item: (item[1].start, item[1].end)))


def _entry(one: Any, begin: int) -> TensorEntry:
    """Read what a header says about a tensor; it may come from a stranger."""
    if not isinstance(one, dict) or not isinstance(one.get("dtype"), str):
        raise ValueError("a tensor in a safetensors file has no type")
    shape: Any = one.get("shape")
    places: Any = one.get("data_offsets")
    for numbers in (shape, places):
        if not isinstance(numbers, list) or not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError("a tensor in a safetensors file has no shape or no place")
    if len(places) != 2 or places[0] > places[1]:
        raise ValueError("a tensor in a safetensors file has no place")
    return TensorEntry(one["dtype"], tuple(shape), begin + places[0], begin + places[1])


def write_delta(file: Path, base: Path, delta: Path, rank: int = 0) -> None:
    """Write what is needed to make ``file`` from ``base``; ``rank`` is that of the change, where it is known."""
    wanted, known = SafetensorsFile.open(file), SafetensorsFile.open(base)
    parts: dict[str, np.ndarray[Any, Any]] = {_HEADER: _array(wanted.header)}
    for name, tensor in wanted.tensors.items():
        same = tensor.alike(known.tensors.get(name))
        bits = wanted[name] ^ known[name] if same else np.asarray(wanted[name])
        packed = zlib.compress(_sorted(bits, tensor.kind), 1)
        change = _low_rank(wanted, known, name, rank) if same and bits.any() else None
        if change is not None and change.size < len(packed):
            parts |= {f"left:{name}": change.left, f"right:{name}": change.right, f"rest:{name}": _array(change.rest)}
        else:
            parts[f"{'difference' if same else 'whole'}:{name}"] = _array(packed)
    save_file(parts, delta)


def _low_rank(wanted: SafetensorsFile, known: SafetensorsFile, name: str, rank: int) -> LowRankChange | None:
    """Return the change of a matrix of full numbers by its factors, if it is of a rank that saves anything."""
    tensor = wanted.tensors[name]
    if tensor.kind != "F32" or len(tensor.shape) != 2 or not 0 < rank < min(tensor.shape):
        return None
    return LowRankChange.between(_matrix(wanted, name), _matrix(known, name), rank)


def _matrix(file: SafetensorsFile, name: str) -> Matrix:
    """Return a matrix of full numbers."""
    return np.frombuffer(file[name].tobytes(), "<f4").reshape(file.tensors[name].shape).astype(np.float32)


def can_unpack(size: int, base: Path) -> bool:
    """Return whether a file of this size may come out of a delta.

    A few kilobytes can unpack to gigabytes, so the file it is the difference to sets the limit: twice its size, as
    much as numbers of double length take.
    """
    return size <= 2 * base.stat().st_size + _SPARE_BYTES


def apply_delta(delta: Path, base: Path, file: Path) -> None:
    """Write the file again that a delta was made from; a ValueError means that the delta is damaged."""
    with file.open("wb") as out:
        for part in _parts(delta, base):
            out.write(part)


def unpacked_sha256(delta: Path, base: Path) -> str:
    """Return the SHA-256 of the file that a delta was made from, without writing it."""
    digest = hashlib.sha256()
    for part in _parts(delta, base):
        digest.update(part)
    return digest.hexdigest()


def _parts(delta: Path, base: Path) -> Iterator[bytes]:
    """Yield a file that a delta was made from, tensor by tensor, so that memory holds one of them."""
    known = SafetensorsFile.open(base)
    try:
        with safe_open(delta, framework="numpy") as parts:
            header = parts.get_tensor(_HEADER).tobytes()
            tensors = tensors_of(header)
            if not can_unpack(len(header) + sum(one.end - one.start for one in tensors.values()), base):
                raise ValueError(f"{delta} would unpack to more than its version has")
            yield header
            names = set(parts.keys())
            for name, tensor in tensors.items():
                same = f"difference:{name}" in names
                if same and not tensor.alike(known.tensors.get(name)):
                    raise ValueError(f"{delta} is not a difference to {base}")
                if f"left:{name}" in names:
                    yield _by_factors(parts, known, name, tensor)
                    continue
                packed = parts.get_tensor(f"{'difference' if same else 'whole'}:{name}").tobytes()
                bits = _unsorted(_unpacked(packed, tensor.end - tensor.start), tensor.kind)
                yield (bits ^ known[name] if same else bits).tobytes()
    except (SafetensorError, zlib.error, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ValueError(f"{delta} is damaged ({error})") from None


def _by_factors(parts: Any, known: SafetensorsFile, name: str, tensor: TensorEntry) -> bytes:
    """Return the bytes of a matrix whose change is stored by its factors."""
    if tensor.kind != "F32" or len(tensor.shape) != 2 or not tensor.alike(known.tensors.get(name)):
        raise ValueError(f"{name} is not a matrix that both files have")
    left, right, rest = (parts.get_tensor(f"{part}:{name}") for part in ("left", "right", "rest"))
    return LowRankChange(left, right, rest.tobytes()).applied(_matrix(known, name)).astype("<f4").tobytes()


def _unpacked(packed: bytes, size: int) -> bytes:
    """Unpack no more than there can be: a file may come from an untrusted source."""
    return zlib.decompressobj().decompress(packed, size) if size else b""


def _array(data: bytes) -> Bytes:
    return np.frombuffer(data, dtype=np.uint8)


def _sorted(bits: Bytes, kind: str) -> bytes:
    """Put the first bytes of all values first, then the second ones, and so on."""
    return bits.reshape(-1, _WIDTHS.get(kind, 1)).T.tobytes()


def _unsorted(data: bytes, kind: str) -> Bytes:
    return np.ascontiguousarray(_array(data).reshape(_WIDTHS.get(kind, 1), -1).T).reshape(-1)
