"""A folder of documents, as the makers of licensed corpora ship them: many small files in folders of folders."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from retainer.data.corpus import Corpus
from retainer.data.formats.table import COLUMNS, find_format, recognise
from retainer.data.lines import first_lines, numbered
from retainer.data.text_files import read_text_file
from retainer.errors import InputError

ENDINGS = {"gold_conll": "conll2012", ".name": "enamex", ".xml": "i2b2", ".ann": "brat"}
"""The formats of documents by how their names end, in the order in which a folder is searched for them.

Names, not content, because such folders are full of other files: parses, word senses, predicted entities.
"""

_SHARE = 10
"""One document in so many is set aside where a corpus has no dev part."""


def walk(folder: Path) -> list[Path]:
    """Return all files below a folder, by path; what operating systems hide in archives is passed over.

    Links are followed, for nobody wants a second copy of a large corpus; a folder that was seen is not entered again.
    """
    found, seen = [], set[str]()
    for place, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        folders[:] = [name for name in folders if real not in seen and not name.startswith((".", "__MACOSX"))]
        found += [Path(place, name) for name in names if real not in seen and not name.startswith(".")]
        seen.add(real)
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())


def ending_of(files: Sequence[Path], format: str | None = None) -> str | None:
    """Return how the names of the documents among some files end; of several kinds the first of the table counts."""
    wanted = [ending for ending, name in ENDINGS.items() if format in (None, name)]
    return next((ending for ending in wanted if any(path.name.endswith(ending) for path in files)), None)


def document_files(folder: Path, format: str | None = None) -> list[Path]:
    """Return the documents below a folder, by path."""
    files = walk(folder)
    ending = ending_of(files, format)
    if ending is None:
        raise InputError(
            f"{folder}: this is a folder; name a file in it, or a folder with documents (files whose names end in "
            f"{', '.join(ENDINGS)})"
        )
    return [path for path in files if path.name.endswith(ending)]


def read_document(path: Path) -> Corpus:
    """Read one document of a folder; it may hold no sentence."""
    return read_file(os.fspath(path), next(name for ending, name in ENDINGS.items() if path.name.endswith(ending)))


def read_file(path: str, format: str | None = None) -> Corpus:
    """Read a file; unless named, the format is told from what the file holds."""
    text = read_text_file(path)
    found = format or recognise(first_lines(line for _, line in numbered(text))) or COLUMNS
    return find_format(found).read(text, path)


def read_folder(folder: Path, format: str | None = None) -> Corpus:
    """Read the documents below a folder as one corpus; it may hold no sentence."""
    return join([read_document(file) for file in document_files(folder, format)], os.fspath(folder))


def filled(corpus: Corpus) -> Corpus:
    """Refuse a corpus without a sentence: nothing can be learned from it, and something must have gone wrong."""
    if not corpus.sentences:
        passed = "".join(f", only {count} {name}" for name, count in corpus.oddities.items())
        raise InputError(f"{corpus.source}: found no sentence{passed}; the file must hold at least one")
    return corpus


def join(documents: Sequence[Corpus], source: str) -> Corpus:
    """Make one corpus of documents in their order; from here on nobody knows where one ends."""
    sentences = tuple(sentence for document in documents for sentence in document)
    seen = sum((Counter(document.oddities) for document in documents), Counter[str]())
    format = documents[0].format if documents else ""
    return Corpus(sentences, source, format, oddities=dict(seen))


def set_aside(documents: Sequence[Corpus]) -> tuple[list[Corpus], list[Corpus]]:
    """Take a tenth of the documents out, for a corpus without a dev part: the same whatever the seed and the folders.

    They are those whose file names have the lowest hashes, so whole documents move, and everybody sets the same aside.
    """
    ranked = sorted(documents, key=lambda document: (_rank(document.source), document.source))
    aside = {document.source for document in ranked[: max(1, len(documents) // _SHARE)]}
    rest = [document for document in documents if document.source not in aside]
    return rest, [document for document in documents if document.source in aside]


def _rank(source: str) -> str:
    return hashlib.sha256(f"dev {Path(source).name}".encode()).hexdigest()
