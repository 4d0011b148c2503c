"""Gates: limits a new version must keep to, and what is said when it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retainer.data.corpus import Corpus
from retainer.errors import InputError
from retainer.plurals import entities

if TYPE_CHECKING:
    from retainer.comparison.compare import Difference
    from retainer.comparison.type_sets import Types
    from retainer.data.texts import Texts

ALL = "all old types together"
TINY = 1e-9
"""Less than this is no drop, only the last digit of a division."""


@dataclass(frozen=True)
class Outcome:
    """What one gate says."""

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

    def sentence(self) -> str:
        """Say it in one sentence."""
        limit = f"--{self.name} {self.limit:g}"
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
class Gates:
    """The limits somebody set; without any, everything passes."""

    max_drop: float | None = None
    min_agreement: float | None = None
    min_gain: float | None = None

    def __post_init__(self) -> None:
        """Refuse limits nothing could keep to, or everything."""
        if self.max_drop is not None and not 0 <= self.max_drop <= 100:
            raise InputError(f"--max-drop {self.max_drop:g}: expected points of F1, from 0 to 100")
        if self.min_agreement is not None and not 0 <= self.min_agreement <= 100:
            raise InputError(f"--min-agreement {self.min_agreement:g}: expected percent, from 0 to 100")
        if self.min_agreement is not None and 0 < self.min_agreement < 1:  # a share; as percent, nearly all would pass
            raise InputError(
                f"--min-agreement {self.min_agreement:g} is in percent: did you mean {100 * self.min_agreement:g}?"
            )

        if self.min_gain is not None and not 0 <= self.min_gain <= 100:
            raise InputError(f"--min-gain {self.min_gain:g}: expected F1 in percent, from 0 to 100")

    def require_gold(self, data: Corpus | Texts) -> None:
        """Refuse texts for a gate that needs annotation; asked before any model is loaded."""
        for gate, limit in (("max-drop", self.max_drop), ("min-gain", self.min_gain)):
            if limit is not None and not isinstance(data, Corpus):
                raise InputError(
                    f"--{gate} needs gold entities, and {data.source} has texts only; give an annotated corpus, or use "
                    "--min-agreement"
                )

    def require_types(self, types: Types) -> None:
        """Refuse data in which no type of the old version is annotated; asked before any text is tagged."""
        if not types.old and not (self.max_drop is None and self.min_agreement is None):
            raise InputError("the old version knows no type, so a gate has nothing to measure")
        if self.max_drop is not None and not types.kept:
            known, there = (", ".join(some[:8]) or "none" for some in (types.old, types.annotated or ()))
            raise InputError(
                f"--max-drop needs gold entities of a type the old version knows ({known}); the data annotate {there}"
            )

        if self.min_gain is not None and not types.learned:
            gained, there = (", ".join(some[:8]) or "none" for some in (types.gained, types.annotated or ()))
            raise InputError(
                f"--min-gain needs gold entities of a type only the new version knows ({gained}); the data annotate "
                f"{there}"
            )

    def outcomes(self, difference: Difference) -> list[Outcome]:
        """Ask every gate that is set."""
        asked = []
        if self.max_drop is not None:
            asked.append(_dropped(difference, self.max_drop))
        if self.min_agreement is not None:
            asked.append(_apart(difference, self.min_agreement))
        if self.min_gain is not None:
            asked.append(_learned(difference, self.min_gain))
        return asked


def _learned(difference: Difference, limit: float) -> Outcome:
    judged = difference.judgement.gained if difference.judgement else {}
    broken = {
        type_: f"{type_}, which is new, is found with F1 {one.new.f1:.2f}"
        for type_, one in judged.items()
        if one.new.f1 < limit - TINY
    }
    unmeasured = tuple(type_ for type_ in difference.types.gained if type_ not in judged)
    return Outcome("min-gain", limit, broken, tuple(judged), unmeasured)


def _dropped(difference: Difference, limit: float) -> Outcome:
    judged = difference.judgement.kept if difference.judgement else {}
    broken = {
        type_: f"{type_} dropped by {one.drop:.2f} points of F1 ({one.old.f1:.2f} to {one.new.f1:.2f})"
        for type_, one in judged.items()
        if one.old and one.drop > limit + TINY
    }
    unmeasured = tuple(type_ for type_ in difference.types.old if type_ not in judged)
    return Outcome("max-drop", limit, broken, tuple(judged), unmeasured)


def _apart(difference: Difference, limit: float) -> Outcome:
    found = {type_: drift for type_, drift in difference.drifts.items() if drift.agreement is not None}
    if not found:
        raise InputError(
            "neither version finds an entity of an old type in these data, so --min-agreement has nothing to measure; "
            "give more texts"
        )
    asked = {ALL: difference.total, **found} if len(found) > 1 else found
    broken = {
        name: f"agreement on {name} is {drift.agreement:.2f} % ({drift.kept} of {entities(drift.old)} kept, now "
        f"{drift.new})"
        for name, drift in asked.items()
        if drift.agreement is not None and drift.agreement < limit - TINY
    }
    unmeasured = tuple(type_ for type_ in difference.drifts if type_ not in found)
    return Outcome("min-agreement", limit, broken, tuple(found), unmeasured)
