"""How good the labels are that a method gives to unannotated words: a plan knows the gold it hides."""

from __future__ import annotations

from retainer.data.tasks import Plan
from retainer.methods import Method
from retainer.metrics.f1 import Scores, gold_spans, score
from retainer.model.decode import predicted_spans
from retainer.model.quirks import NONE
from retainer.training.prepare import prepare
from retainer.training.recipe import Recipe
from retainer.training.task_data import TaskData
from retainer.versions.version import Version


def score_pseudo_labels(teacher: Version, method: Method, plan: Plan, number: int, recipe: Recipe) -> Scores | None:
    """Score a method's pseudo labels of the old types in the slice of a task; None if it makes none beforehand.

    The task is prepared once more, which gives the very labels the student is going to learn from.
    """
    if number == 1 or not method.needs_teacher or method.quirks != NONE:
        return None
    task = plan.task(number)
    prepared = prepare(teacher.tagger, TaskData(task.train, tuple(task.new)), method, recipe)
    labels = prepared.method.pseudo_labels(prepared.memory)
    if labels is None:
        return None
    starts = prepared.slice.sentence_starts
    found = predicted_spans(labels.cpu().numpy(), prepared.student.labels, starts, task.old)
    return score(gold_spans(plan.truth(number), starts, task.old), found, task.old)
