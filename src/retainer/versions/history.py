"""The versions a version comes from, and what became of its types on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from retainer.decimals import with_sign
from retainer.versions.lineage import Lineage

RecordedScores = Mapping[str, float]
"""Precision, recall, F1 and support of a type, as a record holds them."""

NewNames = Mapping[str, Sequence[str]]
"""The new names of some types, by old name: one (rename, merge), none (drop), or several (split)."""


def versions_of(lineage: Lineage) -> list[Lineage]:
    """Return the records of all versions up to this one, oldest first."""
    return [*(Lineage.of(record) for record in lineage.ancestors), lineage]


def short_hash(hash_: str) -> str:
    """Return as much of a hash as a reader needs."""
    return hash_[:12]


@dataclass(frozen=True)
class Origin:
    """Where a type comes from, and how well it is known to be found."""

    version: int
    """The version that brought it, from 1; 0 if it was there before the chain begins."""
    then: RecordedScores | None = None
    """Its scores on the dev set of the task that taught it, or on what was set aside."""
    then_aside: bool = False
    """Whether those were sentences that `learn` set aside itself, and not a dev file."""
    now: RecordedScores | None = None
    """Its scores in the present version; None if they were not measured after the last training."""
    now_aside: bool = False
    """Whether those were sentences that `learn` set aside itself, and not a dev file."""
    before: RecordedScores | None = None
    """Its scores on the same dev set before the last task."""
    fate: Mapping[str, Any] | None = None
    """What became in the last task of the entities of this type that the previous version found in the dev set."""
    story: str = ""
    """What was done to it, in words."""


def origins(lineage: Lineage) -> dict[str, Origin]:
    """Follow every type of a version back to where it was learned, through all its names."""
    chain = versions_of(lineage)
    begin = chain[0].change["types"] if chain[0].change else [t for task in chain[0].tasks[:-1] for t in task]
    known = {type_: Origin(0) for type_ in begin}
    for number, one in enumerate(chain, 1):
        if one.change:
            known = _changed(known, one.change["verb"], one.change["became"])
        else:
            known = _learned(known, number, one)
    return known


def is_set_aside(one: Lineage) -> bool:
    """Return whether a version was measured on sentences that `learn` set aside, and not on a dev file.

    They are few and come from the data it learned from, so a score on them is worth less.
    """
    return one.data.get("dev_given") is False


def learned_last(lineage: Lineage) -> Lineage | None:
    """Return the last record of a chain in which anything was trained."""
    return next((one for one in reversed(versions_of(lineage)) if not one.change), None)


def _learned(known: Mapping[str, Origin], number: int, one: Lineage) -> dict[str, Origin]:
    """Add what a task brought; earlier scores of older types no longer hold."""
    now, before = one.scores.get("per_type", {}), one.scores.get("before", {})
    fates = one.scores.get("balance", {}).get("old", {})
    aside = is_set_aside(one)
    new = {type_: Origin(number, now.get(type_), aside, now.get(type_), aside) for type_ in one.tasks[-1]}
    old = {
        type_: replace(origin, now=now.get(type_), now_aside=aside, before=before.get(type_), fate=fates.get(type_))
        for type_, origin in known.items()
        if type_ not in new
    }
    return {**old, **new}


def _changed(known: Mapping[str, Origin], verb: str, new_names: NewNames) -> dict[str, Origin]:
    """Carry the origins over to the new names; a type made of several, or of a part of one, was never measured."""
    changed: dict[str, Origin] = {}
    for type_, origin in known.items():
        for name in new_names.get(type_, [type_]):
            if type_ not in new_names:
                changed[name] = origin
            elif verb == "rename":
                changed[name] = replace(origin, story=f"called {type_} before")
            elif verb == "merge":
                changed.setdefault(name, Origin(origin.version, story=f"made of {', '.join(new_names)}"))
            else:
                changed[name] = Origin(origin.version, story=f"split off {type_}")
    return changed


def describe_task(one: Lineage) -> str:
    """Say in words what a task taught."""
    parts = [", ".join(one.tasks[-1]) if one.tasks else "", f"more of {', '.join(one.again)}" if one.again else ""]
    return "learned " + " and ".join(part for part in parts if part)


NO_GAIN = "none gains more than chance"
"""What is said of corrections that were looked for and not taken: each had to gain more than its standard error."""


def describe_prior(offsets: Mapping[str, float], blend: float = 0.0) -> str:
    """Say in words how the prior was corrected and the weights blended; nothing where no correction was asked for."""
    moved = [f"{type_} {with_sign(offset)}" for type_, offset in offsets.items() if offset]
    back = [f"encoder {blend:.0%} of the way back to its parent"] if blend else []
    return ", ".join(moved + back) or (NO_GAIN if offsets else "")


def describe_version(one: Lineage) -> str:
    """Say in words what made a version of the previous one."""
    return describe_change(one.change) if one.change else describe_task(one)


def describe_change(change: Mapping[str, Any]) -> str:
    """Say in words what was done to the types."""
    verb, new_names = change["verb"], change["became"]
    if verb == "drop":
        return f"dropped {', '.join(new_names)}"
    if verb == "merge":
        return f"merged {', '.join(new_names)} into {next(iter(new_names.values()))[0]}"
    if verb == "split":
        return "; ".join(f"split {type_} into {', '.join(names)}" for type_, names in new_names.items())
    return "renamed " + ", ".join(f"{type_} to {names[0]}" for type_, names in new_names.items())
