"""Which method to use, in words, from a bench of few runs. Chosen by dev scores, reported with test scores."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from retainer.report.bench.ranking import Ranking
from retainer.report.bench.rows import MethodRow

_NEAR = 1.0
"""A difference of fewer points of macro F1 decides nothing, however many runs there are."""
_CHEAPER = 0.8
"""The share of the best method's time below which another one is preferred, if their F1 cannot be distinguished."""
_FEW_ENTITIES = 200
"""A test part with fewer entities than this says little."""

_ScoresBySeed = Mapping[int, float]


def advice(ranking: Ranking) -> list[str]:
    """Recommend a method for a setting: what it keeps and gains, what others would change, and how sure that is."""
    rivals = [row for row in ranking.rows if not row.joint]
    if not rivals:
        return ["Only an upper bound was measured, which needs all data; there is nothing to choose from."]
    dev = {row.name: _dev(row) for row in rivals}
    best = max(rivals, key=lambda row: statistics.fmean(dev[row.name].values()))
    near = [row for row in rivals if not _clearly(dev[best.name], dev[row.name])]
    cheap = [row for row in near if (row.seconds or 0.0) < _CHEAPER * (best.seconds or 0.0)]
    chosen = min(cheap, key=lambda row: row.seconds or 0.0, default=best)
    return [f"Use {chosen.name}. {_worth(chosen)}", *_others(chosen, best, rivals), *_doubts(chosen)]


def _dev(row: MethodRow) -> _ScoresBySeed:
    """Return macro F1 on the dev set by seed; of cells without one, on the test set."""
    return {
        seed: statistics.fmean(task.dev["macro"] if task.dev else task.macro for task in cell.tasks)
        for seed, cell in row.by_seed.items()
    }


def _clearly(best: _ScoresBySeed, other: _ScoresBySeed) -> bool:
    """Return whether a method is behind the best by more than two standard errors, and by more than a point."""
    apart = [best[seed] - other[seed] for seed in best.keys() & other.keys()]
    if not apart:
        return statistics.fmean(best.values()) - statistics.fmean(other.values()) > _NEAR
    error = statistics.stdev(apart) / len(apart) ** 0.5 if len(apart) > 1 else 0.0
    return statistics.fmean(apart) > max(_NEAR, 2 * error)


def _worth(row: MethodRow) -> str:
    old, new, before = row.last("old_macro"), row.last("new_macro"), row.by_task("macro")[0]
    if old is None or new is None or before is None:
        return ""
    return f"After it the old types have macro F1 {old:.1f} ({before:.1f} before), the new ones {new:.1f}."


def _others(chosen: MethodRow, best: MethodRow, rivals: Sequence[MethodRow]) -> list[str]:
    lines = []
    if best is not chosen:
        cost = f"takes {_times(best, chosen)} the time"
        lines.append(f"{best.name} is best on the dev part, but not by more than chance, and {cost}.")
    lost = next((row for row in rivals if row.method == "finetune" and row is not chosen), None)
    if lost is not None and (old := lost.last("old_macro")) is not None:
        lines.append(f"After plain fine-tuning the old types would have {old:.1f}.")
    return lines


def _doubts(row: MethodRow) -> list[str]:
    """Name what makes the recommendation a weak one."""
    doubts = []
    if len(row.cells) == 1:
        doubts.append(
            "one run each cannot distinguish a difference of several points from chance (--seeds 1,2,3 is better)"
        )
    entities = sum(scores["support"] for scores in row.cells[0].tasks[-1].per_type.values())
    if entities < _FEW_ENTITIES:
        doubts.append(f"the test part has only {entities:.0f} entities")
    return [f"Take this with care: {' and '.join(doubts)}."] if doubts else []


def _times(row: MethodRow, other: MethodRow) -> str:
    return f"{row.seconds / other.seconds:.1f} times" if row.seconds and other.seconds else "about"
