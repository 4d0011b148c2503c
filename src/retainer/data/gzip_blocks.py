"""Files compressed with gzip, unpacked block by block while they are read: no more of them is held than that."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

from retainer.errors import InputError

GZIP_SUFFIX = ".gz"
"""How the name of a file ends that is to be written compressed; a file to read is known by its first bytes."""

_MAGIC = b"\x1f\x8b"
_BLOCK = 1 << 20
"""Bytes unpacked at once."""
_SUSPECT_BYTES = 64 << 20
_SUSPECT_RATIO = 200
"""A file that becomes larger than this, and so many times larger than it was, holds no text that people write."""
_FORMAT = 16 + zlib.MAX_WBITS


def without_gzip_suffix(name: str) -> str:
    """Return the name that a file has when it is unpacked."""
    return name.removesuffix(GZIP_SUFFIX)


def unpacked(blocks: Iterable[bytes | None], path: str) -> Iterator[bytes | None]:
    """Yield the blocks of a file, unpacked if it begins as gzip does; None, which stands for a wait, is passed on."""
    arriving = iter(blocks)
    for block in arriving:
        if block is None:
            yield None
            continue
        rest = chain([block], arriving)
        yield from _Unpacking(path).all(rest) if block.startswith(_MAGIC) else rest
        return


class _Unpacking:
    """The state of unpacking one file, which may be several compressed ones in a row, as `cat` leaves them."""

    def __init__(self, path: str) -> None:
        self.path, self.read, self.made = path, 0, 0
        self.member = zlib.decompressobj(_FORMAT)

    def all(self, blocks: Iterable[bytes | None]) -> Iterator[bytes | None]:
        """Yield everything in the file; one that ends too early or is damaged is refused."""
        for block in blocks:
            if block is None:
                yield None
                continue
            self.read += len(block)
            try:
                yield from self._unpack(block)
            except zlib.error as error:
                raise InputError(f"{self.path}: the compressed file is damaged ({error}); get it again") from error
        if not self.member.eof:
            raise InputError(f"{self.path}: the compressed file ends too early; get it again")

    def _unpack(self, block: bytes) -> Iterator[bytes]:
        while block:
            if self.member.eof:
                block = block.lstrip(b"\0")  # padding
                if not block:
                    return
                self.member = zlib.decompressobj(_FORMAT)
            piece = self.member.decompress(block, _BLOCK)
            self._refuse_bomb(len(piece))
            yield piece
            block = self.member.unused_data if self.member.eof else self.member.unconsumed_tail

    def _refuse_bomb(self, more: int) -> None:
        self.made += more
        if self.made > max(_SUSPECT_BYTES, _SUSPECT_RATIO * self.read):
            raise InputError(
                f"{self.path}: it unpacks to more than {_SUSPECT_RATIO} times its size, which no text does; if it is "
                "meant to, unpack it first (gunzip)"
            )
