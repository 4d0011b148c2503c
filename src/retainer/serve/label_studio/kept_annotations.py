"""Annotations of Label Studio in a project: written, changed and taken back like those that people make here.

A text has one annotation. What Label Studio said about it before is replaced, of its own types alone; what somebody
decided in the workbench is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from retainer.errors import InputError
from retainer.serve.label_studio.bodies import SentAnnotation
from retainer.serve.label_studio.label_config import LabelConfig
from retainer.serve.label_studio.marks import marked_spans
from retainer.workbench.annotation import AnnotatedText, Annotation
from retainer.workbench.label_studio import KeptAnnotation, LabelStudioLinks
from retainer.workbench.project import Project

_NOT_OURS = 0
"""The revision of an annotation that somebody in the workbench made as well: it is theirs."""


@dataclass(frozen=True)
class SentText:
    """The text of a task."""

    task: int
    text: str


@dataclass(frozen=True)
class LabelStudioProject:
    """A project of Label Studio, and the project here that keeps its annotations."""

    name: str
    config: LabelConfig
    project: Project
    links: LabelStudioLinks

    def keep(self, sent: SentAnnotation, task: SentText) -> list[str]:
        """Keep an annotation: all of it or nothing; return what is worth saying."""
        with self.project.database.writing():
            types = self._types()
            marked = marked_spans(task.text, sent.result, self.config, types)
            who = _author(sent)
            self.project.types.ensure(types.values(), who)
            [text] = self.project.texts.add([task.text], f"Label Studio, project {self.name}, task {task.task}").ids
            given = Annotation(marked.spans, True, tuple(dict.fromkeys(types.values())))
            revision = self._write(text, given, who)
            before = self.links.get(self.name, sent.id)
            self.links.keep(KeptAnnotation(self.name, sent.id, task.task, text, revision))
        if before is None or before.text == text:
            return list(marked.messages)
        moved = f"task {task.task} has another text now; what was said about the old one, text {before.text}, stays"
        return [*marked.messages, moved]

    def take_back(self, numbers: Iterable[int], who: str) -> list[str]:
        """Take annotations back that were deleted; those that were never kept, or decided anew here, change nothing."""
        with self.project.database.writing():
            return [said for number in dict.fromkeys(numbers) if (said := self._take_back(number, who))]

    def add_texts(self, texts: Iterable[str]) -> int:
        """Add the texts of new tasks, to look at and to keep old types with; return how many are new."""
        return self.project.texts.add(texts, f"Label Studio, project {self.name}").new

    def _types(self) -> dict[str, str]:
        """Return the type of every label, under the names that types have now."""
        renamed = self.project.types.renamed()
        types = self.config.types_by_label([*self.project.types.names(), *renamed])
        return {label: renamed.get(type_, type_) for label, type_ in types.items()}

    def _write(self, text: int, given: Annotation, who: str) -> int:
        """Write an annotation beside what is said about other types; return its revision."""
        current = self.project.annotations.get(text)
        mine = current.revision == 0 or any(one.revision == current.revision for one in self.links.of_text(text))
        said = current.annotation
        if not mine and set(said.types()) & set(given.complete) and not _same(said, given):
            raise InputError(
                f"{current.who} said something else about text {text} in the workbench, and that stays; "
                "change it there, or leave it"
            )
        after = self.project.annotations.write(text, _joined(said, given), seen=current.revision, who=who)
        return _NOT_OURS if not mine and after.revision == current.revision else after.revision

    def _take_back(self, number: int, who: str) -> str:
        kept = self.links.get(self.name, number)
        if kept is None:
            return f"annotation {number} was never kept"
        self.links.forget(kept)
        current = self.project.annotations.get(kept.text)
        if current.revision != kept.revision:
            return "" if self._is_mine(current) else f"text {kept.text} was changed in the workbench, and stays so"
        before = self._earlier(kept.text) or _without(current.annotation, self._types().values())
        after = self.project.annotations.write(kept.text, before, seen=current.revision, who=who)
        for one in self.links.of_text(kept.text)[:1]:
            self.links.keep(replace(one, revision=after.revision))
        return ""

    def _is_mine(self, current: AnnotatedText) -> bool:
        return any(one.revision == current.revision for one in self.links.of_text(current.text))

    def _earlier(self, text: int) -> Annotation | None:
        """Return what the next annotation of the same text says, that of another person or task."""
        revisions = [one.revision for one in self.links.of_text(text) if one.revision != _NOT_OURS][:1]
        found = [one.after for one in self.project.annotations.history(text) if one.revision in revisions]
        return found[0] if found else None


def _author(sent: SentAnnotation) -> str:
    return "Label Studio" if sent.completed_by is None else f"Label Studio user {sent.completed_by}"


def _same(said: Annotation, given: Annotation) -> bool:
    """Return whether an annotation says already what is given."""
    mine = {span for span in said.entities if span.type in given.complete}
    return said.decided and set(given.complete) <= set(said.complete) and mine == set(given.entities)


def _joined(said: Annotation, given: Annotation) -> Annotation:
    rest = _without(said, given.complete)
    return Annotation((*rest.entities, *given.entities), True, (*rest.complete, *given.complete))


def _without(said: Annotation, types: Iterable[str]) -> Annotation:
    """Return an annotation that says nothing about some types; with nothing else to say it is no decision."""
    gone = set(types)
    spans = tuple(span for span in said.entities if span.type not in gone)
    complete = tuple(type_ for type_ in said.complete if type_ not in gone)
    return Annotation(spans, bool(said.decided and (spans or complete)), complete)
