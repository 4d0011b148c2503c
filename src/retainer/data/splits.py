"""A folder with the parts of a corpus: train, dev and test, by whatever names people give them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

from retainer.data.corpus import Corpus
from retainer.data.documents import document_files, filled, join, read_document, read_file, set_aside
from retainer.data.split_lists import SUFFIXES, read_lists
from retainer.errors import InputError

NAMES = {"train": ("train",), "dev": ("dev", "development", "valid", "validation", "testa"), "test": ("test", "testb")}
"""What people call the parts of a corpus."""

UNDIVIDED = ("i2b2",)
"""Formats of corpora that are published without a dev part; some of their training documents become it."""


TENTHS = {"test": range(2), "dev": range(2, 3), "train": range(3, 10)}
"""Which tenths of a corpus without parts become which part."""


def read_parts(folder: str | os.PathLike[str]) -> tuple[Corpus, Corpus | None, Corpus | None]:
    """Read the train, dev and test parts of a corpus from a folder; the last two may be missing.

    A part is a file, or a folder of documents; or lists say which documents of the folder belong to which part. A
    single file is cut into parts.
    """
    if Path(folder).is_file():
        return divided(filled(read_file(os.fspath(folder))))
    parts = _documents(Path(folder))
    train = parts["train"]
    if "dev" not in parts and train[0].format in UNDIVIDED and len(train) > 1:
        parts["train"], parts["dev"] = set_aside(train)
    whole = {name: filled(_whole(documents, Path(folder) / name)) for name, documents in parts.items()}
    return whole["train"], whole.get("dev"), whole.get("test")


def divided(corpus: Corpus) -> tuple[Corpus, Corpus, Corpus]:
    """Cut a corpus into parts by what its sentences say: always the same, and no text is in two of them."""
    tenths = [_tenth(sentence.words) for sentence in corpus]
    parts = {
        name: replace(corpus, sentences=tuple(s for s, tenth in zip(corpus, tenths, strict=True) if tenth in chosen))
        for name, chosen in TENTHS.items()
    }
    if empty := [name for name, part in parts.items() if not part.counts]:
        raise InputError(
            f"{corpus.source} has too few entities to be cut into parts: none is left for {empty[0]}; annotate "
            "more, or give a folder with train, dev and test files"
        )
    return parts["train"], parts["dev"], parts["test"]


def _tenth(words: tuple[str, ...]) -> int:
    return hashlib.sha256("\x1f".join(words).encode()).digest()[0] * 10 // 256


def _documents(folder: Path) -> dict[str, list[Corpus]]:
    """Read every part as a list of documents; a file is one."""
    lists = {name: path for name, names in NAMES.items() if (path := _only(folder, _lists(folder, names)))}
    if "train" in lists:
        return read_lists(folder, lists)
    paths = {name: path for name, names in NAMES.items() if (path := _part(folder, names))}
    if "train" not in paths:
        raise InputError(
            f"{folder} has no file named train.* and no folder named train; name its parts train, dev and test"
        )
    return {name: _read(path) for name, path in paths.items()}


def _part(folder: Path, names: tuple[str, ...]) -> Path | None:
    files = [path for path in folder.iterdir() if path.is_file() and path.stem in names]
    folders = [path for path in folder.iterdir() if path.is_dir() and path.name in names]
    return _only(folder, [path for path in files if path.suffix not in SUFFIXES] or folders)


def _lists(folder: Path, names: tuple[str, ...]) -> list[Path]:
    return [path for path in folder.iterdir() if path.stem in names and path.suffix in SUFFIXES]


def _only(folder: Path, paths: list[Path]) -> Path | None:
    if len(paths) > 1:
        one, other, *_ = sorted(path.name for path in paths)
        raise InputError(f"{folder} has both {one} and {other}; leave one of them")
    return paths[0] if paths else None


def _read(path: Path) -> list[Corpus]:
    if path.is_file():
        return [filled(read_file(os.fspath(path)))]
    return [read_document(file) for file in document_files(path)]


def _whole(documents: list[Corpus], place: Path) -> Corpus:
    return documents[0] if len(documents) == 1 else join(documents, os.fspath(place))
