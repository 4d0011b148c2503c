"""Lists of documents, one per part of a corpus: how the official splits of OntoNotes are published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from retainer.data.corpus import Corpus
from retainer.data.documents import ENDINGS, ending_of, read_document, walk
from retainer.data.lines import error_location, numbered
from retainer.data.text_files import read_text_file
from retainer.errors import InputError

SUFFIXES = (".id", ".list")
"""How the names of lists end; before that stands the name of the part."""

BARE = "listed documents without a file of entities"
"""The oddity of a document of which only other files are there: OntoNotes annotates names in most, not in all."""

_Key = tuple[str, ...]
"""The path of a document, without the ending of its file name."""


def read_lists(folder: Path, lists: Mapping[str, Path]) -> dict[str, list[Corpus]]:
    """Read the documents that the list of every part names, from below the folder; none may be in two parts."""
    shelf = _Shelf(folder)
    found = {part: shelf.listed(path) for part, path in lists.items()}
    return {part: _read(files, lists[part]) for part, files in found.items()}


def _read(files: Sequence[Path | None], list_: Path) -> list[Corpus]:
    """Read the documents; what is not there is an oddity of the list."""
    documents = [read_document(path) for path in files if path is not None]
    if not documents:
        raise InputError(f"{list_}: the list names no document with entities; write one path to a line")
    bare = files.count(None)
    nothing = Corpus((), str(list_), documents[0].format, oddities={BARE: bare})
    return [*documents, nothing] if bare else documents


class _Shelf:
    """The documents of a folder by name, and which list has taken them."""

    def __init__(self, folder: Path) -> None:
        files = [path for path in walk(folder) if path.suffix not in SUFFIXES]
        ending = ending_of(files)
        if ending is None:
            raise InputError(f"{folder} has lists but no document (a file whose name ends in {', '.join(ENDINGS)})")
        self._folder, self._ending = folder, ending
        self._files: dict[str, dict[_Key, list[Path]]] = {}
        for path in files:
            key = _key(path.relative_to(folder).as_posix())
            self._files.setdefault(key[-1], {}).setdefault(key, []).append(path)
        self._taken: dict[_Key, str] = {}

    def listed(self, path: Path) -> list[Path | None]:
        """Return the files of one list, in its order; None stands for a document in which no entities are marked."""
        found: list[Path | None] = []
        for number, line in numbered(read_text_file(str(path))):
            if line.strip():
                with error_location(f"{path}:{number}"):
                    found.append(self._take(line.strip(), f"{path.name}:{number}"))
        return found

    def _take(self, line: str, where: str) -> Path | None:
        wanted = _key(line)
        fits = [key for key in self._files.get(wanted[-1], {}) if _agree(key, wanted)]
        if len(fits) != 1:
            found = "no document" if not fits else f"both {'/'.join(fits[0])} and {'/'.join(fits[1])}"
            raise InputError(f"{line!r} fits {found} below {self._folder}; write the end of one document's path")
        if fits[0] in self._taken:
            raise InputError(f"{line!r} is listed already, in {self._taken[fits[0]]}; leave one of them")
        self._taken[fits[0]] = where
        files = self._files[wanted[-1]][fits[0]]
        return next((path for path in files if path.name.endswith(self._ending)), None)


def _key(path: str) -> _Key:
    *folders, name = path.replace("\\", "/").strip("/").split("/")
    return (*folders, name.split(".")[0])


def _agree(left: _Key, right: _Key) -> bool:
    """Say whether one path is the end of the other: lists begin where their makers stood, not where the user stands."""
    size = min(len(left), len(right))
    return left[-size:] == right[-size:]
