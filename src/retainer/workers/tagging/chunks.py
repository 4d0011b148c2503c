"""Chunks: so many texts in a row, cut at the same places whatever tags them, so that a run can go on at any of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from retainer.data.texts import RawText, raw_texts
from retainer.workers.tagging.inputs import InputFile

Named = tuple[str, RawText]
"""A text and the name of its file."""


@dataclass(frozen=True)
class ChunkSize:
    """Where a chunk ends: after so many texts, or with the text that brings it to so many characters."""

    texts: int = 2048
    characters: int = 1 << 20


@dataclass(frozen=True)
class Chunk:
    """Some texts in a row, and how many bytes of the inputs were read when they were complete."""

    number: int
    texts: list[Named]
    read: int

    @property
    def place(self) -> str:
        """Say where its texts are."""
        first, last = (f"{name}:{text.number}" for name, text in (self.texts[0], self.texts[-1]))
        return f"{first} to {last}"


class _Position:
    """How many bytes were read: of the files before exactly, of the present one block by block."""

    def __init__(self) -> None:
        self.before = self.here = 0

    def add(self, size: int) -> None:
        """Count bytes of the present file."""
        self.here += size

    def end(self, file: InputFile) -> None:
        """Count a whole file, however it was read."""
        self.before, self.here = self.before + file.size, 0


def chunks(files: Sequence[InputFile], columns: Mapping[str, str], cut: ChunkSize) -> Iterator[Chunk]:
    """Cut the texts of all files, one after the other, into chunks."""
    position, texts, size, number = _Position(), list[Named](), 0, 0
    for file in files:
        for text in raw_texts(file.path, columns, position.add):
            texts.append((file.name, text))
            size += _size(text)
            if len(texts) == cut.texts or size >= cut.characters:
                yield Chunk(number, texts, position.before + position.here)
                texts, size, number = [], 0, number + 1
        position.end(file)
    if texts:
        yield Chunk(number, texts, position.before)


def _size(text: RawText) -> int:
    return len(text.content) if isinstance(text.content, str) else len(text.content.located()[0])
