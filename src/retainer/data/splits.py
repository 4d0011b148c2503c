"""A folder with the splits of a corpus: train, dev and test, by the names in use."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from retainer.data.corpus import Corpus, Splits
from retainer.data.documents import (
    document_files,
    hold_out_documents,
    join_documents,
    read_corpus_file,
    read_document_file,
    require_learnable,
    shard_files,
)
from retainer.data.gzip_blocks import without_gzip_suffix
from retainer.data.shards import SPLIT_NAMES, files_by_split
from retainer.data.split_lists import LIST_SUFFIXES, read_split_lists
from retainer.errors import InputError

FORMATS_WITHOUT_DEV = ("i2b2",)
"""Formats of corpora that are published without a dev split; some of their training documents become it."""

_TENTHS = {"test": range(2), "dev": range(2, 3), "train": range(3, 10)}
"""Which tenths of a corpus in one file become which split."""


def read_splits(folder: str | os.PathLike[str], columns: Mapping[str, str] | None = None) -> Splits:
    """Read the train, dev and test splits of a corpus from a folder; the last two may be missing.

    A split is a file, or a folder of documents, or Parquet files in pieces; or lists say which documents of the folder
    belong to which split. A single file is cut into splits. ``columns`` are those of tables.
    """
    if Path(folder).is_file():
        return cut_into_splits(require_learnable(read_corpus_file(os.fspath(folder), columns=columns)))
    documents = _documents(Path(folder), columns)
    train = documents["train"]
    if "dev" not in documents and train[0].format in FORMATS_WITHOUT_DEV and len(train) > 1:
        documents["train"], documents["dev"] = hold_out_documents(train)
    joined = {name: require_learnable(_joined(found, Path(folder) / name)) for name, found in documents.items()}
    return Splits(**joined)


def cut_into_splits(corpus: Corpus) -> Splits:
    """Cut a corpus into splits by the words of its sentences: always the same, and no text is in two of them."""
    tenths = [_tenth(sentence.words) for sentence in corpus]
    splits = {
        name: replace(corpus, sentences=tuple(s for s, tenth in zip(corpus, tenths, strict=True) if tenth in chosen))
        for name, chosen in _TENTHS.items()
    }
    if empty := [name for name, split in splits.items() if not split.counts]:
        raise InputError(
            f"{corpus.source} has too few entities to be cut into parts: none is left for {empty[0]}; annotate "
            "more, or give a folder with train, dev and test files"
        )
    return Splits(**splits)


def _tenth(words: tuple[str, ...]) -> int:
    return hashlib.sha256("\x1f".join(words).encode()).digest()[0] * 10 // 256


def _documents(folder: Path, columns: Mapping[str, str] | None) -> dict[str, list[Corpus]]:
    """Read every split as a list of documents; a file is one."""
    lists = {name: path for name, names in SPLIT_NAMES.items() if (path := _only(folder, _lists(folder, names)))}
    if "train" in lists:
        return read_split_lists(folder, lists)
    shards = files_by_split(shard_files(folder), folder)
    if "train" in shards:
        return {name: [read_document_file(file, columns) for file in files] for name, files in shards.items()}
    paths = {name: path for name, names in SPLIT_NAMES.items() if (path := _split(folder, names))}
    if "train" not in paths:
        raise InputError(
            f"{folder} has no file named train.* and no folder named train; name its parts train, dev and test"
        )
    return {name: _read(path, columns) for name, path in paths.items()}


def _split(folder: Path, names: tuple[str, ...]) -> Path | None:
    files = [path for path in folder.iterdir() if path.is_file() and Path(without_gzip_suffix(path.name)).stem in names]
    folders = [path for path in folder.iterdir() if path.is_dir() and path.name in names]
    return _only(folder, [path for path in files if path.suffix not in LIST_SUFFIXES] or folders)


def _lists(folder: Path, names: tuple[str, ...]) -> list[Path]:
    return [path for path in folder.iterdir() if path.stem in names and path.suffix in LIST_SUFFIXES]


def _only(folder: Path, paths: list[Path]) -> Path | None:
    if len(paths) > 1:
        first, second, *_ = sorted(path.name for path in paths)
        raise InputError(f"{folder} has both {first} and {second}; leave one of them")
    return paths[0] if paths else None


def _read(path: Path, columns: Mapping[str, str] | None) -> list[Corpus]:
    if path.is_file():
        return [require_learnable(read_corpus_file(os.fspath(path), columns=columns))]
    return [read_document_file(file, columns) for file in document_files(path)]


def _joined(documents: list[Corpus], path: Path) -> Corpus:
    return documents[0] if len(documents) == 1 else join_documents(documents, os.fspath(path))
