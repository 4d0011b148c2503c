"""The benchmark protocol: which types a task brings, which sentences it sees, and what it must not see."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from retainer.data.corpus import Corpus, Splits, fingerprint
from retainer.data.spans import Sentence
from retainer.errors import InputError, nearest, quoted


def group_types(types: Sequence[str], fg: int, pg: int) -> tuple[tuple[str, ...], ...]:
    """Cut the ordered types into tasks: the first ``fg`` types, then ``pg`` at a time (FG-a-PG-b)."""
    if fg < 1 or pg < 1 or fg > len(types):
        raise InputError(
            f"FG-{fg}-PG-{pg} does not fit {len(types)} types: the first task takes at least one and at most all of "
            "them, a later one at least one"
        )
    if (len(types) - fg) % pg:
        raise InputError(
            f"FG-{fg}-PG-{pg} leaves {(len(types) - fg) % pg} of {len(types)} types over; choose numbers that divide "
            "evenly, or name the types to use"
        )
    starts = [0, *range(fg, len(types), pg)]
    return tuple(tuple(types[a:b]) for a, b in zip(starts, [*starts[1:], len(types)], strict=True))


def set_aside(corpus: Corpus, count: int, seed: int, rows: Sequence[int] | None = None) -> tuple[Corpus, Corpus]:
    """Return the corpus without some sentences, drawn of these rows by the seed, and these; both in file order."""
    chosen = set(random.Random(seed).sample(range(len(corpus)) if rows is None else rows, count))
    parts = [tuple(s for i, s in enumerate(corpus) if (i in chosen) is aside) for aside in (False, True)]
    return replace(corpus, sentences=parts[0]), replace(corpus, sentences=parts[1])


def hide(corpus: Corpus, keep: Collection[str]) -> Corpus:
    """Return the corpus with annotation of the types in ``keep`` alone; no other type is complete in it any more."""
    kept = set(keep)
    return replace(corpus, sentences=tuple(_hidden(sentence, kept) for sentence in corpus))


def say_complete(corpus: Corpus) -> Corpus:
    """Return the corpus with every sentence saying which types are complete in it, if some do.

    A sentence that does not say it among others that do leaves all types open; where none does, nothing changes.
    """
    if corpus.complete is None:
        return corpus
    said = (sentence if sentence.complete is not None else sentence.completed(()) for sentence in corpus)
    return replace(corpus, sentences=tuple(said))


def _hidden(sentence: Sentence, kept: set[str]) -> Sentence:
    shown = sentence.with_spans(span for span in sentence.spans if span.type in kept)
    return shown if shown.complete is None else shown.completed(type_ for type_ in shown.complete if type_ in kept)


def greedy_slices(
    sentences: Sequence[Sentence], groups: Sequence[Sequence[str]], seed: int
) -> tuple[tuple[int, ...], ...]:
    """Deal the sentences out to one slice per group of types, as the published protocol does, but seeded.

    In file order, a sentence goes to the slice that owns the rarest of its types and still has room; a sentence
    without any type, or whose slices are all full, goes to a random slice that has room. A slice has room for its
    share of the types. What the rounding leaves over at the end (fewer sentences than slices) is dropped.
    """
    owner = {type_: s for s, group in enumerate(groups) for type_ in group}
    frequency = Counter(span.type for sentence in sentences for span in sentence.spans)
    room = [int(len(sentences) * (len(group) / len(owner))) for group in groups]
    slices: list[list[int]] = [[] for _ in groups]
    draw = random.Random(seed)
    for row, sentence in enumerate(sentences):
        present = {span.type for span in sentence.spans} & owner.keys()
        rarest_first = sorted(present, key=lambda type_: (frequency[type_], type_))
        choices = [owner[t] for t in rarest_first if room[owner[t]]] or _any_with_room(room, draw)
        if choices:
            slices[choices[0]].append(row)
            room[choices[0]] -= 1
    return tuple(tuple(rows) for rows in slices)


def _any_with_room(room: Sequence[int], draw: random.Random) -> list[int]:
    free = [s for s, left in enumerate(room) if left]
    return [draw.choice(free)] if free else []


@dataclass(frozen=True)
class Task:
    """What a learner gets at step ``number`` (from 1): only ``new`` is annotated in ``train`` and ``dev``.

    ``test`` is annotated with everything learned so far. ``types`` is the same, in learning order.
    """

    number: int
    new: tuple[str, ...]
    old: tuple[str, ...]
    train: Corpus
    dev: Corpus | None = None
    test: Corpus | None = None

    @property
    def types(self) -> tuple[str, ...]:
        """All types learned once this task is done."""
        return (*self.old, *self.new)


@dataclass(frozen=True)
class Plan:
    """A corpus cut into tasks. The corpora stay whole, so that hidden annotation can be analysed."""

    groups: tuple[tuple[str, ...], ...]
    slices: tuple[tuple[int, ...], ...]
    seed: int
    train: Corpus
    dev: Corpus | None = None
    test: Corpus | None = None
    pool: Corpus | None = None
    """Sentences of the training file that are in no slice, without annotation; the rows of slices do not count them."""

    def __len__(self) -> int:
        """Count the tasks."""
        return len(self.groups)

    def types(self, number: int) -> tuple[str, ...]:
        """Return the types learned after task ``number``."""
        return tuple(type_ for group in self.groups[:number] for type_ in group)

    def truth(self, number: int) -> Corpus:
        """Return the slice of a task with everything annotated: what the learner must not see."""
        return self._rows(self.slices[number - 1])

    def task(self, number: int) -> Task:
        """Return what the protocol shows a learner at task ``number``."""
        new = self.groups[number - 1]
        return self._task(number, new, self.truth(number))

    def dev_so_far(self, number: int) -> Corpus | None:
        """Return the dev set with all types learned so far: what hyper-parameters are chosen on, never epochs."""
        return self.dev and hide(self.dev, self.types(number))

    def joint(self, number: int) -> Task:
        """Return the upper bound's task: all slices so far, all types so far annotated and selected on."""
        rows = sorted(row for part in self.slices[:number] for row in part)
        task = self._task(number, self.types(number), self._rows(rows))
        return replace(task, old=())

    def partial_joint(self, number: int) -> Task:
        """Return the matched upper bound's task: all slices so far, each annotated with the types of its own task."""
        shown = {
            row: _hidden(self.train[row], set(group)).completed(group)
            for rows, group in zip(self.slices[:number], self.groups, strict=False)
            for row in rows
        }
        train = replace(self.train, sentences=tuple(shown[row] for row in sorted(shown)))
        return replace(self.joint(number), train=train)

    def _rows(self, rows: Sequence[int]) -> Corpus:
        return replace(self.train, sentences=tuple(self.train[row] for row in rows))

    def _task(self, number: int, new: tuple[str, ...], train: Corpus) -> Task:
        return Task(
            number,
            new,
            self.types(number - 1),
            hide(train, new),
            self.dev and hide(self.dev, new),
            self.test and hide(self.test, self.types(number)),
        )

    @cached_property
    def outline(self) -> dict[str, Any]:
        """What determines the plan: hashes of the files, and which task gets which rows."""
        files = {"train": self.train, "dev": self.dev, "test": self.test}
        hashes = {name: fingerprint(corpus) for name, corpus in files.items() if corpus is not None}
        dealt = {"groups": list(map(list, self.groups)), "slices": list(map(list, self.slices))}
        return {"files": hashes, **dealt, **({} if self.pool is None else {"pool": fingerprint(self.pool)})}

    def manifest(self) -> dict[str, Any]:
        """Describe the plan so that it can be checked and repeated: hashes, rows and counts, no text."""
        files = {"train": self.train, "dev": self.dev, "test": self.test, "pool": self.pool}
        dealt = {row for rows in self.slices for row in rows}
        return {
            "setting": f"FG-{len(self.groups[0])}-PG-{len(self.groups[1]) if len(self) > 1 else 0}",
            "seed": self.seed,
            "types": list(self.types(len(self))),
            "files": {name: _describe(corpus) for name, corpus in files.items() if corpus is not None},
            "dropped_rows": [row for row in range(len(self.train)) if row not in dealt],
            "tasks": [self._describe_task(number) for number in range(1, len(self) + 1)],
        }

    def _describe_task(self, number: int) -> dict[str, Any]:
        truth, new, old = self.truth(number), set(self.groups[number - 1]), set(self.types(number - 1))
        future = set(self.types(len(self))) - new - old
        return {
            "number": number,
            "types": list(self.groups[number - 1]),
            **_describe(truth),
            "sentences_with_new_types": sum(any(x.type in new for x in s.spans) for s in truth),
            "sentences_without_entities": sum(not s.spans for s in truth),
            "words_of": {"new": _words(truth, new), "hidden_old": _words(truth, old), "future": _words(truth, future)},
            "rows": list(self.slices[number - 1]),
        }


def plan(
    splits: Splits, *, fg: int, pg: int, seed: int = 0, types: Sequence[str] | None = None, pool: float = 0.0
) -> Plan:
    """Cut a corpus into tasks; ``types`` picks types and gives their order, otherwise all in alphabetical order.

    A share of the training sentences may be set aside first, as a ``pool`` of text; slices are made of the others.
    """
    train, dev, test = splits
    chosen = tuple(types) if types is not None else train.types
    require_types(train, chosen)
    groups = group_types(chosen, fg, pg)
    rest, text = set_aside(hide(train, chosen), round(len(train) * pool), seed)
    if lost := [type_ for type_ in chosen if type_ not in rest.counts]:
        raise InputError(
            f"with {len(text)} of its sentences in the pool, {train.source} has no {lost[0]} left to learn"
        )
    slices = greedy_slices(rest.sentences, groups, seed)
    unannotated = hide(text, ()) if len(text) else None
    return Plan(groups, slices, seed, rest, dev and hide(dev, chosen), test and hide(test, chosen), unannotated)


def require_types(corpus: Corpus, types: Sequence[str]) -> None:
    """Refuse types that are named twice or that the corpus lacks."""
    if not types:
        raise InputError(f"{corpus.source} has no annotated entity, so there is no type to learn")
    if twice := [type_ for type_, n in Counter(types).items() if n > 1]:
        raise InputError(f"type {quoted(twice[0])} is named twice")
    if missing := [type_ for type_ in types if type_ not in corpus.counts]:
        close, known = nearest(missing[0], corpus.types), ", ".join(corpus.types) or "none"
        raise InputError(f"{corpus.source} has no entity of type {quoted(missing[0])}{close}; its types are {known}")


def _describe(corpus: Corpus) -> dict[str, Any]:
    return {
        "sha256": fingerprint(corpus),
        "sentences": len(corpus),
        "words": sum(len(sentence.words) for sentence in corpus),
        "entities": dict(sorted(corpus.counts.items())),
    }


def _words(corpus: Corpus, types: set[str]) -> int:
    return sum(x.end - x.start for sentence in corpus for x in sentence.spans if x.type in types)
