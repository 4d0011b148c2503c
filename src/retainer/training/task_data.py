"""The sentences of a task, the types they teach, and what their annotation says about the old types."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from retainer.data.corpus import Corpus
from retainer.data.labels import Labels
from retainer.data.spans import Sentence
from retainer.data.tasks import set_aside
from retainer.model.heads import Head
from retainer.model.tagger import Tagger


@dataclass(frozen=True)
class SplitRows:
    """The rows of types made by `types split`: they exist, but what they mean is still to be learned."""

    names: tuple[str, ...] = ()
    head: Head | None = None


@dataclass(frozen=True)
class TaskData:
    """What a task is learned from."""

    train: Corpus
    new: tuple[str, ...]
    """The types the model does not know yet."""
    dev: Corpus | None = None
    """The sentences an epoch is chosen on, if any."""
    retaught: tuple[str, ...] = ()
    """Old types of which every entity in ``train`` is annotated: their rows in the head learn too."""
    exemplars: tuple[Sentence, ...] = ()
    """Annotated sentences of old types that could be kept; they join the slice. Their entities are gold."""
    text: tuple[Sentence, ...] = ()
    """Sentences without annotation. Every step shows some beside those of the slice."""
    split_rows: SplitRows = SplitRows()
    swaps: tuple[Sentence, ...] = ()
    """Sentences of ``train`` with old entities in the places of new ones; shown beside the slice too."""

    @property
    def taught(self) -> tuple[str, ...]:
        """The types this task is about: the new ones, and the old ones it has more data for."""
        return (*self.new, *self.retaught)

    @property
    def slice(self) -> tuple[Sentence, ...]:
        """The sentences an epoch is a pass over; the exemplars come last."""
        return (*_completed(self.train.sentences, self.taught), *_completed(self.exemplars, ()))

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """All sentences to learn from; those that are shown beside the slice come last."""
        return (*self.slice, *_completed(self.text, ()), *self.swaps)


def _completed(sentences: Sequence[Sentence], types: tuple[str, ...]) -> Iterator[Sentence]:
    """Yield the sentences; of those that do not say which types are complete in them, these are."""
    return (sentence if sentence.complete is not None else sentence.completed(types) for sentence in sentences)


def take_out(tagger: Tagger, types: Container[str]) -> tuple[Tagger, SplitRows]:
    """Split a tagger into a teacher that does not know some types, and the rows its student starts them with."""
    waiting = tagger.labels.of(types)
    staying = [index for index in range(len(tagger.labels.names)) if index not in waiting]
    names = [tuple(tagger.labels.names[index] for index in rows) for rows in (staying, waiting)]
    teacher = tagger.like(tagger.network, tagger.head.arranged(staying).to(tagger.device), Labels(names[0]))
    return teacher, SplitRows(names[1], tagger.head.arranged(waiting).to(tagger.device))


def hold_out(corpus: Corpus, share: float, seed: int, taught: Iterable[str] = ()) -> tuple[Corpus, Corpus | None]:
    """Set a seeded share of the sentences aside to select on: of those in which every type to measure is complete.

    Where they would be too few to measure anything, or would take a type's last entities along, all are kept.
    """
    wanted = set(taught)
    rows = [row for row, one in enumerate(corpus) if one.complete is None or wanted <= set(one.complete)]
    count = round(len(rows) * share)
    if count < 10:
        return corpus, None
    train, dev = set_aside(corpus, count, seed, rows)
    return (train, dev) if dev.counts and train.types == corpus.types else (corpus, None)
