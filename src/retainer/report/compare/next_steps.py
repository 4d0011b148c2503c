"""What to try when an old type got worse: the decision of docs/which-method.md, as commands."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from retainer.report.compare.rows import worse_types

if TYPE_CHECKING:
    from retainer.comparison.compare import Difference
    from retainer.versions.lineage import Lineage
    from retainer.versions.version import Version

RECOMMENDED = ("retain", "cpfd")
"""What kept most of the old types where it was measured, the first one first."""


def next_steps(difference: Difference, before: Version, record: Lineage, old: str, new: str) -> list[str]:
    """Return what to try, each with its command; nothing where no old type got worse beyond chance.

    ``record`` is that of the new version: it says what was tried already.
    """
    if not worse_types(difference):
        return []
    if record.parent and record.parent != before.fingerprint:
        log = shlex.join(["retainer", "log", new])
        return [f"Other versions lie between these: compare one by one to see which task did it ({log})."]
    method = next(one for one in RECOMMENDED if one != record.method)
    out = Path(new).with_name(f"{Path(new).name}-{method}")
    call = ["retainer", "learn", "DATA", "--from", old, "--out", str(out), "--method", method]
    text = [] if "text" in record.data else ["--text", "TEXTS"]
    steps = [f"To keep more of the old types (docs/which-method.md), try: {shlex.join([*call, *text])}"]
    if record.fields.get("pseudo") == "prototype":
        steps.append(f"Or {record.method} without prototypes, if learn --dry-run warns: --set.pseudo argmax")
    return [*steps, "Or let annotated data choose: retainer bench own --data ANNOTATED --quick --out quick-bench"]
