"""A version as a component of a spaCy pipeline: ``nlp.add_pipe("retainer", config={"model": "models/v2"})``.

spaCy finds it by the entry point ``spacy_factories``; nothing of retainer need be imported. spaCy builds a saved
pipeline before it reads its files, with the model's path of the day it was made. So the model is loaded when it is
first needed: from inside the pipeline, if the pipeline was saved.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retainer.errors import InputError
from retainer.versions.carried_version import pack_version, require_version, store_version, unpack_version
from retainer.versions.spacy_entities import align_entities, set_entities

if TYPE_CHECKING:
    from retainer.versions.version import Version

CARRIED = "version"
"""Where a saved component has its version."""
ALIGNMENTS = ("expand", "contract", "strict")

ErrorHandler = Callable[[str, Any, list[Any], Exception], Any]


class RetainerComponent:
    """Finds entities in documents of spaCy."""

    def __init__(
        self, name: str, model: str, *, device: str = "auto", overwrite: bool = False, alignment: str = "expand"
    ) -> None:
        if alignment not in ALIGNMENTS:
            raise InputError(f"{name}: alignment is {' or '.join(ALIGNMENTS)}, not {alignment!r}")
        self.name, self.model, self.device = name, model, device
        self.overwrite, self.alignment = overwrite, alignment
        self.calibrated = False
        self._inside: Path | None = None
        self._unpacked: tempfile.TemporaryDirectory[str] | None = None
        self._version: Version | None = None
        self._process = os.getpid()
        self._handler: ErrorHandler = _raise

    @property
    def labels(self) -> tuple[str, ...]:
        """The types the version finds; empty until it is loaded, because spaCy asks before it has read the files."""
        return () if self._version is None else self._version.types

    @property
    def version(self) -> Version:
        """The version, loaded when it is first asked for."""
        from retainer.versions.version import load

        if os.getpid() != self._process:
            _settle_in_fork()
            self._process = os.getpid()
        if self._version is None:
            self._version = load(self._source, device=self.device, need_head=True)
        return self._version

    @property
    def _source(self) -> str | Path:
        if self._inside is not None:
            return require_version(self._inside)
        if not self.model:
            raise InputError(f'the component {self.name} has no model; add it with config={{"model": "models/v2"}}')
        return self.model

    def __call__(self, doc: Any) -> Any:
        """Find the entities of one document."""
        return next(self.pipe([doc], batch_size=1), doc)

    def pipe(self, stream: Iterable[Any], *, batch_size: int = 128) -> Iterator[Any]:
        """Find the entities of documents, a batch at a time: the tagger runs once per batch."""
        from spacy.util import minibatch

        for docs in minibatch(stream, batch_size):
            try:
                self._annotate(docs)
            except Exception as error:
                self._handler(self.name, self, docs, error)
            else:
                yield from docs

    def _annotate(self, docs: list[Any]) -> None:
        found = self.version.predict([doc.text for doc in docs], calibrated=self.calibrated)
        for doc, entities in zip(docs, found, strict=True):
            set_entities(doc, align_entities(doc, entities, self.alignment), overwrite=self.overwrite)

    def set_error_handler(self, handler: ErrorHandler) -> None:
        """Let spaCy say what becomes of documents that fail; unless it does, the error is raised."""
        self._handler = handler

    def get_error_handler(self) -> ErrorHandler:
        """Return what is called with documents that fail."""
        return self._handler

    def initialize(self, get_examples: Any = None, *, nlp: Any = None, **settings: Any) -> None:
        """Load the model now, as ``nlp.initialize()`` asks for: a wrong path is reported here."""
        _ = self.version

    def score(self, examples: Iterable[Any], **settings: Any) -> dict[str, Any]:
        """Score documents for ``nlp.evaluate``, as spaCy scores its own entity recognizer."""
        from spacy.scorer import get_ner_prf

        return dict(get_ner_prf(examples))

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Put the version into a saved pipeline, so that it loads wherever it is moved."""
        store_version(self.version, Path(path) / CARRIED, self._source)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> RetainerComponent:
        """Take the version from inside a saved pipeline from now on."""
        self._inside, self._version = require_version(Path(path) / CARRIED), None
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the files of the version in one piece."""
        with tempfile.TemporaryDirectory(prefix="retainer-") as scratch:
            store_version(self.version, Path(scratch) / CARRIED, self._source)
            return pack_version(Path(scratch) / CARRIED)

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> RetainerComponent:
        """Unpack the version into a folder of its own, which is removed with the component."""
        unpacked = tempfile.TemporaryDirectory(prefix="retainer-")
        folder = Path(unpacked.name) / CARRIED
        unpack_version(data, folder)
        self._inside, self._version = require_version(folder), None
        self._unpacked = unpacked  # only now, for with the old one goes the version that was there
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Leave the loaded model behind where a process starts anew: it is loaded there again."""
        return {**self.__dict__, "_version": None, "_unpacked": None}


def _raise(name: str, component: Any, docs: list[Any], error: Exception) -> None:
    raise error


def _settle_in_fork() -> None:
    """Use one thread in a process that was forked: those of its parent are not there, and waiting for them hangs."""
    import torch

    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    torch.set_num_threads(1)
