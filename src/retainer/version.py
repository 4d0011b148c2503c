"""A version: a tagger that knows where it comes from, predicts, is measured and is saved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

from retainer.corpora import Corpus, read
from retainer.errors import InputError
from retainer.files import new_folder
from retainer.generator import Generator, load_generator
from retainer.heads import Kind
from retainer.lineage import Lineage
from retainer.metrics import Scores, gold_spans, score, spans_by_sentence
from retainer.model import Tagger, load_tagger
from retainer.onnx import FILE as ONNX
from retainer.onnx import Exported, export, load_exported
from retainer.predict import entities, find
from retainer.runtime import pick_device
from retainer.spans import Sentence, Span

GENERATORS = "generators"
"""Where a version keeps the language models of its tasks."""

CHUNK = 1024
"""Texts predicted at once: bounds the memory, whatever the length of a list."""


class Version:
    """A model and its lineage. Made by ``retainer.load`` and ``retainer.learn``."""

    def __init__(self, tagger: Tagger, lineage: Lineage, generators: tuple[Generator, ...] = ()) -> None:
        """Put a tagger and its record together, and the language models of its tasks if the method keeps any."""
        self.tagger, self.lineage, self.generators = tagger, lineage, generators

    @property
    def types(self) -> tuple[str, ...]:
        """The entity types this version finds."""
        return self.tagger.labels.types

    @property
    def new_types(self) -> tuple[str, ...]:
        """The types the last task brought; empty for a foreign checkpoint."""
        return self.lineage.tasks[-1] if self.lineage.tasks else ()

    @property
    def old_types(self) -> tuple[str, ...]:
        """The types known before the last task."""
        return tuple(type_ for type_ in self.types if type_ not in self.new_types)

    @overload
    def predict(self, texts: str) -> list[dict[str, Any]]: ...  # type: ignore[overload-overlap]
    @overload
    def predict(self, texts: Sequence[str]) -> list[list[dict[str, Any]]]: ...
    def predict(self, texts: str | Sequence[str]) -> list[Any]:
        """Find the entities of a text, or of each text of a list.

        An entity is a dict with ``entity_group``, ``score``, ``word``, ``start`` and ``end`` (characters), as in
        transformers' token-classification pipeline. Texts may be of any length.
        """
        if isinstance(texts, str):
            return self.predict([texts])[0]
        sentences = [Sentence.from_text(_whole(text)) for text in texts]
        chunks = (sentences[at : at + CHUNK] for at in range(0, len(sentences), CHUNK))
        return [found for chunk in chunks for found in entities(self.tagger, chunk)]

    def tag(self, sentences: Sequence[Sentence]) -> list[tuple[Span, ...]]:
        """Find the entities of sentences that are already cut into words."""
        spans, tagged = find(self.tagger, sentences, self.types)
        return spans_by_sentence(spans, tagged.sentence_starts, self.types)

    def evaluate(self, data: Corpus | str | Path, *, all: bool = False) -> Scores:
        """Score this version on annotated data.

        Only the types it knows are counted; with ``all``, the other types of the data count as missed.
        """
        corpus = data if isinstance(data, Corpus) else read(data)
        types = [*self.types, *(type_ for type_ in corpus.types if all and type_ not in self.types)]
        if not set(types) & set(corpus.types):
            raise InputError(
                f"{corpus.source} has no entity of a type this model knows ({', '.join(types[:8])}), so there is "
                "nothing to measure"
            )
        spans, tagged = find(self.tagger, corpus.sentences, types)
        return score(gold_spans(corpus, tagged.sentence_starts, types), spans, types)

    def save(self, folder: str | Path) -> Path:
        """Write a plain Hugging Face folder plus retainer.json: whole, or not at all."""
        if isinstance(self.tagger, Exported):
            raise InputError("an ONNX export cannot be saved as a version; copy its folder instead")
        with new_folder(folder) as scratch:
            self.tagger.save(scratch)
            for number, generator in enumerate(self.generators, 1):
                (scratch / GENERATORS / str(number)).mkdir(parents=True)
                generator.save(scratch / GENERATORS / str(number))
            sealed = self.lineage.save(scratch)
        self.lineage = sealed
        return Path(folder)

    def export(self, folder: str | Path, *, int8: bool = False) -> Path:
        """Write an ONNX file with its tokenizer and labels, for use without PyTorch; int8 rounds its weights."""
        if isinstance(self.tagger, Exported):
            raise InputError(f"this is an ONNX export already; export the version it came from{_origin(self.lineage)}")
        with new_folder(folder) as scratch:
            export(
                self.tagger, scratch, int8=int8, about={"weights": self.lineage.weights, "tasks": self.lineage.tasks}
            )
        return Path(folder)


def _exported(folder: Path, device: str) -> Version:
    """Load an ONNX export, with as much of its lineage as it carries."""
    if device not in ("auto", "cpu"):
        raise InputError(f"{folder} is an ONNX export, which runs on the CPU; leave --device out, or use the version")
    tagger, about = load_exported(folder)
    tasks = tuple(tuple(task) for task in about.get("tasks", ()))
    return Version(tagger.eval(), Lineage(tasks=tasks, weights=about.get("weights", "")))


def _origin(lineage: Lineage) -> str:
    return f" (its weights have the SHA-256 {lineage.weights[:12]}…)" if lineage.weights else ""


def _whole(text: str) -> str:
    """Refuse what only looks like text: bytes that were no UTF-8 leave halves of characters behind."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"the text {text[:40]!a} is no valid Unicode; was it read as UTF-8?") from None
    return text


def load(spec: str | Path, *, device: str = "auto", head: Kind = "linear", need_head: bool = False) -> Version:
    """Load ``builtin``, a version's folder, any token-classification checkpoint, or a bare encoder.

    Folders we saved are checked against their recorded hash first. A bare encoder gets an empty head of the given
    kind, unless ``need_head`` refuses it.
    """
    spec = str(spec)
    if Path(spec).is_file():
        raise InputError(f"{spec} is a file; a model is a folder, a hub name, or 'builtin'")
    if (Path(spec) / ONNX).is_file():
        return _exported(Path(spec), device)
    lineage = Lineage.load(Path(spec)) if spec != "builtin" else Lineage()
    tagger = load_tagger(spec, head=head, need_head=need_head).to(pick_device(device)).eval()
    if not tagger.labels.types and not lineage.encoder:
        lineage = Lineage(encoder=spec if spec == "builtin" or not Path(spec).is_dir() else Path(spec).resolve().name)
    return Version(tagger, lineage, _generators(Path(spec) / GENERATORS))


def _generators(folder: Path) -> tuple[Generator, ...]:
    """Load the language models of a version, task by task."""
    found: list[Generator] = []
    while model := load_generator(folder / str(len(found) + 1)):
        found.append(model)
    return tuple(found)
