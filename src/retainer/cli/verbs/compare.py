"""`retainer compare`."""

from __future__ import annotations

import json as json_format
import shlex
import sys
import unicodedata
from typing import TYPE_CHECKING, Any

from retainer.about import __version__
from retainer.cli.columns import Columns
from retainer.cli.output import note, say, say_table
from retainer.cli.streams import reader_left
from retainer.comparison.gates import Gates
from retainer.comparison.type_sets import TypeSets
from retainer.data.corpus import Corpus
from retainer.data.texts import Texts, texts_or_corpus
from retainer.errors import InputError
from retainer.files import require_writable, write_document
from retainer.plurals import sentences
from retainer.report.compare.next_steps import next_steps
from retainer.report.compare.rows import (
    AGREEMENT_COLUMNS,
    CHANGE_GROUPS,
    SCORE_COLUMNS,
    agreement_rows,
    change_group,
    change_label,
    compared_amount,
    comparison_finding,
    comparison_remarks,
    excerpt,
    group_sizes,
    mean_rows,
    score_rows,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from retainer.comparison.changes import Case, Change
    from retainer.comparison.compare import Difference
    from retainer.comparison.gates import GateOutcome

_Rows = list[tuple[str, tuple[str, ...]]]
REFUSED = 1
"""The exit status when a gate says no."""


def compare(
    old: str,
    new: str,
    data: str,
    /,
    *,
    max_drop: float | None = None,
    min_agreement: float | None = None,
    min_gain: float | None = None,
    json: bool = False,
    page: str | None = None,
    show: int = 5,
    device: str = "auto",
    columns: Columns = {},  # noqa: B006 (never changed)
) -> int:
    """Compare two versions: what the new one kept, gained, lost and calls by another name.

    On annotated data both are scored; on texts alone the old version's entities take the place of the annotation.
    Exit status 1 means that a gate (--max-drop, --min-agreement, --min-gain) said no, and only that.

    :param old: the version to compare with: a version's folder, any token-classification checkpoint, or a hub name
    :param new: the version in question, given in the same ways
    :param data: annotated file or folder (docs/formats.md); or texts: one per line (an empty line is an empty text),
        JSON lines with a "text", or - for stdin
    :param max_drop: gate: the most points of F1 an old type may lose (needs annotated data)
    :param min_agreement: gate: the least agreement on every old type and on all together, in percent
    :param min_gain: gate: the least F1 of every type that only the new version knows (needs annotated data)
    :param json: print one JSON document, with all entities and their texts
    :param page: also write all of it as an HTML page
    :param show: how many entities of each kind to print
    :param device: auto, cpu or cuda
    :param columns: {columns}
    """
    gates = Gates(max_drop, min_agreement, min_gain)
    if show < 0:
        raise InputError(f"--show {show}: expected 0 or more")
    target = None if page is None else require_writable(page)
    given = texts_or_corpus(data, columns)
    gates.require_gold(given)
    from retainer.comparison.compare import compare as compared
    from retainer.versions.version import load

    before, after = (load(one, device=device, need_head=True) for one in (old, new))
    gates.require_types(TypeSets.of(before.types, after.types, given))
    note(_taken_for(given))
    found = compared(before, after, given, note=note)
    outcomes = gates.outcomes(found)
    if target is not None:
        write_document(target, _page(found, old, new, data, outcomes))
        note(f"page written to {target}")
    steps = next_steps(found, before, after, old, new, outcomes)
    document = {"old": old, "new": new, "data": data, **found.as_dict(), "next_steps": steps}
    if json:
        _say_document({**document, "gates": [outcome.as_dict() for outcome in outcomes]}, found)
    else:
        _say_tables(found, old, new, data, show)
        for step in steps:
            say(_clean(step))
    for outcome in outcomes:
        note(outcome.sentence())
    return 0 if all(outcome.passed for outcome in outcomes) else REFUSED


def _taken_for(given: Corpus | Texts) -> str:
    """Say what the data were taken for, because the call does not."""
    if isinstance(given, Corpus):
        return (
            f"{given.source}: annotated, {sentences(len(given))}; annotated types: {', '.join(given.types) or 'none'}"
        )
    return f"{given.source}: texts without annotation, so the versions are compared with each other"


def _page(found: Difference, old: str, new: str, data: str, outcomes: Sequence[GateOutcome]) -> str:
    from retainer.report.compare.page import compare_page

    flags = [part for outcome in outcomes for part in (f"--{outcome.name}", outcome.given)]
    facts = {
        "old version": old,
        "new version": new,
        "data": f"{data}, {compared_amount(found)}",
        "intervals": "1,000 sets of texts drawn, seed 0",
        "page made by": f"retainer {__version__}",
        "command": shlex.join(["retainer", "compare", old, new, data, *flags]),
    }
    return compare_page(found, old, new, outcomes, facts)


def _say_document(document: dict[str, Any], found: Difference) -> None:
    """Print the JSON document; its texts are written as they are read, for they may be more than fit the memory."""
    head = json_format.dumps({**document, "cases": []}, indent=2, ensure_ascii=False)
    sys.stdout.write(head.removesuffix("]\n}"))
    for at, case in enumerate(found.cases):
        if reader_left():
            return
        line = json_format.dumps(case.as_dict(found.scored_types), ensure_ascii=False)
        sys.stdout.write(f"{',' if at else ''}\n    {line}")
    say("\n  ]\n}")


def _say_tables(found: Difference, old: str, new: str, data: str, show: int) -> None:
    """Print the tables, a few entities of each kind, and the finding in words last, where the eye is."""
    say(f"{old} → {new} on {data}, {compared_amount(found)}")
    if rows := score_rows(found):
        say_table(_table("scores on the annotation", SCORE_COLUMNS, rows, mean_rows(found)))
    if rows := agreement_rows(found):
        say_table(_table("what became of the old version's entities", AGREEMENT_COLUMNS, rows))
    if show:
        _say_lists(found, show)
    say("\n".join(map(_clean, [comparison_finding(found, old, new).striptags(), *comparison_remarks(found)])))


def _table(
    title: str, columns: Mapping[str, str], rows: _Rows, means: Sequence[tuple[str, str, str, str]] = ()
) -> Table:
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, box=SIMPLE, title_justify="left")
    table.add_column("type")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for type_, fields in rows:
        table.add_row(Text(_clean(type_)), *map(Text, fields))
    if means:
        table.add_section()
    for name, _, number, between in means:
        table.add_row(name, *[""] * (len(columns) - 3), number, "", between)
    return table


def _say_lists(found: Difference, show: int) -> None:
    """Print the first few entities of every kind; the walk ends when there are enough."""
    wanted = {name: min(size, show) for name, size in group_sizes(found).items()}
    lists: dict[str, list[str]] = {name: [] for name in CHANGE_GROUPS}
    for case in found.cases:
        for change in case.changes:
            own = lists[name := change_group(change, found.types.old)]
            if len(own) < wanted[name]:
                own.append(_line(case, change))
        if all(len(lists[name]) == size for name, size in wanted.items()):
            break
    for name, size in group_sizes(found).items():
        if size:
            more = f", the first {len(lists[name])}" if size > show else ""
            say("\n".join([f"{name}: {size}{more}", *lists[name], ""]))


def _line(case: Case, change: Change) -> str:
    before, entity, after = map(_clean, excerpt(case, change))
    return f"  {case.number:>6}  {_clean(change_label(case, change))}:  {before}[{entity}]{after}"


def _clean(text: str) -> str:
    """Take out what would steer the terminal: line ends, and characters that are orders to it."""
    spaced = "".join(" " if character.isspace() else character for character in text)
    return "".join("\ufffd" if unicodedata.category(one) in ("Cc", "Cs") else one for one in spaced)
