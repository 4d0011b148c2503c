"""The files of a bulk run: found by a name, a pattern or a folder, and the names by which their texts are known."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from retainer.data.documents import document_ending, document_files, files_below
from retainer.data.gzip_blocks import without_gzip_suffix
from retainer.data.line_stream import STDIN
from retainer.errors import InputError

ENDINGS = (".txt", ".text", ".jsonl", ".json", ".csv", ".tsv", ".conll", ".parquet")
"""How the names of files with texts end, in a folder that holds other files too; any of them may be compressed."""
_OF_A_CORPUS = ("gold_conll", ".name", ".xml", ".ann", ".arrow")
"""Endings that make a folder a corpus of annotated documents, which is read by its format."""


@dataclass(frozen=True)
class InputFile:
    """A file to read, and what it is called: its path below the folder or the pattern that was given."""

    path: str
    name: str
    size: int
    changed: int
    """When it was changed, in nanoseconds."""

    @property
    def facts(self) -> dict[str, str | int]:
        """What tells it from another file of that name."""
        return {"name": self.name, "bytes": self.size, "changed": self.changed}


def find_inputs(pattern: str) -> tuple[list[InputFile], list[str]]:
    """Return the files that are meant, in the order of their names, and remarks about files that are left out."""
    if pattern == STDIN or (os.path.exists(pattern) and not os.path.isfile(pattern) and not os.path.isdir(pattern)):
        raise InputError(
            "--out needs files that can be read again when a run goes on, not a stream; write a file first"
        )
    if os.path.isdir(pattern):
        return _below(Path(pattern))
    if os.path.isfile(pattern):
        return [_input(pattern, os.path.basename(pattern))], []
    root = _fixed_part(pattern)
    files = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
    if not files:
        raise InputError(f"{pattern}: there is no such file, and none whose path fits it as a pattern")
    return [_input(path, Path(os.path.relpath(path, root)).as_posix()) for path in files], []


def _below(folder: Path) -> tuple[list[InputFile], list[str]]:
    found = files_below(folder)
    if document_ending(found) in _OF_A_CORPUS:
        wanted: Sequence[Path] = document_files(folder)
    else:
        wanted = [path for path in found if without_gzip_suffix(path.name.lower()).endswith(ENDINGS)]
    if not wanted:
        raise InputError(f"{folder}: no name in this folder ends in {', '.join(ENDINGS)}; name the files by a pattern")
    left = [] if document_ending(found) in _OF_A_CORPUS else [path for path in found if path not in set(wanted)]
    remarks = [f"left out, since their names end otherwise: {len(left)} files, such as {left[0]}"] if left else []
    return [_input(os.fspath(path), path.relative_to(folder).as_posix()) for path in wanted], remarks


def _fixed_part(pattern: str) -> str:
    """Return the folders of a pattern that are the same for all files it fits."""
    parts = Path(pattern).parts[:-1]
    fixed = next((at for at, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return os.path.join(*parts[:fixed]) if fixed else "."


def _input(path: str, name: str) -> InputFile:
    facts = os.stat(path)
    return InputFile(path, name, facts.st_size, facts.st_mtime_ns)
