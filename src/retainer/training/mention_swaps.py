"""Mention swaps: sentences of the data in which entities of the new types are replaced by old ones.

The sentences of a task are mostly picked for its new types, so what stands around a new entity comes to mean the new
type, whatever stands there: too much is found, old entities among it. In a swapped sentence an old entity, one that the
teacher finds elsewhere in the same data, stands where a new one was. The teacher is asked again, and says of the
sentence as it is now what it says of any. (Replacing mentions is known as a way to make more data: Dai & Adel 2020.)
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from retainer.data.spans import Sentence, Span
from retainer.training.learn_task import LearnTask
from retainer.training.task_data import TaskData

Mention = tuple[str, ...]
"""The words of an entity."""


def with_swaps(task: LearnTask) -> TaskData:
    """Return the data of a task, with swapped sentences where its method wants some."""
    sentences, new = task.data.train.sentences, task.data.new
    if not (task.method.swap_share and task.version.types and new):
        return task.data
    found = task.version.tag(sentences)
    return replace(task.data, swaps=tuple(swapped(sentences, found, new, task.data.taught, task.seed)))


def swapped(
    sentences: Sequence[Sentence],
    found: Sequence[Sequence[Span]],
    new: Collection[str],
    taught: Sequence[str],
    seed: int,
) -> Iterator[Sentence]:
    """Yield every sentence that has entities of new types with others in their places, drawn from those ``found``.

    Nothing in it is of a new type then, so those that were complete in it still are; of an old type that is taught
    again, an entity may have come in that nobody annotates.
    """
    mentions = [mention for pair in zip(sentences, found, strict=True) for mention in _old_mentions(*pair, new)]
    draw = random.Random(seed)
    for sentence in sentences if mentions else ():
        gone = [span for span in sentence.spans if span.type in new]
        if gone:
            complete = taught if sentence.complete is None else sentence.complete
            words = tuple(_replaced(sentence.words, gone, mentions, draw))
            yield Sentence(words, complete=tuple(type_ for type_ in complete if type_ in new))


def _old_mentions(sentence: Sentence, found: Sequence[Span], new: Collection[str]) -> Iterator[Mention]:
    """Yield the entities a teacher finds in a sentence, but for those that share a word with a new one."""
    taken = [span for span in sentence.spans if span.type in new]
    for one in found:
        if not any(one.start < other.end and other.start < one.end for other in taken):
            yield sentence.words[one.start : one.end]


def _replaced(
    words: Sequence[str], gone: Sequence[Span], mentions: Sequence[Mention], draw: random.Random
) -> Iterator[str]:
    behind = 0
    for span in gone:
        yield from words[behind : span.start]
        yield from draw.choice(mentions)
        behind = span.end
    yield from words[behind:]
