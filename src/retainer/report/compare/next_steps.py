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

RECOMMENDED = ("retain", "cpfd")
"""What kept most of the old types where it was measured, the first one first."""


KEEPING_GATES = ("max-drop", "min-agreement")
"""Gates that a version fails by keeping too little of the old types."""


def next_steps(
    difference: Difference, before: Version, record: Lineage, old: str, new: str, outcomes: Sequence[GateOutcome] = ()
) -> list[str]:
    """Return what to try, each with its command; nothing where no old type got worse beyond chance and no gate said no.

    ``record`` is that of the new version: it says what was tried already.
    """
    broken = {outcome.name: tuple(outcome.broken) for outcome in outcomes if not outcome.passed}
    keep = bool(worse_types(difference)) or not broken.keys().isdisjoint(KEEPING_GATES)
    gain = broken.get("min-gain", ())
    if not keep and not gain:
        return []
    if record.parent and record.parent != before.fingerprint:
        log = shlex.join(["retainer", "log", new])
        return [f"Other versions lie between these: compare one by one to see which task did it ({log})."]
    steps = [
        *(_to_keep_more(record, old, new) if keep else ()),
        *(_to_gain_more(gain, record, old, new) if gain else ()),
    ]
    return [*steps, "Or let annotated data choose: retainer bench own --data ANNOTATED --quick --out quick-bench"]


def _to_keep_more(record: Lineage, old: str, new: str) -> Iterator[str]:
    """Name another method, and text if there was none."""
    method = next(one for one in RECOMMENDED if one != record.method)
    text = [] if "text" in record.data else ["--text", "TEXTS"]
    call = _learn(old, new, method, "--method", method, *text)
    yield f"To keep more of the old types (docs/which-method.md), try: {call}"
    if record.fields.get("pseudo") == "prototype":
        yield f"Or {record.method} without prototypes, if learn --dry-run warns: --set.pseudo argmax"


def _to_gain_more(types: Sequence[str], record: Lineage, old: str, new: str) -> Iterator[str]:
    """Ask for more data, and for more epochs unless training had stopped before they were made."""
    check = shlex.join(["retainer", "check", "DATA", "--model", old])
    yield f"To find more of {', '.join(types)}, annotate more, and look at what is odd in the data: {check}"
    made = len(record.scores.get("history", ()))
    if made and made == record.recipe.get("epochs"):
        longer = _learn(old, new, "longer", "--method", record.method, "--epochs", str(2 * made))
        yield f"Or train for more than {amount(made, 'epoch')}: {longer}"


def _learn(old: str, new: str, ending: str, *flags: str) -> str:
    """Return the call that makes another version beside the new one."""
    out = Path(new).with_name(f"{Path(new).name}-{ending}")
    return shlex.join(["retainer", "learn", "DATA", "--from", old, "--out", str(out), *flags])
