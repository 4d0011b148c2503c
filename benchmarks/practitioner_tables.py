"""The tables of a file that practitioner.py has written.

Every ± is a standard error over cases and seeds. What a table averages over sizes and draws is averaged within a case
and seed first: those runs share a first version, so they are one witness, not many.
"""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from choose import standard_error
from person import Run, markdown

RIVAL = "rdp-no-ppl"
"""The method that every other one is compared with in the end, where it was measured."""

Runs = Mapping[tuple[object, ...], Run]
"""Runs by what they have in common with those of another method: first the case and the seed."""
Value = Callable[[Run], float]


def change(run: Run) -> float:
    """Return by how much the macro F1 of the old types changed."""
    return float(run["old"] - run["before"])


def gain(run: Run) -> float:
    """Return the F1 of the new type."""
    return float(run["new"]["f1"])


BOTH: dict[str, Value] = {"old": change, "new": gain}
COST: dict[str, Value] = {
    "kept %": lambda run: float("nan" if run["kept"] is None else run["kept"]),
    "precision": lambda run: float(run["new"]["precision"]),
    "recall": lambda run: float(run["new"]["recall"]),
    "epochs": lambda run: float(run["epochs"]),
    "seconds": lambda run: float(run["seconds"]),
}


def tables(document: Run) -> str:
    """Write all tables of a file."""
    runs, methods = document["runs"], document["methods"]
    texts = sorted({run["text"] for run in runs})
    methods = [name for name in methods if any(run["method"] == name for run in runs)]
    if not runs:
        return "no run yet"
    return "\n\n".join(
        [
            *(part for text in texts for part in by_draw(runs, methods, text)),
            *against(runs, methods, texts),
            *through_text(runs, methods, texts),
            *by_case(runs, methods, texts),
        ]
    )


def select(runs: Sequence[Run], *, among: Sequence[str] = ("draw", "size", "text"), **wanted: object) -> Runs:
    """Return the runs that have some values, by case, seed and what they are paired by."""
    chosen = [run for run in runs if all(run[name] == value for name, value in wanted.items())]
    return {(run["case"], run["seed"], *(run[name] for name in among)): run for run in chosen}


def values(runs: Runs, value: Value) -> list[float]:
    """Return the mean of every case and seed."""
    return list(_means({key: value(run) for key, run in runs.items()}))


def apart(ours: Runs, theirs: Runs, value: Value) -> list[float]:
    """Return how far two lots of runs are apart where both were made: the mean of every case and seed."""
    both = [key for key in ours if key in theirs]
    return list(_means({key: value(ours[key]) - value(theirs[key]) for key in both}))


def _means(found: Mapping[tuple[object, ...], float]) -> Iterator[float]:
    groups = defaultdict(list)
    for (case, seed, *_), one in found.items():
        groups[case, seed].append(one)
    return map(statistics.fmean, groups.values())


def with_error(numbers: Sequence[float], sign: str = "+") -> str:
    """Write a mean and its standard error; of one value alone, the value."""
    if not numbers:
        return "–"
    error = f" ± {standard_error(numbers):.1f}" if len(numbers) > 1 else ""
    return f"{statistics.fmean(numbers):{sign}.1f}{error}"


def beside(ours: Runs, first: Runs, value: Value, sign: str) -> str:
    """Write a mean, and how far it is from the first method where both were measured."""
    own, pairs = values(ours, value), apart(ours, first, value)
    if not own or ours == first:
        return with_error(own, sign)
    fewer = f", {len(pairs)} of {len(values(first, value))}" if len(pairs) < len(values(first, value)) else ""
    return f"{statistics.fmean(own):{sign}.1f} ({with_error(pairs)}{fewer})"


def by_draw(runs: Sequence[Run], methods: Sequence[str], text: int) -> list[str]:
    """Write what every method does by draw and size, and what it costs, with so much text."""
    columns = sorted({(run["draw"], run["size"]) for run in runs}, key=lambda pair: (pair[0] != "random", pair[1]))
    head, rows = ["method"], [[name] for name in methods]
    for draw, size in columns:
        lots = [select(runs, method=name, draw=draw, size=size, text=text) for name in methods]
        head += [f"{draw} {size}: old", "new"]
        for row, own in zip(rows, lots, strict=True):
            row += [beside(own, lots[0], value, sign) for value, sign in ((change, "+"), (gain, ""))]
    costs = [[name, *_costs(select(runs, method=name, text=text))] for name in methods]
    title = f"{f'{text:,} sentences of text' if text else 'Without text'}: "
    return [
        f"{title}change of the old types' macro F1, F1 of the new type; in brackets, apart from {methods[0]}",
        markdown(head, rows),
        f"{title}what it kept of what was found right, the new type, and how long it took",
        markdown(["method", *COST], costs),
    ]


def _costs(runs: Runs) -> list[str]:
    return [with_error(values(runs, value), "") for value in COST.values()]


def against(runs: Sequence[Run], methods: Sequence[str], texts: Sequence[int]) -> list[str]:
    """Write how far every method is from the rival, all sizes and draws together."""
    if RIVAL not in methods:
        return []
    lots: list[tuple[str, Run]] = [(f"text {text:,}", {"text": text}) for text in texts]
    lots += [("all", {})] if len(texts) > 1 else []
    rows = [
        [name]
        + [
            with_error(apart(select(runs, method=name, **lot), select(runs, method=RIVAL, **lot), value))
            for _, lot in lots
            for value in BOTH.values()
        ]
        for name in methods
        if name != RIVAL
    ]
    head = ["method", *(f"{title}: {what}" for title, _ in lots for what in BOTH)]
    return [f"Apart from {RIVAL}, all sizes and draws", markdown(head, rows)] if rows else []


def through_text(runs: Sequence[Run], methods: Sequence[str], texts: Sequence[int]) -> list[str]:
    """Write what text does for every method, all sizes and draws together."""
    more = [text for text in texts if text]
    if not more or 0 not in texts:
        return []
    lots = {
        (name, text): select(runs, among=("draw", "size"), method=name, text=text) for name in methods for text in texts
    }
    every = {text: select(runs, among=("draw", "size", "method"), text=text) for text in texts}
    rows = [
        [name, *(with_error(apart(lots[name, text], lots[name, 0], value)) for text in more for value in BOTH.values())]
        for name in methods
    ]
    total = ["all", *(with_error(apart(every[text], every[0], value)) for text in more for value in BOTH.values())]
    head = ["method", *(f"text {text:,}: {what}" for text in more for what in BOTH)]
    return ["Gained through text, all sizes and draws", markdown(head, [*rows, total])]


def by_case(runs: Sequence[Run], methods: Sequence[str], texts: Sequence[int]) -> list[str]:
    """Write what every method does in each case, all sizes and draws together, without text where that was measured."""
    cases, text = sorted({run["case"] for run in runs}), texts[0]
    rows = [
        [name]
        + [
            with_error(values(select(runs, method=name, case=case, text=text), value), sign)
            for case in cases
            for value, sign in ((change, "+"), (gain, ""))
        ]
        for name in methods
    ]
    head = ["method", *(f"{case}: {what}" for case in cases for what in BOTH)]
    return [f"By case, text {text:,}, all sizes and draws", markdown(head, rows)]
