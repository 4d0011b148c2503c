"""Which method to use, in words, from a bench of few runs. Chosen by dev scores, reported with test scores.

The best on the dev part wins, old and new types together. That a difference is not proved does not make it none: three
seeds prove little, and whoever then takes the cheapest method may lose most of what the others keep. A cheaper method
takes the place of the best only where it is about as good on the old types and on the new ones. What a method costs is
counted and not timed.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from retainer.plurals import number_in_words
from retainer.report.bench.ranking import Ranking
from retainer.report.bench.rows import MethodRow
from retainer.report.draw.runs import mean_of_known

_NEAR = 1.0
"""A method is about as good as another if it has at most so many points of macro F1 less."""
_CHEAPER = 0.8
"""The share of the best method's passes below which another one is cheaper."""
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
    cheaper = [row for row in rivals if _cheaper(row, best) and _as_good(row, best)]
    chosen = min(cheaper, key=lambda row: row.passes or 0.0, default=best)
    others = [row.name for row in rivals if row not in (chosen, best)]
    level = [name for name in others if not _clearly(dev[chosen.name], dev[name])]
    return [f"Use {chosen.name}. {_worth(chosen)}", *_others(chosen, best, rivals), *_doubts(chosen, level)]


def _dev(row: MethodRow) -> _ScoresBySeed:
    """Return macro F1 of all types on the dev set after the last task, by seed."""
    return {seed: cell.tasks[-1].deciding["macro"] for seed, cell in row.by_seed.items()}


def _as_good(row: MethodRow, best: MethodRow) -> bool:
    """Return whether a method is at most a point below the best, on the old types and on the new ones."""
    pairs = zip(_old_and_new(row), _old_and_new(best), strict=True)
    return all(one is not None and other is not None and other - one <= _NEAR for one, other in pairs)


def _old_and_new(row: MethodRow) -> list[float | None]:
    """Return macro F1 of the old and of the new types on the dev set after the last task."""
    last = [cell.tasks[-1].deciding for cell in row.cells]
    return [mean_of_known(task["old_macro"] for task in last), mean_of_known(task["new_macro"] for task in last)]


def _cheaper(row: MethodRow, best: MethodRow) -> bool:
    return row.passes is not None and best.passes is not None and row.passes < _CHEAPER * best.passes


def _clearly(chosen: _ScoresBySeed, other: _ScoresBySeed) -> bool:
    """Return whether a method is behind the chosen one by more than two standard errors."""
    apart = [chosen[seed] - other[seed] for seed in chosen.keys() & other.keys()]
    if len(apart) < 2:
        return statistics.fmean(chosen.values()) - statistics.fmean(other.values()) > _NEAR
    error = statistics.stdev(apart) / math.sqrt(len(apart))
    return statistics.fmean(apart) > 2 * error


def _worth(row: MethodRow) -> str:
    old, new, before = row.last("old_macro"), row.last("new_macro"), row.by_task("macro")[0]
    if old is None or new is None or before is None:
        return ""
    return f"After it the old types have macro F1 {old:.1f} ({before:.1f} before), the new ones {new:.1f}."


def _others(chosen: MethodRow, best: MethodRow, rivals: Sequence[MethodRow]) -> list[str]:
    lines = []
    if best is not chosen:
        cost = (best.passes or 0.0) / (chosen.passes or 1.0)
        lines.append(
            f"{best.name} is best on the dev part, but by at most a point on old and on new types, and costs "
            f"{cost:.1f} times the passes through the encoder."
        )
    lost = next((row for row in rivals if row.method == "finetune" and row is not chosen), None)
    if lost is not None and (old := lost.last("old_macro")) is not None:
        lines.append(f"After plain fine-tuning the old types would have {old:.1f}.")
    return lines


def _doubts(row: MethodRow, level: Sequence[str]) -> list[str]:
    """Name what makes the recommendation a weak one."""
    doubts = []
    if len(row.cells) == 1:
        doubts.append(
            "one run each cannot distinguish a difference of several points from chance (--seeds 1,2,3 is better)"
        )
    elif level:
        doubts.append(f"{number_in_words(len(row.cells))} seeds cannot distinguish it from {', '.join(level)}")
    entities = sum(scores["support"] for scores in row.cells[0].tasks[-1].per_type.values())
    if entities < _FEW_ENTITIES:
        doubts.append(f"the test part has only {entities:.0f} entities")
    return [f"Take this with care: {' and '.join(doubts)}."] if doubts else []
