"""What a task did to a model, in one sentence: shares where there are entities enough for one, else plain counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from retainer.decimals import decimals
from retainer.metrics.few import FEW_ENTITIES, LEAST_ENTITIES_NAMED, is_few
from retainer.plurals import entities, sentences

TRAINING_PLACE = "it learned from"
"""Where the sentences come from if nothing could be set aside; what a model finds there, it was taught."""

SHARE_TO_WARN = 200 / 3
"""A type of which a smaller share was kept, in percent, is a type that was mostly forgotten."""

SLIGHT_DROP = 0.05
"""A drop by fewer points of F1 is not reported."""

Effect = Mapping[str, Any]
"""What a record says of a task, or of one type in it."""


def effect_in_words(effect: Effect) -> str:
    """Report in one sentence what was kept, gained and forgotten."""
    retaught = effect["again"]
    parts = [
        _kept(effect),
        *_learned(effect),
        f"learned more of {', '.join(_more(type_, effect['old'][type_]) for type_ in retaught)}" if retaught else "",
        _forgot(effect["old"], trained_on=effect["place"] == TRAINING_PLACE),
        _warning(effect["old"]),
        _never(effect),
        _caution(effect),
    ]
    return "; ".join(part for part in parts if part)


def to_keep(fate: Effect) -> int:
    """Count the entities whose loss would be one."""
    return int(fate["found"] - fate["given"] - fate["corrected"])


def _kept(effect: Effect) -> str:
    if not effect["old"]:
        return ""
    total, where = effect["all"], f"{sentences(effect['sentences'])} {effect['place']}"
    gave = f", gave {total['given']} to new types" if total["given"] else ""
    there = to_keep(total)
    if not there:
        return f"the previous version found nothing to keep in {where}{gave}"
    if is_few(there):
        return f"kept {total['kept']} of {entities(there)} that the previous version found in {where}{gave}"
    found = f"{total['kept']} of {entities(there)} in {where}"
    return f"kept {total['share']:.1f} % of what the previous version found ({found}){_least(effect)}{gave}"


def _least(effect: Effect) -> str:
    """Name the type of which the smallest share was kept, among those with enough entities to name one."""
    shares = {type_: one["share"] for type_, one in effect["old"].items() if to_keep(one) >= LEAST_ENTITIES_NAMED}
    worst = min(shares, key=lambda type_: shares[type_], default=None)
    if worst is None or shares[worst] >= effect["all"]["share"]:
        return ""
    one = effect["old"][worst]
    share = f"{one['kept']} of {to_keep(one)}" if is_few(to_keep(one)) else f"{one['share']:.1f} %"
    return f", least of {worst} ({share})"


def _learned(effect: Effect) -> Iterator[str]:
    """Report how well the new types are found: by F1, or by counts where it would be made of a handful."""
    trained_on = effect["place"] == TRAINING_PLACE
    many = {type_: one for type_, one in effect["new"].items() if not is_few(one["support"])}
    few = {type_: one for type_, one in effect["new"].items() if type_ not in many}
    if many:
        scores = ", ".join(f"{type_} {_at(one['f1'])}" for type_, one in many.items())
        yield f"learned {scores}{' on the training sentences' if trained_on else ''}"
    if few:
        counts = ", ".join(f"{one['correct']} of {one['support']} {type_}{_wrong(one)}" for type_, one in few.items())
        yield f"found {counts}{' in the training sentences' if trained_on else ''}"


def _wrong(one: Effect) -> str:
    wrong = one["found"] - one["correct"]
    return f" (and {wrong} not annotated)" if wrong else ""


def _at(f1: float | None) -> str:
    return "(not annotated there)" if f1 is None else f"at F1 {f1:.1f}"


def _more(type_: str, one: Effect) -> str:
    if one["before"] is None:
        return f"{type_} {_at(None)}"
    change = _counts(one) if is_few(one["support"]) else f"F1 {one['before']:.1f} to {one['after']:.1f}"
    return f"{type_} ({change})"


def _counts(one: Effect) -> str:
    return f"found {one['correct_after']} of {one['support']}, {one['correct_before']} before"


def _forgot(old: Mapping[str, Effect], trained_on: bool) -> str:
    """Name the old types whose F1 fell, as far as they are annotated; of few entities, those that are found less.

    What a version finds in sentences it learned from never shows that nothing was forgotten.
    """
    falls = {type_: fall for type_, one in old.items() if one["before"] is not None and (fall := _fall(one))}
    if falls:
        return f"forgot: {', '.join(f'{type_} {fall}' for type_, fall in falls.items())}"
    known = bool(old) and not trained_on and all(one["support"] >= FEW_ENTITIES for one in old.values())
    return "forgot nothing" if known else ""


def _fall(one: Effect) -> str:
    if is_few(one["support"]):
        return f"({_counts(one)})" if one["correct_after"] < one["correct_before"] else ""
    change = one["after"] - one["before"]
    return decimals(change, 1) if change < -SLIGHT_DROP else ""


def _warning(old: Mapping[str, Effect]) -> str:
    """Name the old types that hardly survived: a mean over all types hides them."""
    few = [type_ for type_, one in old.items() if to_keep(one) >= FEW_ENTITIES and one["share"] < SHARE_TO_WARN]
    if not few:
        return ""
    return f"warning, keeps little of {', '.join(few)}: --text, --exemplars, a dev file or another method keep more"


def _never(effect: Effect) -> str:
    """Name the new types that are never found: a version that has learned nothing must not look like one that has."""
    never = [type_ for type_, one in effect["new"].items() if not one["found"] and one["support"] >= FEW_ENTITIES]
    return f"never finds {', '.join(never)}: more data, more epochs or another method" if never else ""


def _caution(effect: Effect) -> str:
    """Say what small counts and training sentences are worth, and what tells more; a first version is not compared."""
    verb = "compare" if effect["old"] else "evaluate"
    check = f"check with retainer {verb} on annotated data"
    if effect["place"] == TRAINING_PLACE:
        return f"these sentences were learned from, so they say little: {check}"
    counted = [to_keep(effect["all"]), *(one["support"] for one in (*effect["new"].values(), *effect["old"].values()))]
    return f"counts below {FEW_ENTITIES} say little: {check}" if any(map(is_few, counted)) else ""
