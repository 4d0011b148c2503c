"""Data into a project and out of it, in every format that retainer reads and writes.

What people decided is never overwritten by a file, and only what they decided leaves as annotation.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from retainer.data.corpus import Corpus
from retainer.data.formats.table import holds_complete
from retainer.data.io import read, write
from retainer.data.labels import require_names
from retainer.data.lines import error_location
from retainer.data.spans import Sentence
from retainer.data.tasks import say_complete
from retainer.data.texts import Texts, texts_or_corpus
from retainer.errors import InputError
from retainer.workbench.annotation import AnnotatedText, Annotation
from retainer.workbench.project import Project
from retainer.workbench.texts import checked_text
from retainer.workbench.type_merge import are_alike

IMPORTER = "import"
"""Who made the changes of an import, unless somebody is named."""


@dataclass(frozen=True)
class ImportableData:
    """Data that were read and checked: what no project could take is refused before one is opened or made."""

    texts: tuple[Sentence, ...]
    annotations: tuple[Annotation, ...]
    """What the data say about each of the texts."""
    source: str
    oddities: Mapping[str, int] = field(default_factory=dict)
    """What the reader of a format skipped or noticed, and how often."""

    @classmethod
    def of(cls, data: Corpus | Texts) -> ImportableData:
        """Take data, annotated or not; texts without a word are passed over.

        Where no sentence says which types are complete in it, those are that the data have, as `learn` takes it.
        """
        sentences = _said(data) if isinstance(data, Corpus) else [sentence for _, sentence in data]
        with error_location(data.source):
            worded = [checked_text(number, one) for number, one in enumerate(sentences, 1) if one.words]
            if not worded:
                raise InputError("there is no word in it, so there is nothing to import")
            found = cls(tuple(worded), tuple(map(_annotation, worded)), data.source, data.oddities)
            require_names(found.types)
        return found

    @property
    def types(self) -> tuple[str, ...]:
        """The types that the data speak of, in alphabetical order."""
        return tuple(sorted({type_ for one in self.annotations for type_ in one.types()}))


@dataclass(frozen=True)
class ImportedData:
    """What became of data that were imported."""

    texts: int
    """Texts with a word."""
    new: int
    """Texts that the project did not have."""
    annotated: int
    """Texts whose annotation was taken over."""
    kept: int
    """Texts that were annotated otherwise in the project, and stayed so."""
    new_types: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportedData:
    """What was exported."""

    texts: int
    entities: int
    left_out: int
    """Texts without a decision, in a format in which they would look like texts without an entity."""
    partly_annotated: int
    """Texts that are not complete for every type, in a format that cannot say so."""
    drafts: int
    """Texts in which something is marked and nothing decided yet; they are exported as if nothing were."""


def read_data(
    path: str | os.PathLike[str], format: str | None = None, columns: Mapping[str, str] | None = None
) -> ImportableData:
    """Read data to import, annotated or not; a format that is named means annotated data."""
    return ImportableData.of(texts_or_corpus(path, columns) if format is None else read(path, format, columns))


def import_data(project: Project, data: ImportableData, who: str = IMPORTER) -> ImportedData:
    """Put data into a project: all of it, or nothing."""
    with project.database.writing():
        merged = project.types.merged()
        new_types = project.types.ensure((type_ for type_ in data.types if type_ not in merged), who)
        added = project.texts.add(data.texts, os.path.basename(data.source) or data.source)
        said = [_with_names(one, merged) for one in data.annotations]
        taken = [_take(project, text, one, who) for text, one in zip(added.ids, said, strict=True)]
    return ImportedData(len(data.texts), added.new, taken.count(True), taken.count(False), new_types)


def _with_names(given: Annotation, merged: Mapping[str, str]) -> Annotation:
    """Return what a file says, where types that it names became part of others in the project."""
    if merged.keys().isdisjoint(given.types()):
        return given
    spans = tuple(replace(span, type=merged.get(span.type, span.type)) for span in given.entities)
    whole = (merged.get(one, one) for one in given.complete if one not in merged or are_alike(one, merged[one]))
    return replace(given, entities=spans, complete=tuple(dict.fromkeys(whole)))


def _said(corpus: Corpus) -> list[Sentence]:
    """Return sentences that all say which types are complete in them."""
    if corpus.complete is None:
        return [sentence.completed(corpus.types) for sentence in corpus]
    return list(say_complete(corpus))


def _annotation(sentence: Sentence) -> Annotation:
    """Return what a sentence says; one that says nothing is a text to look at, not a decision."""
    spans, complete = sentence.character_spans(), sentence.complete or ()
    return Annotation(spans, bool(spans or complete), complete)


def _take(project: Project, text: int, given: Annotation, who: str) -> bool | None:
    """Say of a text what a file says, and return True; False if the project says something else, None if the same."""
    if not given.decided:
        return None
    current = project.annotations.get(text)
    joined = _joined(current.annotation, given)
    if joined is None:
        return False
    after = project.annotations.write(text, joined, seen=current.revision, who=who, kind="import")
    return True if after.revision > current.revision else None


def _joined(old: Annotation, new: Annotation) -> Annotation | None:
    """Join what a file says about types that nothing was said about; None where it would change or decide anything."""
    if (set(old.entities), set(old.complete), old.decided) == (set(new.entities), set(new.complete), True):
        return old
    spans = sorted((*old.entities, *new.entities))
    overlap = any(right.start < left.end for left, right in zip(spans, spans[1:], strict=False))
    begun = not old.decided and old != Annotation()
    if overlap or begun or set(old.types()) & set(new.types()):
        return None
    return Annotation(tuple(spans), True, (*old.complete, *new.complete))


def export_data(project: Project, path: str | os.PathLike[str], format: str) -> ExportedData:
    """Write the texts of a project and what was decided about them to a new file or folder.

    A format that can say which types are complete gets all texts; any other one only those with a decision.
    """
    says_complete = holds_complete(format)
    with project.database.reading():
        texts, said = project.texts.all(), project.annotations.all()
        drafts = sum(bool(one.annotation.entities) for one in project.annotations.all(decided=False).values())
    chosen = [text for text in texts if says_complete or text.id in said]
    sentences = [said.get(text.id, AnnotatedText(text.id)).annotation.sentence(text) for text in chosen]
    write(sentences if says_complete else [replace(one, complete=None) for one in sentences], path, format)
    corpus = Corpus(tuple(sentences))
    partly = 0 if says_complete else sum(not {*corpus.types} <= {*(one.complete or ())} for one in corpus)
    return ExportedData(len(corpus), sum(corpus.counts.values()), len(texts) - len(chosen), partly, drafts)
