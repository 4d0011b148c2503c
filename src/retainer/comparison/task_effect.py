"""What a task did to a model: what it kept of the old types, gave away, lost and gained, on the sentences at hand.

The data of the old types are gone, so for most of them the right answer is not known. What the previous version found
takes its place: an entity that it found and the new version finds as well is kept. Two kinds of entities that are no
longer found are not a loss, because the annotation says that they should not be found: those on words annotated as a
new type, which are given to it, and those of a completely annotated type that the annotation does not have, which are
corrected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retainer.comparison.agreement import AgreementCounter, TypeAgreement
from retainer.comparison.changes import Change, changes
from retainer.comparison.effect_words import effect_in_words
from retainer.data.corpus import Corpus
from retainer.data.spans import Sentence, Span
from retainer.metrics.calibration import fit_curves
from retainer.metrics.f1 import Score, Scores, gold_spans, score, spans_by_sentence
from retainer.model.predict import find, scores_of
from retainer.model.tagger import Tagger


@dataclass(frozen=True)
class MeasuredEffect:
    """Two versions on the same sentences: one prediction of each, from which the whole record follows."""

    after: Scores
    before: Scores
    """The scores of the previous version; 0 for types it did not know."""
    curves: Mapping[str, Mapping[str, float]]
    """How the new version's scores become probabilities, by type."""
    fates: Mapping[str, Mapping[str, Any]]
    """What became of the old version's entities, by its types."""
    total: Mapping[str, Any]
    """The same for all of them together."""


def measure_effect(old: Tagger, new: Tagger, data: Corpus, annotated: Collection[str]) -> MeasuredEffect:
    """Run both versions on some sentences; ``annotated`` are the types of which every entity there is annotated."""
    types = new.labels.types
    spans, tagged = find(new, data.sentences, types)
    gold = gold_spans(data, tagged.sentence_starts, types)
    known = old.labels.types
    before = find(old, data.sentences, types)[0] if known else gold_spans((), tagged.sentence_starts[:1], types)
    both = (spans_by_sentence(one, tagged.sentence_starts, types) for one in (before, spans))
    counter = _FateCounter(known, [type_ for type_ in types if type_ not in known], annotated)
    for sentence, *found in zip(data, *both, strict=True):
        counter.add(sentence, *found)
    return MeasuredEffect(
        score(gold, spans, types),
        score(gold, before, types),
        fit_curves(spans, scores_of(spans, tagged), gold, types),
        {type_: counter.fate([type_]) for type_ in known},
        counter.fate(known),
    )


class _FateCounter:
    """Counts what became of the old version's entities, sentence by sentence."""

    def __init__(self, known: Sequence[str], new: Collection[str], annotated: Collection[str]) -> None:
        self.new, self.annotated = set(new), set(annotated)
        self.agreement, self.excused = AgreementCounter(known), Counter[tuple[str, str]]()

    def add(self, sentence: Sentence, old: Sequence[Span], new: Sequence[Span]) -> None:
        """Count one sentence; what the annotation explains is counted separately."""
        unexplained = []
        for change in changes(old, new):
            if (excuse := self._excuse(change, sentence)) and change.old:
                self.excused[change.old.type, excuse] += 1
            else:
                unexplained.append(change)
        self.agreement.add([unexplained])

    def _excuse(self, change: Change, sentence: Sentence) -> str:
        """Return why an entity that is not kept is not a loss; empty where it is one."""
        was = change.old
        if was is None or change.kind == "kept":
            return ""
        if any(span.type in self.new and span.start < was.end and was.start < span.end for span in sentence.spans):
            return "given"
        return "corrected" if was.type in self.annotated and was not in sentence.spans else ""

    def fate(self, types: Sequence[str]) -> dict[str, Any]:
        """Return what became of some types together, as a record holds it."""
        total: TypeAgreement = self.agreement.total(types)
        excused = {kind: sum(self.excused[type_, kind] for type_ in types) for kind in ("given", "corrected")}
        return {
            "found": total.old + sum(excused.values()),
            **{kind: getattr(total, kind) for kind in ("kept", "moved", "relabelled", "lost")},
            **excused,
            "relabelled_as": dict(total.relabelled_as),
            "share": total.share("kept"),
        }


def task_effect(
    measured: MeasuredEffect, taught: Sequence[str], annotated: Collection[str], data: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a record says of a task: a row per type, all old types together, and a sentence."""
    counted = {type_: one for type_, one in measured.after.per_type.items() if type_ in annotated and one.support}
    effect: dict[str, Any] = {
        **data,
        "old": {
            type_: {**fate, **_before_and_after(measured.before.per_type[type_], counted.get(type_))}
            for type_, fate in measured.fates.items()
        },
        "all": dict(measured.total),
        "new": {
            type_: {
                "f1": counted[type_].f1 if type_ in counted else None,
                "support": counted[type_].support if type_ in counted else 0,
                "found": measured.after.per_type[type_].predicted,
                "correct": counted[type_].correct if type_ in counted else 0,
            }
            for type_ in taught
            if type_ not in measured.fates
        },
        "again": [type_ for type_ in taught if type_ in measured.fates],
    }
    return {**effect, "in_words": effect_in_words(effect)}


def _before_and_after(before: Score, after: Score | None) -> dict[str, Any]:
    """Return F1 of an old type in both versions, and the counts that say what it is worth; nothing without gold."""
    if after is None:
        return {"before": None, "after": None, "support": 0, "correct_before": 0, "correct_after": 0}
    return {
        "before": before.f1,
        "after": after.f1,
        "support": after.support,
        "correct_before": before.correct,
        "correct_after": after.correct,
    }
