"""What a project has to teach from, and to compare versions on: the two never share a text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from retainer.data.corpus import Corpus
from retainer.workbench.annotation import AnnotatedText
from retainer.workbench.project import Project
from retainer.workbench.texts import StoredText

_Pairs = list[tuple[StoredText, AnnotatedText | None]]


@dataclass(frozen=True)
class TrainingData:
    """The texts of a project, as they were at one moment; those with a decision say which types are complete."""

    train: Corpus
    """With a decision, not held back: to teach from."""
    taught: tuple[int, ...]
    """The numbers of these texts, in the same order."""
    text: Corpus
    """Without a decision, not held back: text to keep old types with."""
    held_back: Corpus
    """With a decision, held back: to compare versions on."""
    held_back_text: Corpus
    """Without a decision, held back: to see where versions differ."""

    def comparable(self, types: Iterable[str]) -> Corpus:
        """Return what can be scored for some types: held back, with all entities of all of them marked."""
        wanted = set(types)
        sentences = tuple(one for one in self.held_back if wanted <= set(one.complete or ()))
        return Corpus(sentences, self.held_back.source)


def training_data(project: Project) -> TrainingData:
    """Sort the texts of a project by what they are good for."""
    with project.database.reading():
        texts, said = project.texts.all(), project.annotations.all()
    pairs = [(text, said.get(text.id)) for text in texts]
    taught, held_back = ([pair for pair in pairs if pair[0].held_back == side] for side in (False, True))
    name = project.folder.name
    return TrainingData(
        _annotated(taught, name),
        tuple(text.id for text, one in taught if one is not None),
        _plain(taught, name),
        _annotated(held_back, name),
        _plain(held_back, name),
    )


def _annotated(pairs: _Pairs, name: str) -> Corpus:
    return Corpus(tuple(said.annotation.sentence(text) for text, said in pairs if said is not None), name)


def _plain(pairs: _Pairs, name: str) -> Corpus:
    return Corpus(tuple(text.sentence() for text, said in pairs if said is None), name)
