"""What a task did to a model: what it kept of the old types, gave away, lost and gained, on the sentences at hand.

The data of the old types are gone, so for most of them nobody knows what is right. What the version before found takes
the place of that: an entity it found and the new version finds as well is kept. Two kinds of entities that are not
found any more are no loss, because the annotation says that they should not be: those on words that are annotated as a
new type, which are given to it, and those of a completely annotated type that the annotation does not have, which are
corrected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retainer.comparison.agreement import Tally, TypeAgreement
from retainer.comparison.changes import Change, changes
from retainer.data.corpus import Corpus
from retainer.data.spans import Sentence, Span
from retainer.metrics.calibration import fit_curves
from retainer.metrics.f1 import Scores, gold_spans, score, spans_by_sentence
from retainer.model.predict import find, scores_of
from retainer.model.tagger import Tagger
from retainer.plurals import entities, sentences

SLIGHT = 0.05
"""Points of F1 that are not worth a word."""

TELLING = 5
"""Entities a type must have had to keep before its share is named: one of one is 0 % or 100 %, which says nothing."""


@dataclass(frozen=True)
class Measured:
    """Two versions on the same sentences: one look of each, from which all that is written down follows."""

    after: Scores
    before: Scores
    """The scores of the version before; 0 for types it did not know."""
    curves: Mapping[str, Mapping[str, float]]
    """How the new version's scores become probabilities, by type."""
    fates: Mapping[str, Mapping[str, Any]]
    """What became of the old version's entities, by its types."""
    total: Mapping[str, Any]
    """The same for all of them together."""


def measure(old: Tagger, new: Tagger, data: Corpus, told: Collection[str]) -> Measured:
    """Let both versions look at some sentences; ``told`` are the types of which every entity there is annotated."""
    types = new.labels.types
    spans, tagged = find(new, data.sentences, types)
    gold = gold_spans(data, tagged.sentence_starts, types)
    known = old.labels.types
    before = find(old, data.sentences, types)[0] if known else gold_spans((), tagged.sentence_starts[:1], types)
    both = (spans_by_sentence(one, tagged.sentence_starts, types) for one in (before, spans))
    ledger = _Ledger(known, [type_ for type_ in types if type_ not in known], told)
    for sentence, *found in zip(data, *both, strict=True):
        ledger.add(sentence, *found)
    return Measured(
        score(gold, spans, types),
        score(gold, before, types),
        fit_curves(spans, scores_of(spans, tagged), gold, types),
        {type_: ledger.fate([type_]) for type_ in known},
        ledger.fate(known),
    )


class _Ledger:
    """Writes down what became of the old version's entities, sentence by sentence."""

    def __init__(self, known: Sequence[str], new: Collection[str], told: Collection[str]) -> None:
        self.new, self.told = set(new), set(told)
        self.tally, self.excused = Tally(known), Counter[tuple[str, str]]()

    def add(self, sentence: Sentence, old: Sequence[Span], new: Sequence[Span]) -> None:
        """Write down one sentence; what the annotation explains is counted apart."""
        left = []
        for change in changes(old, new):
            if (excuse := self._excuse(change, sentence)) and change.old:
                self.excused[change.old.type, excuse] += 1
            else:
                left.append(change)
        self.tally.add([left])

    def _excuse(self, change: Change, sentence: Sentence) -> str:
        """Say why an entity that is not kept is no loss; nothing where it is one."""
        was = change.old
        if was is None or change.kind == "kept":
            return ""
        if any(span.type in self.new and span.start < was.end and was.start < span.end for span in sentence.spans):
            return "given"
        return "corrected" if was.type in self.told and was not in sentence.spans else ""

    def fate(self, types: Sequence[str]) -> dict[str, Any]:
        """Return what became of some types together, as a record holds it."""
        drift: TypeAgreement = self.tally.total(types)
        excused = {kind: sum(self.excused[type_, kind] for type_ in types) for kind in ("given", "corrected")}
        return {
            "found": drift.old + sum(excused.values()),
            **{kind: getattr(drift, kind) for kind in ("kept", "moved", "relabelled", "lost")},
            **excused,
            "relabelled_as": dict(drift.labels),
            "share": drift.share("kept"),
        }


def balance(
    measured: Measured, taught: Sequence[str], told: Collection[str], data: Mapping[str, Any]
) -> dict[str, Any]:
    """Put together what a record says of a task: a row per type, all old types together, and a sentence."""
    counted = {type_: one for type_, one in measured.after.per_type.items() if type_ in told and one.support}
    made: dict[str, Any] = {
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
    return {**made, "in_words": in_words(made)}


def in_words(made: Mapping[str, Any]) -> str:
    """Say in one sentence what was kept, gained and forgotten."""
    again = made["again"]
    gained = [f"{type_} {_at(one['f1'])}" for type_, one in made["new"].items()]
    parts = [
        _kept(made),
        f"learned {', '.join(gained)}" if gained else "",
        f"learned more of {', '.join(_more(type_, made['old'][type_]) for type_ in again)}" if again else "",
        _forgot(made["old"]),
        _never(made),
    ]
    return "; ".join(part for part in parts if part)


def _never(made: Mapping[str, Any]) -> str:
    """Name the new types that are never found: a version that has learned nothing must not look like one that has."""
    never = [type_ for type_, one in made["new"].items() if not one["found"]]
    return f"never finds {', '.join(never)}: more data, more epochs or another method" if never else ""


def _at(f1: float | None) -> str:
    return "(not annotated there)" if f1 is None else f"at F1 {f1:.1f}"


def _more(type_: str, one: Mapping[str, Any]) -> str:
    return (
        f"{type_} {_at(None)}" if one["before"] is None else f"{type_} (F1 {one['before']:.1f} to {one['after']:.1f})"
    )


def _kept(made: Mapping[str, Any]) -> str:
    if not made["old"]:
        return ""
    total, where = made["all"], f"{sentences(made['sentences'])} {made['place']}"
    gave = f", gave {total['given']} to new types" if total["given"] else ""
    if total["share"] is None:
        return f"the version before found nothing to keep in {where}{gave}"
    found = f"{total['kept']} of {entities(_to_keep(total))} in {where}"
    return f"kept {total['share']:.1f} % of what the version before found ({found}){_least(made)}{gave}"


def _to_keep(fate: Mapping[str, Any]) -> int:
    """Count the entities whose loss would be one."""
    there: int = fate["found"] - fate["given"] - fate["corrected"]
    return there


def _least(made: Mapping[str, Any]) -> str:
    """Name the type of which the smallest share was kept, among those with enough entities for a share to tell."""
    shares = {type_: one["share"] for type_, one in made["old"].items() if _to_keep(one) >= TELLING}
    worst = min(shares, key=lambda type_: shares[type_], default=None)
    if worst is None or shares[worst] >= made["all"]["share"]:
        return ""
    return f", least of {worst} ({shares[worst]:.1f} %)"


def _forgot(old: Mapping[str, Mapping[str, Any]]) -> str:
    """Name the old types that fell, as far as the annotation tells."""
    fell = {type_: one["after"] - one["before"] for type_, one in old.items() if one["before"] is not None}
    forgotten = [f"{type_} {by:.1f}" for type_, by in fell.items() if by < -SLIGHT]
    if forgotten:
        return f"forgot: {', '.join(forgotten)}"
    return "forgot nothing" if fell and len(fell) == len(old) else ""
