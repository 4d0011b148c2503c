"""What to try when an old type got worse or a gate said no: the decision of docs/which-method.md, as commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from retainer.plurals import amount
from retainer.report.compare.rows import worse_types

if TYPE_CHECKING:
    from retainer.comparison.compare import Difference
    from retainer.comparison.gates import GateOutcome
    from retainer.versions.lineage import Lineage
    from retainer.versions.version import Version

KEEPING_GATES = ("max-drop", "min-agreement")
"""Gates that a version fails by keeping too little of the old types."""

READ_FIRST = (
    "First read the lists of what was lost, moved or relabelled (--show 100): an entity that the old version found may "
    "have been wrong."
)
"""What agreement cannot tell: it takes every answer of the old version for right."""


def next_steps(
    difference: Difference, before: Version, after: Version, old: str, new: str, outcomes: Sequence[GateOutcome] = ()
) -> list[str]:
    """Return what to try, each with its command; nothing where no old type got worse beyond chance and no gate said no.

    The record of the new version says what was tried already.
    """
    record = after.lineage
    broken = {outcome.name: tuple(outcome.broken) for outcome in outcomes if not outcome.passed}
    keep = bool(worse_types(difference)) or not broken.keys().isdisjoint(KEEPING_GATES)
    gain = broken.get("min-gain", ())
    if not keep and not gain:
        return []
    if after.fingerprint in _fingerprints_before(before.lineage) - {before.fingerprint}:
        turned = shlex.join(["retainer", "compare", new, old, "DATA"])
        return [f"NEW ({new}) is an ancestor of OLD ({old}), so the arguments seem to be swapped: {turned}"]
    if record.parent and record.parent != before.fingerprint:
        log = shlex.join(["retainer", "log", new])
        return [f"Other versions lie between these: compare one by one to see which task did it ({log})."]
    steps = [
        *([READ_FIRST] if "min-agreement" in broken else ()),
        *(_to_keep_more(record, old, new) if keep else ()),
        *(_to_gain_more(gain, old) if gain else ()),
        *(_longer(record, old, new) if gain and not keep else ()),
    ]
    return [*steps, "Or let annotated data choose: retainer bench own --data ANNOTATED --quick --out quick-bench"]


def _fingerprints_before(record: Lineage) -> set[str]:
    """Return fingerprints of the versions that one comes from."""
    return {one["parent"] for one in (record.record, *record.ancestors)}


def _to_keep_more(record: Lineage, old: str, new: str) -> Iterator[str]:
    """Name what docs/which-method.md has next: ``retain``, then text for it, then another method."""
    yield f"To keep more of the old types (docs/which-method.md), try: {_learn(old, new, *_keeping(record))}"
    if record.fields.get("pseudo") == "prototype":
        yield f"Or {record.method} without prototypes, if learn --dry-run warns: --set.pseudo argmax"


def _keeping(record: Lineage) -> tuple[str, ...]:
    """Return the ending of the next folder and the flags; text teaches more than a change of the method does."""
    if record.method != "retain":
        return ("retain", "--method", "retain", "--text", "TEXTS")
    if "text" in record.data:
        return ("cpfd", "--method", "cpfd", "--text", "TEXTS")
    dev = () if record.data.get("dev_given") else ("--dev", "FILE")
    return ("text", "--method", "retain", "--text", "TEXTS", *dev)


def _to_gain_more(types: Sequence[str], old: str) -> Iterator[str]:
    """Ask for more data."""
    check = shlex.join(["retainer", "check", "DATA", "--model", old])
    yield f"To find more of {', '.join(types)}, annotate more, and look at what is odd in the data: {check}"


def _longer(record: Lineage, old: str, new: str) -> Iterator[str]:
    """Name more epochs, unless training had stopped early; they may cost old types, so only where none was lost."""
    made = len(record.scores.get("history", ()))
    if made and made == record.recipe.get("epochs"):
        longer = _learn(old, new, "longer", "--method", record.method, "--epochs", str(2 * made))
        yield f"Or train for more than {amount(made, 'epoch')}: {longer}"


def _learn(old: str, new: str, ending: str, *flags: str) -> str:
    """Return the call that makes another version beside the new one."""
    out = Path(new).with_name(f"{Path(new).name}-{ending}")
    return shlex.join(["retainer", "learn", "DATA", "--from", old, "--out", str(out), *flags])
