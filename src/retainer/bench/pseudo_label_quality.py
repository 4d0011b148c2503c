"""How good the labels are that a method gives to unannotated words: a plan knows the truth it hides."""

from __future__ import annotations

from retainer.data.tasks import Plan
from retainer.methods import Method
from retainer.metrics.f1 import Scores, gold_spans, score
from retainer.model.decode import predicted_spans
from retainer.model.quirks import NONE
from retainer.training.prepare import prepare
from retainer.training.recipe import Recipe
from retainer.versions.version import Version


def judge(teacher: Version, method: Method, plan: Plan, number: int, recipe: Recipe) -> Scores | None:
    """Score a method's guesses at the old types in the slice of a task; None if it makes none beforehand.

    The lesson is prepared once more, which gives the very labels the student is going to learn from.
    """
    if number == 1 or not method.needs_teacher or method.quirks != NONE:
        return None
    task = plan.task(number)
    lesson = prepare(teacher.tagger, task.train, None, task.new, method, recipe)
    labels = lesson.method.guesses(lesson.memory)
    if labels is None:
        return None
    starts = lesson.slice.sentence_starts
    found = predicted_spans(labels.cpu().numpy(), lesson.student.labels, starts, task.old)
    return score(gold_spans(plan.truth(number), starts, task.old), found, task.old)
