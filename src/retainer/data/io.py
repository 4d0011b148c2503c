"""Reading and writing corpora in files of any format."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from retainer.data.corpus import Corpus
from retainer.data.documents import (
    is_split_in_pieces,
    read_corpus_file,
    read_document_folder,
    require_learnable,
)
from retainer.data.formats.binary import BINARY_FORMATS
from retainer.data.formats.table import FORMATS, SUGGESTIONS, find_format, holds_complete
from retainer.data.lines import error_location
from retainer.data.spans import Sentence
from retainer.data.suggested import Suggested
from retainer.data.text_files import write_binary_file, write_text_file
from retainer.errors import InputError


def read(path: str | os.PathLike[str], format: str | None = None, columns: Mapping[str, str] | None = None) -> Corpus:
    """Read a corpus from a file, or from a folder of documents.

    Unless named, the format is recognised by what the file holds, never by its name; in a folder, by names. The columns
    of a table are found by their usual names, unless ``columns`` names them: ``{"text": "body", "entities": "marks"}``.
    """
    source = os.fspath(path)
    if format is not None:
        holds_complete(format)  # refuses a format that is not known
    if os.path.isdir(source) or is_split_in_pieces(Path(source)):
        return require_learnable(read_document_folder(Path(source), format, columns))
    return require_learnable(read_corpus_file(source, format, columns))


def write(sentences: Iterable[Sentence], path: str | os.PathLike[str], format: str) -> None:
    """Write a corpus; what the format could not give back is refused, and then the file stays as it was.

    Some formats are a folder of files, which must not be there yet.
    """
    target, sentences = os.fspath(path), list(sentences)
    with error_location(target):
        if not holds_complete(format):
            _refuse_complete(sentences, format)
        if format in BINARY_FORMATS:
            return write_binary_file(BINARY_FORMATS[format].write(sentences), target)
        content = find_format(format).write(sentences)
        if not content:
            raise InputError("there is no sentence to write")
    write_text_file(content, target)


def _refuse_complete(sentences: Iterable[Sentence], format: str) -> None:
    """Refuse to lose which types are complete: without it every O would be taken for a true one."""
    for number, sentence in enumerate(sentences, 1):
        if sentence.complete is not None:
            holding = " or ".join(name for name, one in FORMATS.items() if one.holds_complete)
            raise InputError(
                f"sentence {number}: it says which types are complete in it, and {format} cannot hold that; "
                f"write {holding}"
            )


def write_suggestions(sentences: Iterable[Suggested], path: str | os.PathLike[str], format: str, model: str) -> None:
    """Write what a model of that name found, for a person to correct."""
    target = os.fspath(path)
    with error_location(target):
        text = SUGGESTIONS[format](sentences, model)
    write_text_file(text, target)
