"""Which texts are worth looking at next, and why: where a decision teaches most.

Only texts without a decision are looked at, and of many only some, drawn by their hash: a project may have 50,000, and
nobody waits for as many predictions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from retainer.comparison.changes import Change, changes
from retainer.data.spans import Span
from retainer.errors import shortened
from retainer.workbench.texts import StoredText

SAMPLE = 200
"""Texts among which the next ones are chosen."""
FEW_EXAMPLES = 20
"""A type with fewer entities in texts with a decision has few examples."""
SURE = 0.9
"""A version is sure of an entity with at least this score."""
_QUOTED = 60
_DIFFERENCE, _UNSURE, _RARE = 1.0, 0.8, 0.6
"""What each reason weighs at most; several add up."""

FoundEntities = Mapping[Span, float]
"""What a version finds in a text, in characters, with its scores."""


@dataclass(frozen=True)
class Candidate:
    """A text without a decision, and what versions find in it."""

    text: StoredText
    found: FoundEntities
    """By the version in use."""
    before: FoundEntities | None = None
    """By the version it was made from, if there is one."""


@dataclass(frozen=True)
class NextText:
    """A text to look at, how much it is worth and why."""

    text: StoredText
    worth: float
    why: str


@dataclass(frozen=True)
class VersionNames:
    """What the two versions are called that looked."""

    in_use: str
    before: str = ""


def order_by_worth(candidates: Sequence[Candidate], examples: Mapping[str, int], names: VersionNames) -> list[NextText]:
    """Put texts into the order in which they are worth looking at; among equals they keep theirs."""
    judged = [_judged(one, examples, names) for one in candidates]
    return sorted(judged, key=lambda one: -one.worth)


def unseen(text: StoredText) -> NextText:
    """Return a text of which no version says anything: one is as good as another."""
    return NextText(text, 0.0, "No version has looked at it yet: any text is a good start.")


def _judged(one: Candidate, examples: Mapping[str, int], names: VersionNames) -> NextText:
    reasons = [_difference(one, names), _doubt(one, names), _rarity(one, examples)]
    worth = sum(weight for weight, _ in reasons)
    _, why = max(reasons, key=lambda reason: reason[0])
    return NextText(one.text, worth, why or _nothing(one, names))


def _difference(one: Candidate, names: VersionNames) -> tuple[float, str]:
    """Weigh where the version in use and the one before differ."""
    if one.before is None:
        return 0.0, ""
    found = [change for change in changes(one.before, one.found) if change.kind != "kept"]
    if not found:
        return 0.0, ""
    return _DIFFERENCE * (1 - 0.5 ** len(found)), _told(found[0], one.text.text, names)


def _told(change: Change, text: str, names: VersionNames) -> str:
    old, new = change.old, change.new
    if old is None and new is not None:
        return f"{names.in_use} finds {_quoted(text, new)} ({new.type}), {names.before} did not."
    if new is None and old is not None:
        return f"{names.before} found {_quoted(text, old)} ({old.type}), {names.in_use} does not."
    assert old is not None and new is not None
    if change.kind == "relabelled":
        return f"{_quoted(text, new)} is {new.type} for {names.in_use} and was {old.type} for {names.before}."
    return f"{names.in_use} finds {_quoted(text, new)} ({new.type}) where {names.before} found {_quoted(text, old)}."


def _doubt(one: Candidate, names: VersionNames) -> tuple[float, str]:
    """Weigh how unsure the version in use is of what it finds."""
    unsure = {span: score for span, score in one.found.items() if score < SURE}
    if not unsure:
        return 0.0, ""
    span = min(unsure, key=lambda span: unsure[span])
    why = f"{names.in_use} is not sure of {_quoted(one.text.text, span)} ({span.type}, {unsure[span]:.2f})."
    return _UNSURE * (1 - unsure[span]), why


def _rarity(one: Candidate, examples: Mapping[str, int]) -> tuple[float, str]:
    """Weigh types of which there are few examples yet."""
    rare = [span for span in one.found if examples.get(span.type, 0) < FEW_EXAMPLES]
    if not rare:
        return 0.0, ""
    span = min(rare, key=lambda span: examples.get(span.type, 0))
    count = examples.get(span.type, 0)
    why = f"{span.type} has few examples yet ({count}), and {_quoted(one.text.text, span)} may be one."
    return _RARE * (1 - count / FEW_EXAMPLES), why


def _nothing(one: Candidate, names: VersionNames) -> str:
    if one.found:
        return f"{names.in_use} is sure of what it finds here; drawn at random."
    return f"{names.in_use} finds nothing here: look whether it misses something."


def _quoted(text: str, span: Span) -> str:
    return f"\u201c{shortened(' '.join(text[span.start : span.end].split()), _QUOTED)}\u201d"
