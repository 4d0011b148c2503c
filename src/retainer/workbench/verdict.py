"""Whether to use a new version, in a sentence: yes, no, or that there is not enough evidence, and why.

A type is scored only on texts that are complete for it, so the sentence says for each on how many texts and entities.
What few entities show, or what may be chance, is a reason for neither yes nor no.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from retainer.comparison.compare import Difference
from retainer.comparison.gates import Gates
from retainer.comparison.scored import TypeComparison
from retainer.decimals import decimals
from retainer.metrics.few import FEW_ENTITIES, is_few
from retainer.plurals import amount, entities

MAX_DROP = 2.0
"""Points of F1 that an old type may lose."""
MIN_GAIN = 50.0
"""F1 that a new type must have."""
MIN_AGREEMENT = 90.0
"""Percent to which the versions must agree on old types that no decision tells anything about."""

_UNKNOWN = (
    "whether it is better is not known yet; decide about some of the texts that are held back, and say which types "
    "are complete in them"
)
_MORE = "decide about more texts that are held back, and say which types are complete in them"


@dataclass(frozen=True)
class Scope:
    """On how much a type is scored."""

    entities: int = 0
    texts: int = 0
    """Held back, decided and complete for the type."""

    def __str__(self) -> str:
        """Say it as it stands in brackets behind a score."""
        say = "says" if self.entities == 1 else "say"
        little = f", which {say} little" if is_few(self.entities) else ""
        return f"{entities(self.entities)} in {amount(self.texts, 'text')}{little}"


@dataclass(frozen=True)
class VersionVerdict:
    """What to do, and why."""

    answer: Literal["yes", "no", "unknown"]
    sentence: str

    @property
    def use(self) -> bool:
        """Whether the new version is better beyond doubt."""
        return self.answer == "yes"


@dataclass
class _Evidence:
    """What speaks for the new version, what against it, and what looks bad but proves nothing."""

    reasons: list[str]
    problems: list[str]
    doubts: list[str]
    firm: bool = False
    """Whether a reason rests on enough entities."""


def verdict_of(difference: Difference, scopes: Mapping[str, Scope]) -> VersionVerdict:
    """Weigh the scores of types where decisions tell, and the agreement elsewhere."""
    evidence = _Evidence([], [], [])
    _weigh_scores(difference, scopes, evidence)
    _weigh_agreement(difference, evidence)
    if difference.types.dropped:
        evidence.problems.append(f"the new version never learned {', '.join(difference.types.dropped)}")
    if evidence.problems:
        return VersionVerdict("no", f"No: {'; '.join(evidence.problems)}.")
    if evidence.doubts:
        return VersionVerdict("unknown", f"Not enough evidence: {'; '.join(evidence.doubts)}; {_MORE}.")
    if not evidence.reasons:
        return VersionVerdict("unknown", f"Not enough evidence: {_UNKNOWN}.")
    if not evidence.firm:
        said = "; ".join(evidence.reasons)
        return VersionVerdict(
            "unknown", f"Not enough evidence: nothing got worse, but there is too little to judge by ({said})."
        )
    return VersionVerdict("yes", f"Yes: {'; '.join(evidence.reasons)}.")


def _weigh_scores(difference: Difference, scopes: Mapping[str, Scope], evidence: _Evidence) -> None:
    """Hold the scores of every type against the limits, and say which it was measured on."""
    scored = difference.scored
    if scored is None:
        return
    broken = {
        type_: phrase
        for outcome in Gates(max_drop=MAX_DROP, min_gain=MIN_GAIN).outcomes(difference)
        for type_, phrase in outcome.broken.items()
    }
    for type_, phrase in broken.items():
        few = is_few(scopes[type_].entities)
        chance = type_ in scored.kept and not scored.kept[type_].real
        doubt = ": too few to judge" if few else ": may be chance" if chance else ""
        (evidence.doubts if doubt else evidence.problems).append(f"{phrase} on {_plainly(scopes[type_])}{doubt}")
    kept = [f"{type_} ({scopes[type_]})" for type_ in scored.kept if type_ not in broken]
    gained = [_found(type_, one, scopes[type_]) for type_, one in scored.gained.items() if type_ not in broken]
    if kept:
        evidence.reasons.append(f"old types keep their F1: {', '.join(kept)}")
    evidence.reasons += gained
    fine = [type_ for type_ in (*scored.kept, *scored.gained) if type_ not in broken]
    evidence.firm |= any(not is_few(scopes[type_].entities) for type_ in fine)


def _plainly(scope: Scope) -> str:
    return f"{entities(scope.entities)} in {amount(scope.texts, 'text')}"


def _found(type_: str, one: TypeComparison, scope: Scope) -> str:
    return f"{type_}, which is new, is found with F1 {decimals(one.new.f1, 1)} ({scope})"


def _weigh_agreement(difference: Difference, evidence: _Evidence) -> None:
    """Hold the agreement on old types that cannot be scored against its limit."""
    types = difference.types
    found = {
        type_: (one.agreement, max(one.old, one.new))
        for type_, one in difference.agreements.items()
        if type_ not in (*types.kept, *types.dropped) and one.agreement is not None
    }
    for type_, (agreement, size) in found.items():
        if agreement < MIN_AGREEMENT:
            said = f"both agree on only {decimals(agreement, 1)} % of {type_}, and no decision says which is right"
            few = f" ({entities(size)}: too few to judge)" if is_few(size) else ""
            (evidence.doubts if few else evidence.problems).append(f"{said}{few}")
    same = [type_ for type_, (agreement, _) in found.items() if agreement >= MIN_AGREEMENT]
    if same:
        least = min(found[type_][0] for type_ in same)
        evidence.reasons.append(f"both agree on at least {decimals(least, 1)} % of {', '.join(same)}")
        evidence.firm |= any(found[type_][1] >= FEW_ENTITIES for type_ in same)
