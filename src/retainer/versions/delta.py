"""One safetensors file as its difference to another: bit for bit, and a good deal smaller than a copy.

Two versions in a row share a great deal: rows of the embedding table whose pieces did not occur in the data are equal,
and of the other values mostly the last bits differ. So the bits of both are compared (exclusive or) and the result is
packed, with the first bytes of all values side by side, then the second ones, and so on. A file that shares nothing is
stored whole.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_HEADER = "header"
_WIDTHS = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2}
"""Bytes of a value, where they are worth sorting."""


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
        header = whole[:begin].tobytes()
        return cls(header, tensors_of(header), whole)

    def __getitem__(self, name: str) -> Bytes:
        """Return the bytes of a tensor."""
        one = self.tensors[name]
        return self.bytes[one.start : one.end]


def tensors_of(header: bytes) -> dict[str, TensorEntry]:
    """Read the beginning of a safetensors file: the tensors, in the order they lie in."""
    found = {name: one for name, one in json.loads(header[8:]).items() if name != "__metadata__"}
    places = {name: [len(header) + at for at in one["data_offsets"]] for name, one in found.items()}
    ordered = sorted(found, key=lambda name: places[name])
    return {name: TensorEntry(found[name]["dtype"], tuple(found[name]["shape"]), *places[name]) for name in ordered}


def write_delta(file: Path, base: Path, delta: Path) -> None:
    """Write what is needed to make ``file`` from ``base``."""
    wanted, known = SafetensorsFile.open(file), SafetensorsFile.open(base)
    parts: dict[str, Bytes] = {_HEADER: _array(wanted.header)}
    for name, tensor in wanted.tensors.items():
        same = tensor.alike(known.tensors.get(name))
        bits = wanted[name] ^ known[name] if same else np.asarray(wanted[name])
        parts[f"{'difference' if same else 'whole'}:{name}"] = _array(zlib.compress(_sorted(bits, tensor.kind), 1))
    save_file(parts, delta)


def apply_delta(delta: Path, base: Path, file: Path) -> None:
    """Write the file again that a delta was made from, tensor by tensor, so that memory holds one of them."""
    known = SafetensorsFile.open(base)
    with safe_open(delta, framework="numpy") as parts, file.open("wb") as out:
        header = parts.get_tensor(_HEADER).tobytes()
        out.write(header)
        names = set(parts.keys())
        for name, tensor in tensors_of(header).items():
            same = f"difference:{name}" in names
            packed = parts.get_tensor(f"{'difference' if same else 'whole'}:{name}").tobytes()
            bits = _unsorted(_unpacked(packed, tensor.end - tensor.start), tensor.kind)
            out.write((bits ^ known[name] if same else bits).tobytes())


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
