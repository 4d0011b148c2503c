"""Two versions of a project side by side, and whether to use the newer one.

Scored on texts that were held back and decided, type by type where that type is complete; compared without annotation
on texts that were held back and not decided. No version was trained on any of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from retainer.comparison.changes import Case, changes
from retainer.comparison.compare import Difference, compare_predictions
from retainer.comparison.gates import Gates
from retainer.comparison.scored import ScoredComparison, TypeComparison, score_versions
from retainer.comparison.type_sets import TypeSets
from retainer.data.spans import Span
from retainer.data.texts import Texts
from retainer.decimals import decimals
from retainer.metrics.significance import count_entities
from retainer.plurals import amount
from retainer.workbench.annotation import Annotation
from retainer.workbench.texts import StoredText

MAX_DROP = 2.0
"""Points of F1 that an old type may lose."""
MIN_GAIN = 50.0
"""F1 that a new type must have."""
MIN_AGREEMENT = 90.0
"""Percent to which the versions must agree on old types that no decision tells anything about."""

_Spans = Sequence[Span]


@dataclass(frozen=True)
class ComparedText:
    """A text that was held back, what was decided about it, and what two versions find in it."""

    text: StoredText
    annotation: Annotation | None
    """None without a decision."""
    old: _Spans
    new: _Spans

    @property
    def case(self) -> Case:
        """Return it as the comparison takes it."""
        return Case(self.text.id, self.text.text, changes(self.old, self.new))


@dataclass(frozen=True)
class TypesOfBoth:
    """What the two versions find."""

    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True)
class VersionComparison:
    """What became of the entities, how both score, and what to do."""

    difference: Difference
    """Over all texts; scores over those with a decision."""
    judged: int
    """Texts with a decision."""
    use: bool
    sentence: str

    @property
    def scores(self) -> Iterator[tuple[str, TypeComparison]]:
        """Iterate over the types that could be scored."""
        scored = self.difference.scored
        if scored is not None:
            yield from (*scored.kept.items(), *scored.gained.items())


def compare_versions(types: TypesOfBoth, texts: Sequence[ComparedText]) -> VersionComparison:
    """Compare what two versions find in texts that were held back."""
    judged = [one for one in texts if one.annotation is not None]
    sets = TypeSets.of(types.old, types.new, Texts(()))
    sets = replace(sets, annotated=_annotated(judged))
    plain = compare_predictions(replace(sets, annotated=None), [one.case for one in texts])
    difference = replace(plain, types=sets, scored=_scored(sets, judged))
    use, sentence = _verdict(difference, len(judged))
    return VersionComparison(difference, len(judged), use, sentence)


def _annotated(judged: Sequence[ComparedText]) -> tuple[str, ...]:
    """Return the types with an entity in a text in which they are complete."""
    return tuple(sorted({span.type for one in judged for span in _complete(one, _marked(one))}))


def _marked(one: ComparedText) -> _Spans:
    return one.annotation.entities if one.annotation else ()


def _complete(one: ComparedText, spans: _Spans) -> list[Span]:
    """Return the entities of types that are complete in a text: of others, an absence means nothing."""
    complete = set(one.annotation.complete if one.annotation else ())
    return [span for span in spans if span.type in complete]


def _scored(types: TypeSets, judged: Sequence[ComparedText]) -> ScoredComparison | None:
    names = (*types.kept, *types.learned)
    if not names:
        return None
    gold = [_complete(one, _marked(one)) for one in judged]
    before = count_entities(gold, [_complete(one, one.old) for one in judged], names)
    after = count_entities(gold, [_complete(one, one.new) for one in judged], names)
    return score_versions(before, after, types.kept, types.learned)


def _verdict(difference: Difference, judged: int) -> tuple[bool, str]:
    """Say yes or no, and why."""
    types, problems, reasons = difference.types, list[str](), list[str]()
    on = f"on {amount(judged, 'held-back text')} with a decision"
    for gates, measurable in (
        (Gates(max_drop=MAX_DROP), bool(types.kept)),
        (Gates(min_gain=MIN_GAIN), bool(types.learned)),
    ):
        if measurable:
            problems += [phrase for one in gates.outcomes(difference) for phrase in one.broken.values()]
    if types.kept:
        reasons.append(f"old types that can be scored ({', '.join(types.kept)}) keep their F1")
    if types.learned:
        scored = difference.scored
        gained = {} if scored is None else scored.gained
        reasons.append(", ".join(f"{type_} is found with F1 {decimals(gained[type_].new.f1, 1)}" for type_ in gained))
    unscored, drifted = _unscored(difference)
    problems += drifted
    reasons += unscored
    if problems:
        return False, f"No: {'; '.join(problems)}{f' ({on})' if judged else ''}."
    if not reasons:
        return False, (
            "No: whether it is better is not known yet; decide about some of the texts that are held back, and say "
            "which types are complete in them."
        )
    return True, f"Yes: {'; '.join(reasons)}{f' ({on})' if types.kept or types.learned else ''}."


def _unscored(difference: Difference) -> tuple[list[str], list[str]]:
    """Hold the agreement on old types without annotation against its limit: what speaks for, and what against."""
    types = difference.types
    found = {
        type_: one.agreement
        for type_, one in difference.agreements.items()
        if type_ not in types.kept and one.agreement is not None
    }
    drifted = [
        f"of {type_} the versions agree on {decimals(agreement, 1)} % alone, and no decision says which is right"
        for type_, agreement in found.items()
        if agreement < MIN_AGREEMENT
    ]
    if not found or drifted:
        return [], drifted
    least = min(found.values())
    return [f"both agree on at least {decimals(least, 1)} % of {', '.join(found)}"], []
