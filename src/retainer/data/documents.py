"""A folder of documents, as the makers of licensed corpora ship them: many small files in folders of folders."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from retainer.data.corpus import Corpus
from retainer.data.formats.binary import BINARY_FORMATS, recognise_bytes, recognise_file
from retainer.data.formats.csv_table import csv_table
from retainer.data.formats.table import COLUMN_FORMAT, TABLE_FORMATS, find_format, recognise
from retainer.data.formats.table_rows import corpus_of_table
from retainer.data.gzip_blocks import without_gzip_suffix
from retainer.data.labels import require_names
from retainer.data.lines import error_location, first_lines, numbered_lines
from retainer.data.shards import require_one_split, saved_files, split_of
from retainer.data.text_files import decode_text, read_bytes_file
from retainer.errors import InputError

DOCUMENT_ENDINGS = {
    "gold_conll": "conll2012",
    ".name": "enamex",
    ".xml": "i2b2",
    ".ann": "brat",
    ".conll": "conll",
    ".parquet": "parquet",
    ".arrow": "datasets",
}
"""The formats of documents by how their names end, in the order in which a folder is searched for them.

Names, not content, because such folders are full of other files: parses, word senses, predicted entities. Files of
text may also be compressed.
"""

_WITH_SPLITS = (".conll", ".parquet", ".arrow")
"""Endings of files that may be splits of a corpus as well as documents of one."""
_ONE_IN = 10
"""One document in so many is held out where a corpus has no dev split."""


def files_below(folder: Path) -> list[Path]:
    """Return all files below a folder, by path; what operating systems hide in archives is left out.

    Links are followed, since a large corpus is rarely copied; a folder that was seen is not entered a second time.
    """
    found, seen = [], set[str]()
    for place, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        folders[:] = [name for name in folders if real not in seen and not name.startswith((".", "__MACOSX"))]
        found += [Path(place, name) for name in names if real not in seen and not name.startswith(".")]
        seen.add(real)
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())


def document_ending(files: Sequence[Path], format: str | None = None) -> str | None:
    """Return how the names of the documents among some files end; of several kinds the first in the table counts."""
    wanted = [ending for ending, name in DOCUMENT_ENDINGS.items() if format in (None, name)]
    return next((ending for ending in wanted if any(has_ending(path, ending) for path in files)), None)


def has_ending(path: Path, ending: str) -> bool:
    """Say whether the name of a file ends so, compressed or not."""
    return without_gzip_suffix(path.name).endswith(ending)


def shard_files(folder: Path) -> list[Path]:
    """Return the Parquet files below a folder, by path: a repository of `datasets` holds its splits in such pieces."""
    return [path for path in files_below(folder) if path.name.endswith(".parquet")]


def holds_tables(folder: Path) -> bool:
    """Say whether the documents below a folder are tables of Parquet or Arrow."""
    ending = document_ending(files_below(folder))
    return is_split_in_pieces(folder) or (ending is not None and DOCUMENT_ENDINGS[ending] in BINARY_FORMATS)


def is_split_in_pieces(path: Path) -> bool:
    """Say whether a path that is not there names a split whose files lie in pieces in the folder above it."""
    return not path.exists() and path.parent.is_dir() and bool(_pieces(path))


def _pieces(path: Path) -> list[Path]:
    return [file for file in shard_files(path.parent) if split_of(file, path.parent) == path.name]


def document_files(folder: Path, format: str | None = None) -> list[Path]:
    """Return the documents below a folder, by path; of splits that lie there side by side, none is meant."""
    if is_split_in_pieces(folder):
        return _pieces(folder)
    files = files_below(folder)
    ending = document_ending(files, format)
    if ending is None:
        if (folder / "config.json").is_file():
            raise InputError(
                f"{folder}: this is a model, and data are wanted here; models come before data, but `learn` and "
                "`check` take them as --from and --model"
            )
        raise InputError(
            f"{folder}: this is a folder; name a file in it, or a folder with documents (files whose names end in "
            f"{', '.join(DOCUMENT_ENDINGS)})"
        )
    found = [path for path in files if has_ending(path, ending)]
    if ending in _WITH_SPLITS:
        require_one_split(found, folder)
    return saved_files(found) if ending == ".arrow" else found


def read_document_file(path: Path, columns: Mapping[str, str] | None = None) -> Corpus:
    """Read one document of a folder; it may hold no sentence."""
    format = next(name for ending, name in DOCUMENT_ENDINGS.items() if has_ending(path, ending))
    return read_corpus_file(os.fspath(path), format, columns)


def read_corpus_file(path: str, format: str | None = None, columns: Mapping[str, str] | None = None) -> Corpus:
    """Read a file; unless named, the format is recognised by what the file holds. Only a table has columns to name."""
    binary = recognise_file(path) if format is None or format in BINARY_FORMATS else None
    if binary is not None:
        return BINARY_FORMATS[binary].read(path, columns)
    data = read_bytes_file(path)
    if packed := recognise_bytes(data):
        raise InputError(f"{path}: this is {packed} inside gzip, though it is compressed by itself; unpack it first")
    if format in BINARY_FORMATS:
        raise InputError(f"{path}: this is not a file in the format {format}, or it is damaged")
    text = decode_text(data, path)
    if columns:
        return corpus_of_table(csv_table(text, path, columns), TABLE_FORMATS[0])
    if format is None:
        format = recognise(first_lines(line for _, line in numbered_lines(text))) or COLUMN_FORMAT
    return find_format(format).read(text, path)


def read_document_folder(folder: Path, format: str | None = None, columns: Mapping[str, str] | None = None) -> Corpus:
    """Read the documents below a folder as one corpus; it may hold no sentence."""
    files = document_files(folder, format)
    return join_documents([read_document_file(file, columns) for file in files], os.fspath(folder))


def require_learnable(corpus: Corpus) -> Corpus:
    """Refuse a corpus that nothing can be learned from: it has no sentence, or a type with a name no type can have.

    Whoever reads it wants to learn from it or to measure with it sooner or later, so every verb says so at once.
    """
    if not corpus.sentences:
        passed = "".join(f", only {count} {name}" for name, count in corpus.oddities.items())
        raise InputError(f"{corpus.source}: found no sentence{passed}; the file must hold at least one")
    with error_location(corpus.source):
        require_names(corpus.types)
    return corpus


def join_documents(documents: Sequence[Corpus], source: str) -> Corpus:
    """Make one corpus of documents in their order; where one ends is not kept."""
    sentences = tuple(sentence for document in documents for sentence in document)
    oddities = sum((Counter(document.oddities) for document in documents), Counter[str]())
    places = {what: [at for one in documents for at in one.odd_places.get(what, ())] for what in oddities}
    format = documents[0].format if documents else ""
    return Corpus(sentences, source, format, oddities=dict(oddities), odd_places=places)


def hold_out_documents(documents: Sequence[Corpus]) -> tuple[list[Corpus], list[Corpus]]:
    """Hold out a tenth of the documents, for a corpus without a dev split: the same whatever the seed and the folders.

    They are those whose file names have the lowest hashes, so whole documents move, and on every machine the same.
    """
    ranked = sorted(documents, key=lambda document: (_rank(document.source), document.source))
    held_out = {document.source for document in ranked[: max(1, len(documents) // _ONE_IN)]}
    rest = [document for document in documents if document.source not in held_out]
    return rest, [document for document in documents if document.source in held_out]


def _rank(source: str) -> str:
    return hashlib.sha256(f"dev {Path(source).name}".encode()).hexdigest()
