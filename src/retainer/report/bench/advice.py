"""Which method to take, in words, from a bench of few runs. Chosen on dev scores, told with test scores."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from retainer.report.bench.ranking import Ranking
from retainer.report.bench.rows import Row

NEAR = 1.0
"""Points of macro F1 nobody should choose by, however many runs there are."""
CHEAPER = 0.8
"""The share of the best method's time below which another one, as good as far as anybody can tell, is worth taking."""
FEW = 200
"""A test part with fewer entities than this says little."""

Seeds = Mapping[int, float]


def advice(ranking: Ranking) -> list[str]:
    """Recommend a method for a setting, say what it keeps and gains, what others would change, and how sure that is."""
    rivals = [row for row in ranking.rows if not row.joint]
    if not rivals:
        return ["Only joint training was measured, which needs all data; there is nothing to choose from."]
    dev = {row.name: _dev(row) for row in rivals}
    best = max(rivals, key=lambda row: statistics.fmean(dev[row.name].values()))
    near = [row for row in rivals if not _clearly(dev[best.name], dev[row.name])]
    cheap = [row for row in near if (row.seconds or 0.0) < CHEAPER * (best.seconds or 0.0)]
    chosen = min(cheap, key=lambda row: row.seconds or 0.0, default=best)
    return [f"Use {chosen.name}. {_worth(chosen)}", *_others(chosen, best, rivals), *_doubts(chosen)]


def _dev(row: Row) -> Seeds:
    """Return macro F1 on the dev set by seed; of cells without one, on the test set."""
    return {
        seed: statistics.fmean((task.get("dev") or task)["macro"] for task in cell["tasks"])
        for seed, cell in row.by_seed.items()
    }


def _clearly(best: Seeds, other: Seeds) -> bool:
    """Say whether a method is behind the best by more than two standard errors, and by more than a point."""
    apart = [best[seed] - other[seed] for seed in best.keys() & other.keys()]
    if not apart:
        return statistics.fmean(best.values()) - statistics.fmean(other.values()) > NEAR
    error = statistics.stdev(apart) / len(apart) ** 0.5 if len(apart) > 1 else 0.0
    return statistics.fmean(apart) > max(NEAR, 2 * error)


def _worth(row: Row) -> str:
    old, new, before = row.last("old_macro"), row.last("new_macro"), row.by_task("macro")[0]
    if old is None or new is None or before is None:
        return ""
    return f"After it the old types have macro F1 {old:.1f} ({before:.1f} before), the new ones {new:.1f}."


def _others(chosen: Row, best: Row, rivals: Sequence[Row]) -> list[str]:
    lines = []
    if best is not chosen:
        cost = f"takes {_times(best, chosen)} the time"
        lines.append(f"{best.name} is best on the dev part, but not by more than chance, and {cost}.")
    lost = next((row for row in rivals if row.method == "finetune" and row is not chosen), None)
    if lost is not None and (old := lost.last("old_macro")) is not None:
        lines.append(f"After plain fine-tuning the old types would have {old:.1f}.")
    return lines


def _doubts(row: Row) -> list[str]:
    """Say what makes the recommendation a weak one."""
    doubts = []
    if len(row.cells) == 1:
        doubts.append("one run each cannot tell a difference of several points from chance (--seeds 1,2,3 is better)")
    entities = sum(facts["support"] for facts in row.cells[0]["tasks"][-1]["per_type"].values())
    if entities < FEW:
        doubts.append(f"the test part has only {entities:.0f} entities")
    return [f"Take this with care: {' and '.join(doubts)}."] if doubts else []


def _times(row: Row, other: Row) -> str:
    return f"{row.seconds / other.seconds:.1f} times" if row.seconds and other.seconds else "about"
