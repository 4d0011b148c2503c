"""Which method to take, in words, from a bench of few runs."""

from __future__ import annotations

from retainer.report.ranking import Ranking
from retainer.report.rows import Row

NEAR = 1.0
"""Points of macro F1 that one run cannot tell apart: among methods this close, the quickest is taken."""


def advice(ranking: Ranking) -> list[str]:
    """Recommend a method for a setting, say what it keeps and gains, and what the others would change."""
    rivals = [row for row in ranking.rows if not row.joint]
    if not rivals:
        return ["Only joint training was measured, which needs all data; there is nothing to choose from."]
    best = max(rivals, key=lambda row: row.mean("macro"))
    near = [row for row in rivals if best.mean("macro") - row.mean("macro") <= NEAR]
    chosen = min(near, key=lambda row: row.seconds or 0.0)
    return [f"Use {chosen.name}. {_worth(chosen)}", *_others(chosen, best, rivals)]


def _worth(row: Row) -> str:
    old, new = row.last("old_macro"), row.last("new_macro")
    before = row.by_task("macro")[0]
    if old is None or new is None or before is None:
        return ""
    return f"After it the old types have macro F1 {old:.1f} ({before:.1f} before), the new ones {new:.1f}."


def _others(chosen: Row, best: Row, rivals: list[Row]) -> list[str]:
    lines = []
    if best is not chosen:
        more = best.mean("macro") - chosen.mean("macro")
        lines.append(
            f"{best.name} has {more:.1f} points more, which {_runs(best)} cannot tell from chance, and takes "
            f"{_times(best, chosen)} the time."
        )
    lost = next((row for row in rivals if row.method == "finetune" and row is not chosen), None)
    if lost is not None and (old := lost.last("old_macro")) is not None:
        lines.append(f"After plain fine-tuning the old types would have {old:.1f}.")
    return lines


def _runs(row: Row) -> str:
    return "one run" if len(row.cells) == 1 else f"{len(row.cells)} runs"


def _times(row: Row, other: Row) -> str:
    return f"{row.seconds / other.seconds:.1f} times" if row.seconds and other.seconds else "about"
