"""What `learn` would do, before it does it: types, counts, pseudo labels to look at, and the time to expect."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch

from retainer.metrics.f1 import spans_by_sentence
from retainer.model.decode import predicted_spans
from retainer.runtime import repeatable
from retainer.training.loop import TrainingLoop
from retainer.training.prepare import PreparedTask, prepare
from retainer.training.progress import Progress
from retainer.training.request import LearnTask
from retainer.training.speed.attention_maps import attention_maps
from retainer.training.step import TrainingStep

TRIED = 6
"""Steps that are timed; the first is not counted, because it also gets things ready."""
SHOWN = 3
"""Examples of pseudo labels per old type."""


@dataclass(frozen=True)
class Preview:
    """What a run would do."""

    new: tuple[str, ...]
    again: tuple[str, ...]
    """Old types that are taught again."""
    old: tuple[str, ...]
    method: str
    train: dict[str, Any]
    exemplars: dict[str, Any] | None
    dev: dict[str, Any] | None
    batch: int
    steps: int
    """Steps of all epochs; early stop may save some."""
    seconds: float
    """What they would take on this machine, as far as a few steps can tell; scoring the dev set comes on top."""
    guesses: dict[str, dict[str, Any]] | None
    """Entities of old types the method would take for gold: how many, and the first few; None if it guesses none."""


def preview(job: LearnTask) -> Preview:
    """Prepare a run, try a few steps on a student that is thrown away, and tell what was seen."""
    with repeatable(job.version.tagger.device, job.seed, strict=False):
        start, data = job.version.tagger, (job.train, job.chooser)
        lesson = prepare(start, *data, job.new, job.method, job.recipe, seeds=job.seeds, truth=job.truth)
        training = TrainingLoop(lesson, job.recipe, job.seed, Progress())
        guesses = _guesses(job, lesson)
        seconds = _seconds_per_step(training) * training.steps * job.recipe.epochs
    return Preview(
        new=job.new,
        again=job.truth.again,
        old=_old(job),
        method=job.facts["method"],
        train={"sentences": len(job.train), "entities": dict(sorted(job.train.counts.items()))},
        exemplars=job.facts["data"].get("exemplars"),
        dev=_dev(job),
        batch=training.recipe.batch,
        steps=training.steps * job.recipe.epochs,
        seconds=seconds,
        guesses=guesses,
    )


def _dev(job: LearnTask) -> dict[str, Any] | None:
    """Say on what the result will be looked at, and whether an epoch is chosen on it."""
    if job.dev is None:
        return None
    return {"sentences": len(job.dev), "set_aside": not job.dev_given, "chooses": job.chooser is not None}


def _old(job: LearnTask) -> tuple[str, ...]:
    """Return the types to keep: those the model knows and the data do not teach."""
    return tuple(type_ for type_ in job.version.types if type_ not in job.taught)


def _seconds_per_step(training: TrainingLoop) -> float:
    """Time a few steps of an epoch; its batches come in a random order, so long and short ones are among them."""
    lesson, spent = training.lesson, []
    training.vocabulary.narrow()
    with attention_maps([training.student, lesson.live] if "maps" in lesson.method.needs else []):
        descent = TrainingStep(lesson, training.slice, training.recipe)
        descent.begin(0)
        for windows, length in training.slice.shuffled(training.recipe.batch, training.seed)[:TRIED]:
            began = time.perf_counter()
            descent(windows, length)
            if training.student.device.type == "cuda":
                torch.cuda.synchronize(training.student.device)
            spent.append(time.perf_counter() - began)
    counted = spent[1:] or spent
    return sum(counted) / len(counted)


def _guesses(job: LearnTask, lesson: PreparedTask) -> dict[str, dict[str, Any]] | None:
    """Collect the entities of old types among the labels a method gives to unannotated words."""
    labels = None if lesson.base else lesson.method.guesses(lesson.memory)
    if labels is None:
        return None
    old = _old(job)
    starts = lesson.slice.sentence_starts
    spans = spans_by_sentence(predicted_spans(labels.cpu().numpy(), lesson.student.labels, starts, old), starts, old)
    counts: Counter[str] = Counter()
    examples: dict[str, list[str]] = {type_: [] for type_ in old}
    for row, (sentence, found) in enumerate(zip(job.train, spans, strict=False), 1):
        for span in found:
            counts[span.type] += 1
            if len(examples[span.type]) < SHOWN:
                words = " ".join(sentence.words[span.start : span.end])
                examples[span.type].append(f"sentence {row}: {words!r}")
    return {type_: {"count": counts[type_], "examples": examples[type_]} for type_ in old}
