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
from retainer.data.corpus import Corpus
from retainer.data.spans import Sentence, Span
from retainer.decimals import decimals
from retainer.metrics.calibration import fit_curves
from retainer.metrics.f1 import Scores, gold_spans, score, spans_by_sentence
from retainer.model.predict import find, scores_of
from retainer.model.tagger import Tagger
from retainer.plurals import entities, sentences

SLIGHT_DROP = 0.05
"""A drop by fewer points of F1 is not reported."""

LEAST_ENTITIES_NAMED = 5
"""The share kept of a type is named from so many entities on: one of one is 0 % or 100 %, which says nothing."""

SHARE_TO_WARN = 200 / 3
"""A type of which a smaller share was kept, in percent, is a type that was mostly forgotten."""

LEAST_ENTITIES_TO_WARN = 20
"""From so many entities on such a share is no accident."""


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
            type_: {
                **fate,
                "before": measured.before.per_type[type_].f1 if type_ in counted else None,
                "after": counted[type_].f1 if type_ in counted else None,
            }
            for type_, fate in measured.fates.items()
        },
        "all": dict(measured.total),
        "new": {
            type_: {
                "f1": counted[type_].f1 if type_ in counted else None,
                "support": counted[type_].support if type_ in counted else 0,
                "found": measured.after.per_type[type_].predicted,
            }
            for type_ in taught
            if type_ not in measured.fates
        },
        "again": [type_ for type_ in taught if type_ in measured.fates],
    }
    return {**effect, "in_words": effect_in_words(effect)}


def effect_in_words(effect: Mapping[str, Any]) -> str:
    """Report in one sentence what was kept, gained and forgotten."""
    retaught = effect["again"]
    learned = [f"{type_} {_at(one['f1'])}" for type_, one in effect["new"].items()]
    parts = [
        _kept(effect),
        f"learned {', '.join(learned)}" if learned else "",
        f"learned more of {', '.join(_more(type_, effect['old'][type_]) for type_ in retaught)}" if retaught else "",
        _forgot(effect["old"]),
        _warning(effect["old"]),
        _never(effect),
    ]
    return "; ".join(part for part in parts if part)


def _warning(old: Mapping[str, Mapping[str, Any]]) -> str:
    """Name the old types that hardly survived: a mean over all types hides them."""
    few = [
        type_ for type_, one in old.items() if _to_keep(one) >= LEAST_ENTITIES_TO_WARN and one["share"] < SHARE_TO_WARN
    ]
    if not few:
        return ""
    return f"warning, keeps little of {', '.join(few)}: --text, --exemplars, a dev file or another method keep more"


def _never(effect: Mapping[str, Any]) -> str:
    """Name the new types that are never found: a version that has learned nothing must not look like one that has."""
    never = [type_ for type_, one in effect["new"].items() if not one["found"]]
    return f"never finds {', '.join(never)}: more data, more epochs or another method" if never else ""


def _at(f1: float | None) -> str:
    return "(not annotated there)" if f1 is None else f"at F1 {f1:.1f}"


def _more(type_: str, one: Mapping[str, Any]) -> str:
    return (
        f"{type_} {_at(None)}" if one["before"] is None else f"{type_} (F1 {one['before']:.1f} to {one['after']:.1f})"
    )


def _kept(effect: Mapping[str, Any]) -> str:
    if not effect["old"]:
        return ""
    total, where = effect["all"], f"{sentences(effect['sentences'])} {effect['place']}"
    gave = f", gave {total['given']} to new types" if total["given"] else ""
    if total["share"] is None:
        return f"the previous version found nothing to keep in {where}{gave}"
    found = f"{total['kept']} of {entities(_to_keep(total))} in {where}"
    return f"kept {total['share']:.1f} % of what the previous version found ({found}){_least(effect)}{gave}"


def _to_keep(fate: Mapping[str, Any]) -> int:
    """Count the entities whose loss would be one."""
    return int(fate["found"] - fate["given"] - fate["corrected"])


def _least(effect: Mapping[str, Any]) -> str:
    """Name the type of which the smallest share was kept, among those with enough entities to name one."""
    shares = {type_: one["share"] for type_, one in effect["old"].items() if _to_keep(one) >= LEAST_ENTITIES_NAMED}
    worst = min(shares, key=lambda type_: shares[type_], default=None)
    if worst is None or shares[worst] >= effect["all"]["share"]:
        return ""
    return f", least of {worst} ({shares[worst]:.1f} %)"


def _forgot(old: Mapping[str, Mapping[str, Any]]) -> str:
    """Name the old types whose F1 fell, as far as they are annotated."""
    fell = {type_: one["after"] - one["before"] for type_, one in old.items() if one["before"] is not None}
    forgotten = [f"{type_} {decimals(by, 1)}" for type_, by in fell.items() if by < -SLIGHT_DROP]
    if forgotten:
        return f"forgot: {', '.join(forgotten)}"
    return "forgot nothing" if fell and len(fell) == len(old) else ""
