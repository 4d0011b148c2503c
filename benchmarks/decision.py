"""The decision of docs/which-method.md, its numbers out of the committed cells."""

from collections.abc import Sequence

from code_tables import markdown

from retainer.methods import METHODS
from retainer.methods.passes import forward_passes
from retainer.report.bench.ranking import Ranking
from retainer.report.bench.rows import MethodRow

MANY_TYPES = {"retain": "retain (look_share=1.0)"}
"""The rows of Few-NERD that stand for a method measured there with other fields than its defaults."""
EPOCHS = 10
"""Those of a run as the recipe has it: what is done once per task is shared by them."""


def decision(few: Sequence[Ranking], many: Sequence[Ranking]) -> str:
    """Write the five lines: ``few`` are the settings of CoNLL2003, ``many`` those of Few-NERD."""
    cost = {name: _passes(name) / _passes("rdp") for name in ("retain", "cpfd")}
    seeds = len(_row(few[0], "retain").cells)
    lines = [
        f"**Begin with `retain`.** Macro F1 on the four types of CoNLL2003, two settings, {seeds} seeds: "
        f"{_macro(few, 'retain')} (`tbcl` {_macro(few, 'tbcl')}, `rdp` {_macro(few, 'rdp')}). On 18 types of Few-NERD, "
        f"four settings, few seeds, with `look_share` 1: {_macro(many, 'retain')} (`rdp` {_macro(many, 'rdp')}). It "
        f"makes {cost['retain']:.1f} times the passes of `rdp` through the encoder.",
        f"**Many types, one at a time: try `cpfd` too.** On Few-NERD it has {_macro(many, 'cpfd')} (one seed), on "
        f"CoNLL2003 {_macro(few, 'cpfd')}; {cost['cpfd']:.1f} times the passes of `rdp`, and slower ones on a GPU.",
        "**A run may cost no more than fine-tuning: `rdp-no-ppl`**, which is `rdp` with `--set.pseudo argmax`: "
        f"{_macro(few, 'rdp-no-ppl')} on CoNLL2003, {_macro(many, 'rdp-no-ppl')} on Few-NERD. Take `rdp` itself, with "
        "prototypes, only where `learn --dry-run` does not warn that they differ from the old version.",
        f"**All data are still there, with all types annotated: `joint`.** {_macro(few, 'joint')} on CoNLL2003; "
        "nothing need be kept.",
        "**Not sure, or `compare` says worse?** Let annotated data of your own decide: `retainer bench own --data FILE "
        "--quick --out quick-bench` ([below](#on-your-own-data)).",
    ]
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


def situations(few: Sequence[Ranking]) -> str:
    """Write what is for special situations only."""
    frozen, rdp, reviewed = (_rows(few, name) for name in ("frozen", "rdp", "learn_and_review"))
    behind = [one.mean("macro") - other.mean("macro") for one, other in zip(rdp, reviewed, strict=True)]
    cost = _passes("frozen") / _passes("rdp")
    rows = [
        (
            "the old version must hardly move, or there is next to no time to train",
            "`frozen`",
            f"{cost:.1f} times the passes of `rdp`; it forgets {_both([row.forgetting for row in frozen])} points, but "
            f"learns new types badly: {_both([row.last('new_macro') for row in frozen])} F1 for the last one, where "
            f"`rdp` has {_both([row.last('new_macro') for row in rdp])}. After some tasks these are old types too",
        ),
        (
            "you may keep something made of the data, though not the data",
            "`learn_and_review`, if you like",
            f"it keeps a language model of each slice, and still has {_both(behind)} points less than `rdp`",
        ),
        (
            "you want to see forgetting",
            "`finetune`",
            f"old types end at {_both([row.last('old_macro') for row in _rows(few, 'finetune')])} F1",
        ),
    ]
    return markdown([("your situation", "method", "why, measured on CoNLL2003"), *rows])


def _row(ranking: Ranking, name: str) -> MethodRow:
    """Return the row of a method; on Few-NERD of what stands for it."""
    rows = {row.name: row for row in ranking.rows}
    return rows.get(name) or rows[MANY_TYPES[name]]


def _passes(name: str) -> float:
    return forward_passes(METHODS[name], EPOCHS)


def _rows(ranked: Sequence[Ranking], name: str) -> list[MethodRow]:
    return [_row(one, name) for one in ranked]


def _macro(ranked: Sequence[Ranking], name: str) -> str:
    """Write the macro F1 of a method in all settings."""
    return _both([row.mean("macro") for row in _rows(ranked, name)])


def _both(values: Sequence[float | None]) -> str:
    """Write numbers, the last after "and"."""
    *before, last = (f"{value:.1f}" for value in values)
    return f"{', '.join(before)} and {last}"
