"""Two versions side by side, as the rows and words that the terminal and the page share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from markupsafe import Markup

from retainer.decimals import decimals, with_sign
from retainer.metrics.significance import SIGNIFICANCE_LEVEL

if TYPE_CHECKING:
    from retainer.comparison.agreement import TypeAgreement
    from retainer.comparison.changes import Case, Change
    from retainer.comparison.compare import Difference
    from retainer.comparison.scored import TypeComparison
    from retainer.metrics.f1 import Score
    from retainer.metrics.significance import Bootstrap

SCORE_COLUMNS = {
    "gold": "how many entities are annotated",
    "old P": "precision of the old version",
    "old R": "its recall",
    "old F1": "its F1",
    "new P": "precision of the new version",
    "new R": "its recall",
    "new F1": "its F1",
    "difference": "F1 of the new version minus that of the old one; * is more than chance gives (p below 0.05 after "
    "Holm’s correction for the number of types)",
    "95 %": "the middle 95 % of that difference on test sets drawn from these sentences, the same for both versions",
}
AGREEMENT_COLUMNS = {
    "old": "how many entities the old version finds",
    "new": "how many the new version finds",
    "agreement": "F1 of the new version with the old one’s entities as gold",
    "95 %": "the middle 95 % of that on texts drawn from these",
    "kept": "entities both find: same words, same type",
    "moved": "the same type, other boundaries",
    "relabelled": "another type on the same words, or on some of them",
    "lost": "the new version finds nothing there",
    "drift": "silent drift: the share of the old version’s entities that are moved, relabelled or lost",
    "gained": "found where the old version found nothing",
    "taken": "found where the old version found another type",
}
CHANGE_GROUPS = ("lost", "relabelled", "moved", "gained, of old types", "gained, of new types", "kept")
"""How changes are listed: what may be wrong first, what is expected last."""

_AROUND = 60
"""Characters shown on each side of an entity."""


def score_rows(difference: Difference) -> list[tuple[str, tuple[str, ...]]]:
    """Lay out precision, recall and F1 before and after: the kept types, then the gained ones."""
    scored = difference.scored
    if scored is None:
        return []
    return [(type_, _scores(one)) for some in (scored.kept, scored.gained) for type_, one in some.items()]


def _scores(one: TypeComparison) -> tuple[str, ...]:
    apart = one.differences and one.differences["f1"]
    star = " *" if one.real else ""
    ends = (f"{with_sign(apart.difference)}{star}", interval_text(apart)) if apart else ("new", "")
    return (str(one.new.support), *_measures(one.old), *_measures(one.new), *ends)


def _measures(score: Score | None) -> tuple[str, str, str]:
    if score is None:
        return ("–", "–", "–")
    return f"{score.precision:.2f}", f"{score.recall:.2f}", f"{score.f1:.2f}"


def mean_rows(difference: Difference) -> list[tuple[str, str, str, str]]:
    """Lay out keep, forget and gain: a name, what it means, the number and its interval."""
    scored = difference.scored
    if scored is None:
        return []
    rows = []
    if scored.keep is not None and scored.forgotten is not None:
        lost = scored.forgotten
        rows.append(("keep", "macro F1 of the new version on the old types", f"{scored.keep:.2f}", ""))
        rows.append(
            ("forget", f"what is missing of {scored.before:.2f}", decimals(lost.difference), interval_text(lost))
        )
    if scored.gain is not None:
        rows.append(("gain", "macro F1 of the new version on the new types", f"{scored.gain:.2f}", ""))
    return rows


def agreement_rows(difference: Difference) -> list[tuple[str, tuple[str, ...]]]:
    """Lay out what became of the old version's entities, type by type and together."""
    rows = dict(difference.agreements)
    lines = [(type_, _agreement(one)) for type_, one in rows.items()]
    return [*lines, ("all old types", _agreement(difference.total))] if len(lines) > 1 else lines


def _agreement(one: TypeAgreement) -> tuple[str, ...]:
    between = "" if one.low is None or one.high is None else f"{one.low:.1f} to {one.high:.1f}"
    return (
        str(one.old),
        str(one.new),
        percent(one.agreement),
        between,
        *(str(number) for number in (one.kept, one.moved, one.relabelled, one.lost)),
        percent(one.silent_drift),
        str(one.gained),
        str(one.taken),
    )


def interval_text(one: Bootstrap) -> str:
    """Write an interval."""
    return f"{with_sign(one.low)} to {with_sign(one.high)}"


def percent(value: float | None) -> str:
    """Write a share; a missing one as a dash."""
    return "–" if value is None else f"{value:.1f} %"


# --------------------------------------------------------------------------------------------------------------- words


def comparison_finding(difference: Difference, old: str, new: str) -> Markup:
    """Report in one sentence how the new version does."""
    scored, agreement = difference.scored, difference.agreement
    if not _apart(difference):
        never = [type_ for type_, number in difference.found_of_gained_types.items() if not number]
        found = Markup(" {} never finds {}, although it has the type.").format(new, ", ".join(never)) if never else ""
        return Markup("{} and {} find the same entities.").format(old, new) + found
    if scored is not None and scored.keep is not None:
        one = len(difference.types.kept) == 1
        sentence = Markup("{} keeps <b>{:.1f}</b> of {:.1f} F1 on the old type{}").format(
            new, scored.keep, scored.before, "" if one else "s"
        )
        if scored.gain is None:
            return sentence + "."
        return sentence + Markup(" and reaches <b>{:.1f}</b> on the new {}.").format(
            scored.gain, "one" if len(difference.types.learned) == 1 else "ones"
        )
    if agreement is None:
        return Markup("Neither version finds an entity of an old type here.")
    return Markup("{} agrees with {} to <b>{}</b> on the old types.").format(new, old, percent(agreement))


def _apart(difference: Difference) -> int:
    return sum(number for kind, number in difference.kinds.items() if kind != "kept")


def comparison_remarks(difference: Difference) -> list[str]:
    """Report what else matters: which changes are real, what became of the old entities, what is new."""
    remarks = [*_certainty(difference), *_fates(difference.total)]
    if found := {type_: number for type_, number in difference.found_of_gained_types.items() if number}:
        named = ", ".join(f"{number} {type_}" for type_, number in found.items())
        remarks.append(f"Entities of types only the new version knows: {named}.")
    return remarks


def worse_types(difference: Difference) -> dict[str, float]:
    """Return the old types whose F1 fell by more than chance explains, and by how many points."""
    kept = {} if difference.scored is None else difference.scored.kept
    return {type_: one.drop for type_, one in kept.items() if one.real and one.drop > 0}


def _certainty(difference: Difference) -> Iterator[str]:
    if difference.scored is None or not difference.scored.kept:
        return
    kept = difference.scored.kept
    worse = [f"{type_} ({with_sign(-drop)})" for type_, drop in worse_types(difference).items()]
    better = [f"{type_} ({with_sign(-one.drop)})" for type_, one in kept.items() if one.real and one.drop < 0]
    verdict = f"Worse beyond chance: {', '.join(worse)}" if worse else "No old type got worse beyond chance"
    yield f"{verdict}{_corrected(kept)}."
    lost = difference.scored.forgotten
    if lost and not worse and len(kept) > 1 and lost.difference > 0 and lost.p < SIGNIFICANCE_LEVEL:
        yield f"Their mean F1 fell beyond chance, by {decimals(lost.difference)} ({interval_text(lost)})."
    if better:
        yield f"Better beyond chance: {', '.join(better)}."


def _corrected(kept: Mapping[str, TypeComparison]) -> str:
    """Explain where an interval leaves out zero and the verdict does not follow it: it is about all types at once."""
    near = [
        type_
        for type_, one in kept.items()
        if one.drop > 0 and not one.real and one.differences and one.differences["f1"].p < SIGNIFICANCE_LEVEL
    ]
    if not near:
        return ""
    whose = f"interval of {near[0]} leaves" if len(near) == 1 else f"intervals of {', '.join(near)} leave"
    return f" (the {whose} out zero, but the test corrects for comparing {len(kept)} types at once)"


def _fates(total: TypeAgreement) -> Iterator[str]:
    if total.old:
        kept = f"{total.kept} {'is' if total.kept == 1 else 'are'} kept"
        fates = f"{kept}, {total.moved} moved, {total.relabelled} relabelled and {total.lost} lost"
        more = f"; the new version finds {total.gained} of these types elsewhere" if total.gained else ""
        what = "entity" if total.old == 1 else "entities"
        yield f"Of {total.old} {what} the old version finds, {fates}{more}."


def change_group(change: Change, old_types: Iterable[str]) -> str:
    """Return the list a change belongs to."""
    if change.kind != "gained" or change.new is None:
        return change.kind
    return f"gained, of {'old' if change.new.type in old_types else 'new'} types"


def group_sizes(difference: Difference) -> Mapping[str, int]:
    """Count the changes of every list."""
    kinds, old = difference.kinds, difference.total.gained
    gained = dict(zip(CHANGE_GROUPS[3:5], (old, kinds["gained"] - old), strict=True))
    return {name: gained.get(name, kinds.get(name, 0)) for name in CHANGE_GROUPS}


def change_label(case: Case, change: Change) -> str:
    """Name the type of a change: both where it was relabelled, and the words where they changed."""
    if change.kind == "moved" and change.old and change.new:
        old, new = (case.text[one.start : one.end] for one in (change.old, change.new))
        return f"{change.old.type} ({old} → {new})"
    return " → ".join(change.types)


def excerpt(case: Case, change: Change) -> tuple[str, str, str]:
    """Return the entity and a little text on both sides of it."""
    start, end = change.place
    left, right = max(0, start - _AROUND), min(len(case.text), end + _AROUND)
    before, after = case.text[left:start], case.text[end:right]
    return ("…" if left else "") + before, case.text[start:end], after + ("…" if right < len(case.text) else "")


def compared_amount(difference: Difference) -> str:
    """Write how much was compared."""
    unit = "text" if difference.types.annotated is None else "sentence"
    return f"{difference.texts:,} {unit}{'' if difference.texts == 1 else 's'}"
