"""Corpora in files: the formats, and reading and writing them."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from retainer.corpora.conll import read_conll, write_conll
from retainer.corpora.corpus import Corpus, fingerprint
from retainer.corpora.doccano import read_doccano, sniff_doccano, write_doccano
from retainer.corpora.jsonl import read_jsonl
from retainer.corpora.lines import blamed, opening
from retainer.corpora.parts import part_files
from retainer.corpora.prodigy import read_prodigy, sniff_prodigy, write_prodigy
from retainer.corpora.records import sniff_json
from retainer.corpora.texts import load, save
from retainer.corpora.tokens import write_tokens
from retainer.errors import InputError, nearest
from retainer.spans import Sentence

__all__ = ["FORMATS", "Corpus", "Format", "fingerprint", "read", "read_parts", "write"]


@dataclass(frozen=True)
class Format:
    """How a format is read from text, written to text, and recognised by its first line that is not blank."""

    read: Callable[[str, str], Corpus]
    write: Callable[[Iterable[Sentence]], str]
    sniff: Callable[[str], bool]


FORMATS: dict[str, Format] = {
    "prodigy": Format(read_prodigy, write_prodigy, sniff_prodigy),
    "doccano": Format(read_doccano, write_doccano, sniff_doccano),
    "jsonl": Format(read_jsonl, write_tokens, sniff_json),
    "conll": Format(read_conll, write_conll, sniff=lambda line: True),
}
"""The formats by name, in the order in which a file is tried; columns come last because they can look like anything."""


def read(path: str | os.PathLike[str], format: str | None = None) -> Corpus:
    """Read a corpus; unless named, the format is told from what the file holds, never from its name."""
    source = os.fspath(path)
    text = load(source)
    corpus = (_sniffed(text) if format is None else _named(format)).read(text, source)
    if not corpus.sentences:
        passed = "".join(f", only {count} {name}" for name, count in corpus.oddities.items())
        raise InputError(f"{source}: found no sentence{passed}; the file must hold at least one")
    return corpus


def read_parts(folder: str | os.PathLike[str]) -> tuple[Corpus, Corpus | None, Corpus | None]:
    """Read the train, dev and test parts of a corpus from a folder; the last two may be missing."""
    found = {name: read(path) for name, path in part_files(Path(folder)).items()}
    return found["train"], found.get("dev"), found.get("test")


def write(sentences: Iterable[Sentence], path: str | os.PathLike[str], format: str) -> None:
    """Write a corpus; what the format could not give back is refused, and then the file stays as it was."""
    target, chosen = os.fspath(path), _named(format)
    with blamed(target):
        text = chosen.write(sentences)
        if not text:
            raise InputError("there is no sentence to write")
    save(text, target)


def _named(name: str) -> Format:
    if name in FORMATS:
        return FORMATS[name]
    raise InputError(f"there is no format {name!r}{nearest(name, FORMATS)}; known are {', '.join(sorted(FORMATS))}")


def _sniffed(text: str) -> Format:
    line = opening(text)
    return next(format for format in FORMATS.values() if format.sniff(line))
