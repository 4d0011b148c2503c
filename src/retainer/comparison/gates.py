"""Gates: limits a new version must keep to, and what to report when it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retainer.data.corpus import Corpus
from retainer.decimals import decimals, digits_beside
from retainer.errors import InputError
from retainer.plurals import entities

if TYPE_CHECKING:
    from retainer.comparison.compare import Difference
    from retainer.comparison.type_sets import TypeSets
    from retainer.data.texts import Texts

_ALL_OLD_TYPES = "all old types together"
_TOLERANCE = 1e-9
"""A smaller difference is only the last digit of a division."""


@dataclass(frozen=True)
class GateOutcome:
    """Whether a version passes one gate, and the types that decided it."""

    name: str
    limit: float
    broken: Mapping[str, str]
    """The types that break the limit, each with a phrase that says how."""
    measured: tuple[str, ...]
    unmeasured: tuple[str, ...]
    """Types the gate cannot see: no gold, or no entity found by either version."""

    @property
    def passed(self) -> bool:
        """Whether the gate lets the version pass."""
        return not self.broken

    @property
    def given(self) -> str:
        """The limit as it was given."""
        return f"{self.limit:g}" if float(f"{self.limit:g}") == self.limit else repr(self.limit)

    def sentence(self) -> str:
        """Report the outcome in one sentence."""
        limit = f"--{self.name} {self.given}"
        if self.broken:
            return f"{limit}: no, " + "; ".join(self.broken.values())
        blind = f" (not measured: {', '.join(self.unmeasured)})" if self.unmeasured else ""
        return f"{limit}: passed by {', '.join(self.measured)}{blind}"

    def as_dict(self) -> dict[str, Any]:
        """Return everything for a result file."""
        return {
            "gate": self.name,
            "limit": self.limit,
            "passed": self.passed,
            "broken": dict(self.broken),
            "measured": list(self.measured),
            "unmeasured": list(self.unmeasured),
        }


@dataclass(frozen=True)
class Gate:
    """One kind of limit: its flag, what it needs, and how a comparison is held against it."""

    flag: str
    unit: str
    """What the limit is given in, for the message about one that is out of range."""
    needs_gold: bool
    lacking: Callable[[TypeSets], str]
    """Why these types leave the gate nothing to measure; empty where there is something."""
    outcome: Callable[[Difference, float], GateOutcome]

    def require_limit(self, limit: float) -> None:
        """Refuse a limit that nothing could keep to, or everything."""
        if not 0 <= limit <= 100:
            raise InputError(f"--{self.flag} {limit:g}: expected {self.unit}, from 0 to 100")
        if self.unit == "percent" and 0 < limit < 1:  # a share; as percent, nearly all would pass
            raise InputError(f"--{self.flag} {limit:g} is in percent: did you mean {100 * limit:g}?")


@dataclass(frozen=True)
class Gates:
    """The limits that are set; without any, everything passes."""

    max_drop: float | None = None
    min_agreement: float | None = None
    min_gain: float | None = None

    def __post_init__(self) -> None:
        """Check the limits."""
        for gate, limit in self._set():
            gate.require_limit(limit)

    def _set(self) -> Iterator[tuple[Gate, float]]:
        """Return the gates that are set, each with its limit."""
        for gate in GATES:
            limit: float | None = getattr(self, gate.flag.replace("-", "_"))
            if limit is not None:
                yield gate, limit

    def require_gold(self, data: Corpus | Texts) -> None:
        """Refuse texts for a gate that needs annotation; asked before any model is loaded."""
        for gate, _ in self._set():
            if gate.needs_gold and not isinstance(data, Corpus):
                raise InputError(
                    f"--{gate.flag} needs gold entities, and {data.source} has texts only; give an annotated corpus, "
                    "or use --min-agreement"
                )

    def require_types(self, types: TypeSets) -> None:
        """Refuse types that leave a gate nothing to measure; asked before any text is tagged."""
        for gate, _ in self._set():
            if lacking := gate.lacking(types):
                raise InputError(lacking)

    def outcomes(self, difference: Difference) -> list[GateOutcome]:
        """Hold a comparison against every gate that is set."""
        return [gate.outcome(difference, limit) for gate, limit in self._set()]


def _no_old_type(types: TypeSets) -> str:
    return "" if types.old else "the old version knows no type, so a gate has nothing to measure"


def _no_old_gold(types: TypeSets) -> str:
    if missing := _no_old_type(types):
        return missing
    wanted = "a type the old version knows"
    return "" if types.kept else _no_gold("max-drop", wanted, types.old, types)


def _no_new_gold(types: TypeSets) -> str:
    if types.dropped and not types.gained:
        return f"NEW has no type that OLD lacks, but OLD has {', '.join(types.dropped[:8])}: are the two swapped?"
    wanted = "a type only the new version knows"
    return "" if types.learned else _no_gold("min-gain", wanted, types.gained, types)


def _no_gold(flag: str, wanted: str, known: tuple[str, ...], types: TypeSets) -> str:
    names, there = (", ".join(some[:8]) or "none" for some in (known, types.annotated or ()))
    return f"--{flag} needs gold entities of {wanted} ({names}); the data annotate {there}"


def _beside(value: float, limit: float) -> str:
    """Write a value with digits enough to show that it breaks a limit."""
    return decimals(value, digits_beside(value, limit))


def _dropped(type_: str, old: float, new: float, limit: float) -> str:
    digits = digits_beside(old - new, limit)
    fall, before, after = (decimals(value, digits) for value in (old - new, old, new))
    return f"{type_} dropped by {fall} points of F1 ({before} to {after})"


def _drop(difference: Difference, limit: float) -> GateOutcome:
    """Hold the F1 that each old type lost against a limit."""
    scores = difference.scored.kept if difference.scored else {}
    broken = {
        type_: _dropped(type_, one.old.f1, one.new.f1, limit)
        for type_, one in scores.items()
        if one.old and one.drop > limit + _TOLERANCE
    }
    unmeasured = tuple(type_ for type_ in difference.types.old if type_ not in scores)
    return GateOutcome("max-drop", limit, broken, tuple(scores), unmeasured)


def _agreement(difference: Difference, limit: float) -> GateOutcome:
    """Hold the agreement on each old type, and on all of them together, against a limit."""
    found = {type_: one for type_, one in difference.agreements.items() if one.agreement is not None}
    if not found:
        raise InputError(
            "neither version finds an entity of an old type in these data, so --min-agreement has nothing to measure; "
            "give more texts"
        )
    measured = {_ALL_OLD_TYPES: difference.total, **found} if len(found) > 1 else found
    broken = {
        name: f"agreement on {name} is {_beside(one.agreement, limit)} % "
        f"({one.kept} of {entities(one.old)} kept; the new version finds {one.new})"
        for name, one in measured.items()
        if one.agreement is not None and one.agreement < limit - _TOLERANCE
    }
    unmeasured = tuple(type_ for type_ in difference.agreements if type_ not in found)
    return GateOutcome("min-agreement", limit, broken, tuple(found), unmeasured)


def _gain(difference: Difference, limit: float) -> GateOutcome:
    """Hold the F1 of each gained type against a limit."""
    scores = difference.scored.gained if difference.scored else {}
    broken = {
        type_: f"{type_}, which is new, is found with F1 {_beside(one.new.f1, limit)}"
        for type_, one in scores.items()
        if one.new.f1 < limit - _TOLERANCE
    }
    unmeasured = tuple(type_ for type_ in difference.types.gained if type_ not in scores)
    return GateOutcome("min-gain", limit, broken, tuple(scores), unmeasured)


GATES = (
    Gate("max-drop", "points of F1", True, _no_old_gold, _drop),
    Gate("min-agreement", "percent", False, _no_old_type, _agreement),
    Gate("min-gain", "F1 in percent", True, _no_new_gold, _gain),
)
"""Every gate there is, in the order in which they are reported."""
