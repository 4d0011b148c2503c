"""Two versions of a project side by side, and whether to use the newer one.

Scored on texts that were held back and decided, type by type where that type is complete; compared without annotation
on texts that were held back and not decided. No version was trained on any of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from retainer.comparison.changes import Case, changes
from retainer.comparison.compare import Difference, compare_predictions
from retainer.comparison.scored import ScoredComparison, TypeComparison, score_versions
from retainer.comparison.type_sets import TypeSets
from retainer.data.spans import Span
from retainer.data.texts import Texts
from retainer.metrics.f1 import Score
from retainer.metrics.few import is_few
from retainer.metrics.significance import count_entities
from retainer.workbench.annotation import Annotation
from retainer.workbench.texts import StoredText
from retainer.workbench.verdict import Scope, VersionVerdict, verdict_of

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
    """What the two versions have learned to find."""

    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True)
class TypeRow:
    """How both versions do on a type, and on how much that is measured."""

    type: str
    before: float | None
    """F1 in percent; None for a version that never learned the type."""
    after: float | None
    scope: Scope
    real: bool
    """Whether the difference is more than chance gives."""

    @property
    def few(self) -> bool:
        """Whether there are too few entities to tell anything by the scores."""
        return is_few(self.scope.entities)


@dataclass(frozen=True)
class VersionComparison:
    """What became of the entities, how both score, and what to do."""

    difference: Difference
    """Over all texts; scores over those with a decision."""
    judged: int
    """Texts with a decision."""
    rows: tuple[TypeRow, ...]
    """The types with an entity in a text in which they are complete."""
    verdict: VersionVerdict


def compare_versions(types: TypesOfBoth, texts: Sequence[ComparedText]) -> VersionComparison:
    """Compare what two versions find in texts that were held back."""
    judged = [one for one in texts if one.annotation is not None]
    scopes = _scopes(judged)
    sets = TypeSets.of(types.old, types.new, Texts(()))
    sets = replace(sets, annotated=tuple(scopes))
    plain = compare_predictions(replace(sets, annotated=None), [one.case for one in texts])
    difference = replace(plain, types=sets, scored=_scored(sets, judged))
    rows = tuple(_rows(difference, judged, scopes))
    return VersionComparison(difference, len(judged), rows, verdict_of(difference, scopes))


def _scopes(judged: Sequence[ComparedText]) -> dict[str, Scope]:
    """Return on how much each type is scored, of those with an entity in a text in which they are complete."""
    scopes = dict[str, Scope]()
    for one in judged:
        entities = [span.type for span in _complete(one, _marked(one))]
        for type_ in one.annotation.complete if one.annotation else ():
            before = scopes.get(type_, Scope())
            scopes[type_] = Scope(before.entities + entities.count(type_), before.texts + 1)
    return {type_: scope for type_, scope in sorted(scopes.items()) if scope.entities}


def _marked(one: ComparedText) -> _Spans:
    return one.annotation.entities if one.annotation else ()


def _complete(one: ComparedText, spans: _Spans) -> list[Span]:
    """Return the entities of types that are complete in a text: of others, an absence means nothing."""
    complete = set(one.annotation.complete if one.annotation else ())
    return [span for span in spans if span.type in complete]


def _scored(types: TypeSets, judged: Sequence[ComparedText]) -> ScoredComparison | None:
    """Score the types that the new version has learned; what it never learned, it cannot have forgotten."""
    kept = [type_ for type_ in types.kept if type_ not in types.dropped]
    names = (*kept, *types.learned)
    if not names:
        return None
    gold = [_complete(one, _marked(one)) for one in judged]
    before = count_entities(gold, [_complete(one, one.old) for one in judged], names)
    after = count_entities(gold, [_complete(one, one.new) for one in judged], names)
    return score_versions(before, after, kept, types.learned)


def _rows(difference: Difference, judged: Sequence[ComparedText], scopes: dict[str, Scope]) -> Iterator[TypeRow]:
    """Yield the types that both know, then those that are new, that the new version lacks, and that neither knows."""
    scored, types = difference.scored, difference.types
    both: dict[str, TypeComparison] = {} if scored is None else {**scored.kept, **scored.gained}
    for type_, one in both.items():
        yield TypeRow(type_, None if one.old is None else one.old.f1, one.new.f1, scopes[type_], one.real)
    lacking = [type_ for type_ in types.dropped if type_ in scopes]
    for type_, f1 in zip(lacking, _old_scores(lacking, judged), strict=True):
        yield TypeRow(type_, f1, None, scopes[type_], False)
    for type_ in types.unknown:
        yield TypeRow(type_, None, None, scopes[type_], False)


def _old_scores(types: Sequence[str], judged: Sequence[ComparedText]) -> list[float]:
    """Return the F1 of the old version on types that it alone knows."""
    gold = [_complete(one, _marked(one)) for one in judged]
    counts = count_entities(gold, [_complete(one, one.old) for one in judged], types).sum(0)
    return [Score(*map(int, row)).f1 for row in counts]
