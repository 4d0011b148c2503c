"""A version: a tagger with its lineage, which predicts, is measured and is saved."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, overload

import numpy as np

from retainer.data.corpus import Corpus
from retainer.data.io import read
from retainer.data.spans import Sentence, Span
from retainer.errors import InputError
from retainer.files import new_folder, require_finished, sha256
from retainer.metrics.calibration import calibrate, hits, read_curves, reliability
from retainer.metrics.f1 import Scores, gold_spans, score, spans_by_sentence
from retainer.model.builtin import HUB_NAME
from retainer.model.heads import HeadKind
from retainer.model.onnx import FILE as ONNX
from retainer.model.onnx import Exported, export_onnx, load_exported
from retainer.model.predict import find, find_entities, scores_of
from retainer.model.sentence_generator import Generator, load_generator
from retainer.model.tagger import Tagger, load_tagger
from retainer.runtime import pick_device, versions
from retainer.versions.card import card
from retainer.versions.lineage import CARD_FILE, GENERATORS_FOLDER, Lineage, foreign_files, has_record
from retainer.versions.snapshot import Snapshot, take_snapshot
from retainer.versions.stored_parent import store_parent

PREDICT_CHUNK = 1024
"""Texts predicted at once: bounds the memory, whatever the length of a list."""


class Version:
    """A model and its lineage. Made by ``retainer.load`` and ``retainer.learn``."""

    def __init__(
        self,
        tagger: Tagger,
        lineage: Lineage,
        generators: tuple[Generator, ...] = (),
        place: Path | None = None,
    ) -> None:
        """Put a tagger and its record together, and the language models of its tasks if the method needs any.

        ``place`` is the folder it lies in, if it lies in one.
        """
        self.tagger, self.lineage, self.generators, self.place = tagger, lineage, generators, place
        self.snapshot: Snapshot | None = None
        """The files it was loaded from, if it lies in a folder with a record."""

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

    @property
    def learned_types(self) -> tuple[str, ...]:
        """The types it was taught: all but those that a split made and that are not learned yet."""
        return tuple(type_ for type_ in self.types if type_ not in self.lineage.pending)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of its weights: of the file if it was saved, else of what is in memory."""
        return self.lineage.weights or _weights_hash(self.tagger)

    @overload
    def predict(self, texts: str, *, calibrated: bool = ...) -> list[dict[str, Any]]: ...  # type: ignore[overload-overlap]
    @overload
    def predict(self, texts: Sequence[str], *, calibrated: bool = ...) -> list[list[dict[str, Any]]]: ...
    def predict(self, texts: str | Sequence[str], *, calibrated: bool = False) -> list[Any]:
        """Find the entities of a text, or of each text of a list.

        An entity is a dict with ``entity_group``, ``score``, ``word``, ``start`` and ``end`` (characters), as in
        transformers' token-classification pipeline. Texts may be of any length. A score is the mean probability of the
        entity's words, as in the pipeline; ``calibrated``, it is how probably the entity is right, as far as the dev
        sets of its tasks show (``lineage.calibration``; other types keep their score).
        """
        if isinstance(texts, str):
            return self.predict([texts], calibrated=calibrated)[0]
        sentences = [Sentence.from_text(_whole(text)) for text in texts]
        chunks = (sentences[at : at + PREDICT_CHUNK] for at in range(0, len(sentences), PREDICT_CHUNK))
        found = [one for chunk in chunks for one in find_entities(self.tagger, chunk)]
        return [self.calibrated(one) for one in found] if calibrated else found

    def calibrated(self, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the entities of a text with scores that say how probably each is right."""
        raw = np.array([entity["score"] for entity in found])
        scores = calibrate(read_curves(self.lineage.calibration), raw, (entity["entity_group"] for entity in found))
        return [{**entity, "score": score} for entity, score in zip(found, scores.tolist(), strict=True)]

    def tag(self, sentences: Sequence[Sentence]) -> list[tuple[Span, ...]]:
        """Find the entities of sentences that are already cut into words."""
        spans, tagged = find(self.tagger, sentences, self.types)
        return spans_by_sentence(spans, tagged.sentence_starts, self.types)

    def evaluate(self, data: Corpus | str | Path, *, all: bool = False) -> Scores:
        """Score this version on annotated data.

        Only the types it knows are counted; with ``all``, the other types of the data count as missed. Every find of a
        type the data have nowhere counts as an error; ``scores.only(types)`` leaves such types out, as the verb does.
        """
        return self.assess(data, all=all)[0]

    def reliability(self, data: Corpus | str | Path) -> dict[str, Any]:
        """Measure the expected calibration error, of plain and of calibrated scores, in all and per type, in percent.

        With it, the tenths that a reliability plot is drawn from. Only types that the data have count.
        """
        return self.assess(data)[1]

    def assess(self, data: Corpus | str | Path, *, all: bool = False) -> tuple[Scores, dict[str, Any]]:
        """Do both at once: the model runs over the data only once."""
        corpus = data if isinstance(data, Corpus) else read(data)
        types = [*self.types, *(type_ for type_ in corpus.types if all and type_ not in self.types)]
        if not set(types) & set(corpus.types):
            known = ", ".join(types[:8])
            raise InputError(f"{corpus.source} has no entity of a type this model knows ({known}): nothing to measure")
        spans, tagged = find(self.tagger, corpus.sentences, types)
        gold = gold_spans(corpus, tagged.sentence_starts, types)
        annotated = [type_ for type_ in self.types if type_ in corpus.counts]
        chosen = np.isin(spans.type, [types.index(type_) for type_ in annotated])
        names = [types[number] for number in spans.type[chosen]]
        plain, right = scores_of(spans, tagged)[chosen], hits(spans, gold)[chosen]
        both = {"plain": plain, "calibrated": calibrate(read_curves(self.lineage.calibration), plain, names)}
        measured = {name: reliability(kind, right, names, annotated) for name, kind in both.items()}
        return score(gold, spans, types), measured

    def require_unchanged(self) -> None:
        """Refuse a version whose files were replaced since it began to load: it may be made of two."""
        if self.snapshot is not None:
            self.snapshot.require_unchanged()

    def child_record(self, **facts: Any) -> Lineage:
        """Return the record of a version that is made from this one, with some more facts."""
        before, place = self.lineage, self.place
        hub = "" if before.created else before.base_model or before.encoder
        foreign = foreign_files(place) if place and self.types and not before.created else []
        usual = {
            "encoder": before.encoder,
            "base_model": before.base_model or (HUB_NAME if before.encoder == "builtin" else ""),
            "parent_hash": before.own_hash,
            "parent_name": place.resolve().name if place else hub,
            "parent_files": {name: sha256(place / name) for name in foreign if place},
            "tasks": before.tasks or ((self.types,) if self.types else ()),
            "pending": before.pending,
            "versions": versions(),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "ancestors": (*before.ancestors, before.record) if before.created else (),
        }
        if "parent" not in facts:  # it takes a while to compute
            facts["parent"] = self.fingerprint
        return Lineage(**{**usual, **facts})

    def save(self, folder: str | Path, *, keep_parent: Path | None = None) -> Path:
        """Write a plain Hugging Face folder plus retainer.json and a model card: whole, or not at all.

        With ``keep_parent``, the folder of the previous version, what is needed to write that one again is put inside.
        """
        if isinstance(self.tagger, Exported):
            raise InputError("an ONNX export cannot be saved as a version; copy its folder instead")
        if not self.lineage.tasks:
            raise InputError("a model without a record cannot be saved as a version; copy its folder instead")
        with new_folder(folder) as scratch:
            self.tagger.save(scratch)
            for number, generator in enumerate(self.generators, 1):
                (scratch / GENERATORS_FOLDER / str(number)).mkdir(parents=True)
                generator.save(scratch / GENERATORS_FOLDER / str(number))
            sealed = self.lineage.save(scratch)
            (scratch / CARD_FILE).write_text(self._card(sealed, Path(folder).name), encoding="utf-8")
            if keep_parent is not None:
                store_parent(keep_parent, scratch)
        self.lineage, self.place = sealed, Path(folder)
        return Path(folder)

    def _card(self, record: Lineage, name: str) -> str:
        piped = all(kind in "BI" for kind, type_ in self.tagger.labels.parts if type_)
        return card(record, name, bool(self.generators), piped=piped)

    def export_plain(self, folder: str | Path) -> Path:
        """Write a Hugging Face folder and nothing else, with labels that transformers' pipeline reads as we do."""
        self._require_network()
        with new_folder(folder) as scratch:
            self.tagger.paired().save(scratch)
        return Path(folder)

    def _require_network(self) -> None:
        if isinstance(self.tagger, Exported):
            raise InputError(f"this is an ONNX export already; export the version it came from{_origin(self.lineage)}")

    def export(self, folder: str | Path, *, int8: bool = False) -> Path:
        """Write an ONNX file with its tokenizer and labels, for use without PyTorch; int8 rounds its weights."""
        self._require_network()
        with new_folder(folder) as scratch:
            export_onnx(
                self.tagger,
                scratch,
                int8=int8,
                about={
                    "weights": self.lineage.weights,
                    "tasks": self.lineage.tasks,
                    "calibration": dict(self.lineage.calibration),
                },
            )
        return Path(folder)


def _exported(folder: Path, device: str) -> Version:
    """Load an ONNX export, with as much of its lineage as it carries."""
    if device not in ("auto", "cpu"):
        raise InputError(f"{folder} is an ONNX export, which runs on the CPU; leave --device out, or use the version")
    tagger, about = load_exported(folder)
    tasks = tuple(tuple(task) for task in about.get("tasks", ()))
    return Version(
        tagger.eval(), Lineage(tasks=tasks, weights=about.get("weights", ""), calibration=about.get("calibration", {}))
    )


def _weights_hash(tagger: Tagger) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(tagger.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _origin(lineage: Lineage) -> str:
    return f" (its weights have the SHA-256 {lineage.weights[:12]}…)" if lineage.weights else ""


def _whole(text: str) -> str:
    """Refuse what only looks like text: bytes that were not UTF-8 leave halves of characters behind."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"the text {text[:40]!a} is not valid Unicode; was it read as UTF-8?") from None
    return text


def load(spec: str | Path, *, device: str = "auto", head: HeadKind = "linear", need_head: bool = False) -> Version:
    """Load ``builtin``, a version's folder, any token-classification checkpoint, or a bare encoder.

    Folders that retainer wrote are checked against their recorded hashes first. A bare encoder gets an empty head of
    the given kind, unless ``need_head`` refuses it.
    """
    spec = str(spec)
    if os.path.isfile(spec):
        raise InputError(f"{spec} is a file; a model is a folder, a hub name, or 'builtin'")
    place = _place(spec)
    if place is not None and not has_record(place) and (place / ONNX).is_file():
        return _exported(place, device)
    snapshot = take_snapshot(place) if place is not None and has_record(place) else None
    lineage = Lineage() if place is None else Lineage.load(place)
    if lineage.created and not lineage.files:
        note = "%s: only the weights were checked, because an older retainer wrote no other hashes"
        logging.getLogger("retainer").warning(note, spec)
    tagger = load_tagger(str(place or spec), head=head, need_head=need_head).to(pick_device(device)).eval()
    if not lineage.created:
        hub = "" if place else HUB_NAME if spec == "builtin" else spec
        encoder = "" if tagger.labels.types else place.resolve().name if place else spec
        lineage = replace(lineage, base_model=hub, encoder=lineage.encoder or encoder)
    generators = () if place is None else _generators(place / GENERATORS_FOLDER)
    version = Version(tagger, lineage, generators, place)
    version.snapshot = snapshot
    version.require_unchanged()
    return version


def _place(spec: str) -> Path | None:
    """Return the folder that is meant, with all links on the way followed once: they may move while it is read."""
    if spec == "builtin" or not os.path.isdir(spec):
        return None
    place, there = Path(spec), Path(spec).resolve()
    require_finished(there)
    return place if there == place.absolute() else there


def _generators(folder: Path) -> tuple[Generator, ...]:
    """Load the language models of a version, task by task."""
    found: list[Generator] = []
    while model := load_generator(folder / str(len(found) + 1)):
        found.append(model)
    return tuple(found)
