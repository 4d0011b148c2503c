"""A method over a whole plan of tasks, scored after each: what tables, curves and the demo are made of."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from retainer.bench.pseudo_label_quality import judge
from retainer.data.corpus import Corpus
from retainer.data.spans import Span
from retainer.data.tasks import Plan, Task
from retainer.errors import InputError
from retainer.methods import Method
from retainer.methods import method as find_method
from retainer.metrics.f1 import Scores, gold_spans, spans_by_sentence
from retainer.metrics.forgetting import backward_transfer, forgetting
from retainer.model.predict import find, score_tags
from retainer.runtime import repeatable, versions
from retainer.training.learn import learn
from retainer.training.progress import Progress
from retainer.training.recipe import Recipe
from retainer.training.rehearsal import with_generator
from retainer.versions.version import Version, load


@dataclass(frozen=True)
class Step:
    """The state of things after a task."""

    task: Task
    version: Version
    scores: Scores
    spans: Sequence[tuple[Span, ...]]
    """What was found in each sentence of the test set."""
    seconds: float
    guesses: Scores | None = None
    """How good the labels were that the method gave to unannotated words, against the truth it did not see."""
    dev: Scores | None = None
    """The scores on the dev set, all types so far: what a method's numbers are chosen on."""

    @classmethod
    def after(
        cls, task: Task, version: Version, seconds: float, guesses: Scores | None = None, dev: Corpus | None = None
    ) -> Step:
        """Score a version on the test set of a task, and on a dev set if given."""
        scores, spans = _scored(version, task.test or task.train)
        return cls(task, version, scores, spans, seconds, guesses, _scored(version, dev)[0] if dev else None)

    def as_dict(self) -> dict[str, Any]:
        """Return the row of a result file."""
        return {
            "types": list(self.task.new),
            **self.scores.as_dict(),
            "old_macro": self.scores.macro_of(self.task.old) if self.task.old else None,
            "new_macro": self.scores.macro_of(self.task.new),
            "guesses": None if self.guesses is None else self.guesses.total.as_dict(),
            "dev": None if self.dev is None else {"micro": self.dev.micro, "macro": self.dev.macro},
            "seconds": self.seconds,
        }


def _scored(version: Version, corpus: Corpus) -> tuple[Scores, Sequence[tuple[Span, ...]]]:
    """Return the scores on a corpus, and what was found in each of its sentences."""
    found, tagged = find(version.tagger, corpus.sentences, version.types)
    gold = gold_spans(corpus, tagged.sentence_starts, version.types)
    spans = spans_by_sentence(found, tagged.sentence_starts, version.types)
    return score_tags(version.tagger, tagged, gold, version.types), spans


def run(
    plan: Plan,
    method: Method | str,
    *,
    encoder: str = "builtin",
    recipe: Recipe | None = None,
    seed: int = 0,
    device: str = "auto",
    first: Step | None = None,
    done: int = 0,
    version: Version | None = None,
    partial: Path | None = None,
    interval: float = 60.0,
    look: bool = False,
    watch: Progress | None = None,
) -> Iterator[Step]:
    """Learn task after task and yield after each.

    ``first`` shares a first task, which is the same for all methods. With ``version``, after ``done`` tasks, an earlier
    run is taken up again; ``partial`` is where unfinished tasks keep their state, written every ``interval`` seconds at
    most. ``look`` judges the method's guesses by the truth that was hidden from it, which takes another pass of the
    teacher, and scores the dev set with all types so far.
    """
    if plan.test is None:
        raise InputError("a sequence of tasks is scored on a test set, and there is none")
    recipe = recipe or Recipe()
    way = find_method(method) if isinstance(method, str) else method
    for number in range(done + 1, len(plan) + 1):
        if number == 1 and first is not None:
            if way.reviews:
                first = replace(
                    first, version=with_generator(first.version, plan.task(1).train, plan.task(1).new, seed)
                )
            version = first.version
            yield first
            continue
        task = plan.joint(number) if way.joint else plan.task(number)
        start = version if version is not None and not way.joint else _encoder(encoder, way, recipe, device)
        with repeatable(start.tagger.device, seed, strict=False):  # a look, so no attention runs backward
            guesses = judge(start, way, plan, number, recipe) if look else None
        began = time.perf_counter()
        state = partial and partial / f"task-{number}.partial"
        version = learn(
            task.train,
            start,
            method=way,
            dev=task.dev,
            recipe=recipe,
            seed=seed,
            device=device,
            partial=state,
            checkpoint_seconds=interval,
            watch=watch,
            measured=False,  # the test set tells
        )
        dev = plan.dev_so_far(number) if look else None
        yield Step.after(plan.task(number), version, time.perf_counter() - began, guesses, dev)


def _encoder(encoder: str, way: Method, recipe: Recipe, device: str) -> Version:
    """Load the bare encoder, with the quirks of the method if it has any."""
    version = load(encoder, device=device, head="sequence" if way.quirks.sequence_norm else recipe.head)
    version.tagger.quirks = way.quirks
    return version


def cell(method: str, rows: Sequence[dict[str, Any]], *, seed: int, encoder: str = "builtin") -> dict[str, Any]:
    """Put the rows of a sequence into the shape of a result file; averages are over tasks, the first included."""
    per_type = [{type_: scores["f1"] for type_, scores in row["per_type"].items()} for row in rows]
    return {
        "method": method,
        "seed": seed,
        "encoder": encoder,
        "tasks": list(rows),
        "average": {name: sum(row[name] for row in rows) / len(rows) for name in ("micro", "macro")},
        "forgetting": forgetting(per_type),
        "backward_transfer": backward_transfer(per_type),
        "seconds": sum(row["seconds"] for row in rows),
        "versions": versions(),
    }
