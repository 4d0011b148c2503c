"""The decision of docs/which-method.md, its numbers out of the committed cells."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from code_tables import markdown

from retainer.methods import METHODS
from retainer.methods.passes import forward_passes
from retainer.plurals import amount
from retainer.report.bench.ranking import Ranking
from retainer.report.bench.rows import MethodRow

EVERYWHERE = ("joint", "partial_joint", "retain", "cpfd", "tbcl", "rdp_tuned", "rdp", "cfner", "extend_ner", "finetune")
"""The methods that stand beside each other on all corpora."""
EPOCHS = 10
"""Those of a run as the recipe has it: what is done once per task is shared by them."""


def decision(few: Sequence[Ranking], many: Sequence[Ranking]) -> str:
    """Write the five lines: ``few`` are the settings of CoNLL2003, ``many`` those of Few-NERD."""
    cost = _passes("retain") / _passes("rdp")
    seeds, more = (len(_row(one[0], "retain").cells) for one in (few, many))
    lines = [
        f"**Begin with `retain`, the default.** Macro F1 on the four types of CoNLL2003, two settings, {seeds} seeds: "
        f"{_macro(few, 'retain')} (`tbcl` {_macro(few, 'tbcl')}, `rdp` {_macro(few, 'rdp')}). On 18 types of Few-NERD, "
        f"four settings, {more} seeds: {_macro(many, 'retain')} (`cpfd` {_macro(many, 'cpfd')}, `rdp` "
        f"{_macro(many, 'rdp')}). It makes at most {cost:.1f} times the passes of `rdp` through the encoder. Much of "
        f"this is the corrected prior, which any method can have (`--set.prior dev`): with it `tbcl` has "
        f"{_macro(few, 'tbcl (prior=dev)')} on CoNLL2003, `cpfd` {_macro(few, 'cpfd (prior=dev)')}, `rdp` "
        f"{_macro(few, 'rdp (prior=dev)')} (3 seeds, on which `retain` has {_macro_of(few, 'retain', (1, 2, 3))}).",
        "**Text without annotation is at hand: give it, with `--text`.** Every method with a teacher then keeps the "
        "old types better, and finds new ones with fewer mistakes where the sentences were picked for them "
        "([measured](../results/README.md#one-more-type-for-a-model-in-use)).",
        "**A run may cost no more than fine-tuning: `rdp-no-ppl`**, which is `rdp` with `--set.pseudo argmax`: "
        f"{_macro(few, 'rdp-no-ppl')} on CoNLL2003 ({_seeds(few, 'rdp-no-ppl')}), {_macro(many, 'rdp-no-ppl')} on "
        f"Few-NERD ({_seeds(many, 'rdp-no-ppl')}). Take `rdp` itself, with prototypes, only where `learn --dry-run` "
        "does not warn that they differ from the old version.",
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


def corpora(presets: Mapping[str, Sequence[Ranking]]) -> str:
    """Write the macro F1 of the methods that were measured on every corpus, a column per setting."""
    settings = [(f"{name} {one.setting}", one) for name, ranked in presets.items() for one in ranked]
    rows = [[f"`{name}`", *(_mean(one, name) for _, one in settings)] for name in EVERYWHERE]
    return markdown([("method", *(title for title, _ in settings)), *rows])


def _mean(ranking: Ranking, name: str) -> str:
    """Write the macro F1 of a method with its number of seeds; nothing where it was not measured."""
    found = [row for row in ranking.rows if row.name == name]
    return f"{found[0].mean('macro'):.1f} ({len(found[0].cells)})" if found else ""


def _row(ranking: Ranking, name: str) -> MethodRow:
    """Return the row of a method with its usual fields."""
    return next(row for row in ranking.rows if row.name == name)


def _passes(name: str) -> float:
    return forward_passes(METHODS[name], EPOCHS)


def _rows(ranked: Sequence[Ranking], name: str) -> list[MethodRow]:
    return [_row(one, name) for one in ranked]


def _macro(ranked: Sequence[Ranking], name: str) -> str:
    """Write the macro F1 of a method in all settings."""
    return _both([row.mean("macro") for row in _rows(ranked, name)])


def _seeds(ranked: Sequence[Ranking], name: str) -> str:
    """Write with how many seeds a method was measured in every setting."""
    [count] = {len(row.cells) for row in _rows(ranked, name)}
    return amount(count, "seed")


def _macro_of(ranked: Sequence[Ranking], name: str, seeds: Sequence[int]) -> str:
    """Write the macro F1 of a method in all settings, over some of its seeds."""
    cells = ([cell for cell in row.cells if cell.seed in seeds] for row in _rows(ranked, name))
    return _both([fmean(cell.average["macro"] for cell in chosen) for chosen in cells])


def _both(values: Sequence[float | None]) -> str:
    """Write numbers, the last after "and"."""
    *before, last = (f"{value:.1f}" for value in values)
    return f"{', '.join(before)} and {last}"
