"""A student as it leaves training: its prior corrected, and blended with its parent where its method says so."""

from __future__ import annotations

from retainer.data.picked import are_picked
from retainer.model.tagger import Tagger
from retainer.training.blend import blended, settle
from retainer.training.evidence import Evidence
from retainer.training.label_shift import shares_in, text_offsets
from retainer.training.learn_task import LearnTask
from retainer.training.prior import Offsets, corrected
from retainer.training.ranks import Ranks

Outcome = tuple[Tagger, Offsets, float]
"""A student, the offsets of its prior, and the parent's share of its weights."""


def settled(student: Tagger, task: LearnTask, ranks: Ranks) -> Outcome:
    """Return the student as the first process of a run finds it best."""
    best, offsets, share = _best(student, task) if ranks.leads else (student, {}, 0.0)
    offsets, share = ranks.from_first(lambda: (offsets, share))
    if ranks.leads or not (offsets or share):
        return best, offsets, share
    mixed = blended(student, task.version.tagger, share) if share else student
    return corrected(mixed, offsets), offsets, share


def _best(student: Tagger, task: LearnTask) -> Outcome:
    """Return the student with its prior corrected, and blended on the dev set if its method says so.

    With it, the offsets and the parent's share of the weights; where no correction is asked for, as it is.
    """
    parent = task.version.tagger
    if task.recipe.prior == "text" and task.text is not None:
        data = task.data.train.sentences
        shares, picked = shares_in(data, task.taught), are_picked(data, task.taught)
        offsets = text_offsets(student, parent, task.text, shares, picked=picked)
        return corrected(student, offsets), offsets, 0.0
    if task.recipe.prior != "dev" or task.dev is None:
        return student, {}, 0.0
    evidence = Evidence.of(student, parent, task.dev, task.taught)
    blend = task.method.blend == "dev" and bool(parent.labels.types)
    best = settle(student, parent, task.dev, evidence, blend=blend)
    return corrected(best.tagger, best.offsets), best.offsets, best.share
