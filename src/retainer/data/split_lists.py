"""Lists of documents, one per split of a corpus: how the official splits of OntoNotes are published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from retainer.data.corpus import Corpus
from retainer.data.documents import DOCUMENT_ENDINGS, document_ending, files_below, has_ending, read_document_file
from retainer.data.lines import error_location, numbered_lines
from retainer.data.text_files import read_text_file
from retainer.errors import InputError, quoted

LIST_SUFFIXES = (".id", ".list")
"""How the names of lists end; before that stands the name of the split."""

UNANNOTATED_DOCUMENTS = "listed documents without a file of entities"
"""The oddity of a document of which only other files are there: OntoNotes annotates names in most, not in all."""

_Key = tuple[str, ...]
"""The path of a document, without the ending of its file name."""


def read_split_lists(folder: Path, lists: Mapping[str, Path]) -> dict[str, list[Corpus]]:
    """Read the documents that the list of every split names, from below the folder; none may be in two splits."""
    index = _DocumentIndex(folder)
    files = {split: index.files_of(path) for split, path in lists.items()}
    return {split: _read(listed, lists[split]) for split, listed in files.items()}


def _read(files: Sequence[Path | None], list_: Path) -> list[Corpus]:
    """Read the documents; what is not there is an oddity of the list."""
    documents = [read_document_file(path) for path in files if path is not None]
    if not documents:
        raise InputError(f"{list_}: the list names no document with entities; write one path per line")
    unannotated = files.count(None)
    note = Corpus((), str(list_), documents[0].format, oddities={UNANNOTATED_DOCUMENTS: unannotated})
    return [*documents, note] if unannotated else documents


class _DocumentIndex:
    """The documents of a folder by name, and which list has claimed them."""

    def __init__(self, folder: Path) -> None:
        files = [path for path in files_below(folder) if path.suffix not in LIST_SUFFIXES]
        ending = document_ending(files)
        if ending is None:
            raise InputError(
                f"{folder} has lists but no document (a file whose name ends in {', '.join(DOCUMENT_ENDINGS)})"
            )
        self._folder, self._ending = folder, ending
        self._files: dict[str, dict[_Key, list[Path]]] = {}
        for path in files:
            key = _key(path.relative_to(folder).as_posix())
            self._files.setdefault(key[-1], {}).setdefault(key, []).append(path)
        self._claimed: dict[_Key, str] = {}

    def files_of(self, path: Path) -> list[Path | None]:
        """Return the files of one list, in its order; None stands for a document without a file of entities."""
        found: list[Path | None] = []
        for number, line in numbered_lines(read_text_file(str(path))):
            if line.strip():
                with error_location(f"{path}:{number}"):
                    found.append(self._claim(line.strip(), f"{path.name}:{number}"))
        return found

    def _claim(self, line: str, where: str) -> Path | None:
        wanted = _key(line)
        fits = [key for key in self._files.get(wanted[-1], {}) if _one_ends_the_other(key, wanted)]
        if len(fits) != 1:
            found = "no document" if not fits else f"both {'/'.join(fits[0])} and {'/'.join(fits[1])}"
            raise InputError(f"{quoted(line)} fits {found} below {self._folder}; write the end of one document's path")
        if fits[0] in self._claimed:
            raise InputError(f"{quoted(line)} is listed already, in {self._claimed[fits[0]]}; leave one of them")
        self._claimed[fits[0]] = where
        files = self._files[wanted[-1]][fits[0]]
        return next((path for path in files if has_ending(path, self._ending)), None)


def _key(path: str) -> _Key:
    *folders, name = path.replace("\\", "/").strip("/").split("/")
    return (*folders, name.split(".")[0])


def _one_ends_the_other(left: _Key, right: _Key) -> bool:
    """Say whether one path is the end of the other: lists begin at the folder of their makers, not of the user."""
    size = min(len(left), len(right))
    return left[-size:] == right[-size:]
