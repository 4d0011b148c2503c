"""What `learn` would do, before it does it: types, counts, pseudo labels to look at, and the time to expect."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from retainer.data.place import Place, place_in
from retainer.metrics.f1 import spans_by_sentence
from retainer.model.decode import predicted_spans
from retainer.runtime import repeatable
from retainer.training.learn_task import LearnTask
from retainer.training.loop import TrainingLoop
from retainer.training.mention_swaps import with_swaps
from retainer.training.prepare import PreparedTask, prepare
from retainer.training.progress import Progress
from retainer.training.speed.attention_maps import attention_maps
from retainer.training.step import TrainingStep

TIMED_STEPS = 6
"""Steps that are timed; the first is not counted, because it also gets things ready."""
EXAMPLES_PER_TYPE = 3
"""Examples of pseudo labels per old type."""
APART = 0.1
"""A larger share of what the old version itself would choose is too much for a method to add or take away."""
LEAST_APART = 3
"""A difference of fewer entities is none to warn of: of four entities one is a quarter."""


@dataclass(frozen=True)
class Preview:
    """What a run would do."""

    new: tuple[str, ...]
    retaught: tuple[str, ...]
    """Old types that are taught again."""
    old: tuple[str, ...]
    method: str
    train: dict[str, Any]
    exemplars: dict[str, Any] | None
    text: dict[str, Any] | None
    """The text without annotation, and how many sentences of it a step shows."""
    dev: dict[str, Any] | None
    batch: int
    steps: int
    """Steps of all epochs; early stopping may save some."""
    seconds: float
    """What they would take on this machine, as far as a few steps show; scoring the dev set comes on top."""
    pseudo_labels: dict[str, dict[str, Any]] | None
    """Entities of old types the method would take for gold: how many, how many the old version itself would choose,
    whether these are too far apart, and the first few; None if it takes none."""
    found: dict[str, dict[str, Any]] | None
    """Entities of old types the old version finds where nothing is annotated, which a method with a teacher learns to
    keep: how many, and the first few; None without a teacher."""
    warnings: tuple[str, ...] = ()
    """What a run would warn of before it learns."""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document, under the keys it has always had."""
        keys = {"retaught": "again", "pseudo_labels": "guesses"}
        return {keys.get(name, name): value for name, value in dataclasses.asdict(self).items()}


def preview(task: LearnTask) -> Preview:
    """Prepare a run, try a few steps on a student that is thrown away, and report what was seen."""
    with repeatable(task.version.tagger.device, task.seed, strict=False):
        prepared = prepare(task.version.tagger, with_swaps(task), task.method, task.recipe)
        loop = TrainingLoop(prepared, task.recipe, task.seed, Progress())
        found = _found(task, prepared)
        pseudo_labels = _pseudo_labels(task, prepared, found)
        steps = loop.steps * task.recipe.epochs
        seconds = _seconds_per_step(loop) * steps
    train = task.data.train
    return Preview(
        new=task.new,
        retaught=task.data.retaught,
        old=_old(task),
        method=task.facts["method"],
        train={"sentences": len(train), "entities": dict(sorted(train.counts.items()))},
        exemplars=task.facts["data"].get("exemplars"),
        text=_text(task, loop),
        dev=_dev(task),
        batch=loop.recipe.batch,
        steps=steps,
        seconds=seconds,
        pseudo_labels=pseudo_labels,
        found=None if found is None else {type_: _shown(places) for type_, places in found.items()},
        warnings=tuple(task.warnings),
    )


def _text(task: LearnTask, loop: TrainingLoop) -> dict[str, Any] | None:
    """Say how much text without annotation there is, and how many sentences of it a step shows."""
    if loop.task.text is None:
        return None
    return {**task.facts["data"]["text"], "batch": loop.task.text.per_step(loop.recipe.batch)}


def _dev(task: LearnTask) -> dict[str, Any] | None:
    """Say on what the result will be measured, and whether an epoch is chosen on it."""
    if task.dev is None:
        return None
    return {"sentences": len(task.dev), "set_aside": not task.dev_given, "chooses": task.data.dev is not None}


def _old(task: LearnTask) -> tuple[str, ...]:
    """Return the types to keep: those the model knows and the data do not teach."""
    return tuple(type_ for type_ in task.version.types if type_ not in task.taught)


def _seconds_per_step(loop: TrainingLoop) -> float:
    """Time a few steps of an epoch; its batches come in a random order, so long and short ones are among them."""
    spent = []
    loop.embeddings.narrow()
    with attention_maps(loop.task.mapped):
        step = TrainingStep(loop.task, loop.slice, loop.recipe)
        step.begin(0)
        for windows, length in loop.batches(loop.seed)[:TIMED_STEPS]:
            began = time.perf_counter()
            step(windows, length)
            if loop.student.device.type == "cuda":
                torch.cuda.synchronize(loop.student.device)
            spent.append(time.perf_counter() - began)
    counted = spent[1:] or spent
    return sum(counted) / len(counted)


def _found(task: LearnTask, prepared: PreparedTask) -> dict[str, list[Place]] | None:
    """Return the entities of old types the old version would choose; None where nobody asks it."""
    if prepared.base or not prepared.method.needs_teacher:
        return None
    tokens = prepared.tokens
    chosen = tokens.labels.where(~tokens.unannotated, prepared.teacher.output.logits.argmax(dim=-1))
    return _entities(task, prepared, chosen)


def _shown(places: list[Place]) -> dict[str, Any]:
    return {"count": len(places), "examples": places[:EXAMPLES_PER_TYPE]}


def _pseudo_labels(
    task: LearnTask, prepared: PreparedTask, found: dict[str, list[Place]] | None
) -> dict[str, dict[str, Any]] | None:
    """Collect the entities of old types among the labels a method gives, beside what the old version would choose."""
    labels = None if found is None else prepared.method.pseudo_labels(prepared.memory)
    if found is None or labels is None:
        return None
    taken, fewer = _entities(task, prepared, labels), not prepared.method.leaves_doubtful
    return {
        type_: {
            **_shown(taken[type_]),
            "chosen": len(found[type_]),
            "apart": _apart(len(taken[type_]), len(found[type_]), fewer=fewer),
        }
        for type_ in taken
    }


def _apart(taken: int, chosen: int, *, fewer: bool) -> bool:
    """Return whether a method takes more than a tenth more than the teacher would choose, or fewer if that counts."""
    by = abs(taken - chosen) if fewer else taken - chosen
    return by > APART * chosen and by >= LEAST_APART


def _entities(task: LearnTask, prepared: PreparedTask, labels: Tensor) -> dict[str, list[Place]]:
    """Return the entities of every old type among some labels of the slice, each with its place."""
    old, starts = _old(task), prepared.slice.sentence_starts
    found = predicted_spans(labels.cpu().numpy(), prepared.student.labels, starts, old)
    entities: dict[str, list[Place]] = {type_: [] for type_ in old}
    for row, (sentence, spans) in enumerate(
        zip(task.data.train, spans_by_sentence(found, starts, old), strict=False), 1
    ):
        for span in spans:
            entities[span.type].append(place_in(sentence, row, span.start, span.end))
    return entities
