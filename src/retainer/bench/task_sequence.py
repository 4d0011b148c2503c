"""A method over a whole plan of tasks, scored after each: what tables, curves and the demo are made of."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from retainer.bench.pseudo_label_quality import score_pseudo_labels
from retainer.bench.result import TaskScores
from retainer.data.corpus import Corpus
from retainer.data.spans import Span
from retainer.data.tasks import Plan, Task
from retainer.errors import InputError
from retainer.methods import Method
from retainer.metrics.f1 import Scores, gold_spans, spans_by_sentence
from retainer.model.predict import find, score_tags
from retainer.runtime import repeatable
from retainer.training.learn import learn_version
from retainer.training.recipe import Recipe
from retainer.training.rehearsal import with_generator
from retainer.training.request import LearnRequest, RunOptions
from retainer.versions.version import Version, load


@dataclass(frozen=True)
class TaskResult:
    """The version after a task, and how it scores."""

    task: Task
    version: Version
    scores: Scores
    spans: Sequence[tuple[Span, ...]]
    """What was found in each sentence of the test set."""
    seconds: float
    pseudo_labels: Scores | None = None
    """How good the labels were that the method gave to unannotated words, against the gold it did not see."""
    dev: Scores | None = None
    """The scores on the dev set, all types so far: what hyper-parameters are chosen on."""

    @classmethod
    def after(cls, task: Task, version: Version, seconds: float, dev: Corpus | None = None) -> TaskResult:
        """Score a version on the test set of a task, and on a dev set if given."""
        scores, spans = _scored(version, task.test or task.train)
        dev_scores = None if dev is None else _scored(version, dev)[0]
        return cls(task, version, scores, spans, seconds, dev=dev_scores)

    @property
    def task_scores(self) -> TaskScores:
        """The row of a result file."""
        task, scores, dev = self.task, self.scores, self.dev
        return TaskScores(
            types=tuple(task.new),
            **scores.as_dict(),
            **_old_and_new(scores, task),
            pseudo_labels=None if self.pseudo_labels is None else self.pseudo_labels.total.as_dict(),
            dev=None if dev is None else {"micro": dev.micro, "macro": dev.macro, **_old_and_new(dev, task)},
            seconds=self.seconds,
        )


class _OldAndNew(TypedDict):
    old_macro: float | None
    new_macro: float | None


def _old_and_new(scores: Scores, task: Task) -> _OldAndNew:
    """Return macro F1 of the old types of a task, none of a first one, and of its new types."""
    return {"old_macro": scores.macro_of(task.old), "new_macro": scores.macro_of(task.new)}


def _scored(version: Version, corpus: Corpus) -> tuple[Scores, Sequence[tuple[Span, ...]]]:
    """Return the scores on a corpus, and what was found in each of its sentences."""
    found, tagged = find(version.tagger, corpus.sentences, version.types)
    gold = gold_spans(corpus, tagged.sentence_starts, version.types)
    spans = spans_by_sentence(found, tagged.sentence_starts, version.types)
    return score_tags(version.tagger, tagged, gold, version.types), spans


@dataclass(frozen=True)
class TaskSequence:
    """A method and the tasks it learns one after the other."""

    plan: Plan
    method: Method
    encoder: str = "builtin"
    recipe: Recipe = Recipe()
    seed: int = 0
    device: str = "auto"
    thorough: bool = False
    """Whether pseudo labels are scored against the gold that was hidden from the method, which takes another pass of
    the teacher, and the dev set with all types so far."""
    options: RunOptions = RunOptions()
    """How every task is learned; ``state_folder`` is where the unfinished ones keep their states."""

    def run(
        self, first: TaskResult | None = None, *, finished: int = 0, version: Version | None = None
    ) -> Iterator[TaskResult]:
        """Learn task after task and yield the result of each.

        ``first`` is a shared first task, which is the same for all methods. With ``version``, the one after
        ``finished`` tasks, an earlier run is resumed.
        """
        if self.plan.test is None:
            raise InputError("a sequence of tasks is scored on a test set, and there is none")
        for number in range(finished + 1, len(self.plan) + 1):
            if number == 1 and first is not None:
                result = self._remembering(first)
            else:
                result = self._learned(number, version)
            version = result.version
            yield result

    def _remembering(self, first: TaskResult) -> TaskResult:
        """Give a shared first version the language model that a method with a rehearsal keeps."""
        if not self.method.reviews:
            return first
        task = self.plan.task(1)
        return replace(first, version=with_generator(first.version, task.train, task.new, self.seed))

    def _learned(self, number: int, version: Version | None) -> TaskResult:
        """Learn one task, from the version after the previous one or from the encoder."""
        plan, method = self.plan, self.method
        tasks = plan.partial_joint if method.partial else plan.joint if method.joint else plan.task
        task = tasks(number)
        start = version if version is not None and not method.joint else self._encoder()
        pseudo_labels = self._pseudo_labels(number, start) if self.thorough else None
        began = time.perf_counter()
        request = LearnRequest(
            task.train,
            start,
            method=method,
            recipe=self.recipe,
            seed=self.seed,
            dev=task.dev,
            device=self.device,
            text=plan.pool if method.takes_text and start.types else None,
        )
        folder = self.options.state_folder
        state = folder and folder / f"task-{number}.partial"
        # nothing is measured on the dev set in the end, because the test set is
        learned = learn_version(request, replace(self.options, state_folder=state, measure=False))
        seconds = time.perf_counter() - began
        dev = plan.dev_so_far(number) if self.thorough else None
        return replace(TaskResult.after(plan.task(number), learned, seconds, dev), pseudo_labels=pseudo_labels)

    def _pseudo_labels(self, number: int, start: Version) -> Scores | None:
        with repeatable(start.tagger.device, self.seed, strict=False):  # no attention runs backward here
            return score_pseudo_labels(start, self.method, self.plan, number, self.recipe)

    def _encoder(self) -> Version:
        """Load the bare encoder, with the quirks of the method if it has any."""
        quirks = self.method.quirks
        version = load(self.encoder, device=self.device, head="sequence" if quirks.sequence_norm else self.recipe.head)
        version.tagger.quirks = quirks
        return version
