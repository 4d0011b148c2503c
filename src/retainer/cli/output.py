"""How the verbs speak: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from retainer.comparison.effect_words import TRAINING_PLACE, to_keep
from retainer.errors import printable, shortened
from retainer.metrics.few import is_few
from retainer.plurals import sentences

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from retainer.metrics.f1 import Scores


def say(text: str) -> None:
    """Print a result; text of a file may hold what would steer the terminal."""
    sys.stdout.write(printable(text + "\n"))
    sys.stdout.flush()


def note(text: str) -> None:
    """Print something that is not a result."""
    sys.stderr.write(printable(text + "\n"))
    sys.stderr.flush()


def say_json(document: Any) -> None:
    """Print one JSON document."""
    say(json.dumps(document, indent=2, ensure_ascii=False))


def say_table(table: Table) -> None:
    """Print a table; on a terminal in colour, elsewhere as plain text that is not wrapped."""
    from rich.console import Console

    Console(width=None if sys.stdout.isatty() else 160).print(table)


def cell(text: str) -> Text:
    """Put text of a file into a table: not as markup, on one line, and nothing in it steers the terminal."""
    from rich.text import Text

    return Text(one_line(text))


def one_line(text: str) -> str:
    """Show text of a file on one line, as far as it fits there."""
    return printable(shortened(text, 500).replace("\n", "\\n").replace("\t", "\\t"))


def score_table(scores: Scores, title: str, more: Mapping[str, float]) -> Table:
    """Lay scores out as a table: a row per type, then the means, then any ``more`` means."""
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(title=cell(title), box=SIMPLE, title_justify="left")
    table.add_column("type")
    for column in ("precision", "recall", "F1", "support"):
        table.add_column(column, justify="right")
    for type_, one in scores.per_type.items():
        numbers = (f"{one.precision:.2f}", f"{one.recall:.2f}", f"{one.f1:.2f}", str(one.support))
        table.add_row(cell(type_), *numbers)
    table.add_section()
    total = scores.total
    together = (f"{value:.2f}" for value in (total.precision, total.recall, total.f1))
    table.add_row("micro", *together, str(total.support))
    for name, value in {"macro": scores.macro, **more}.items():
        table.add_row(name, "", "", f"{value:.2f}", "")
    return table


def balance_table(balance: Mapping[str, Any]) -> Table:
    """Lay out what became of every type: a row per old type, all of them together, then the new types."""
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(title=f"on {sentences(balance['sentences'])} {balance['place']}", box=SIMPLE, title_justify="left")
    table.add_column("type")
    fates = ("found before", "kept", "moved", "relabelled", "lost", "given", "corrected") if balance["old"] else ()
    for column in (*fates, "F1 in training" if balance["place"] == TRAINING_PLACE else "F1"):
        table.add_column(column, justify="right")
    for type_, one in balance["old"].items():
        after = "" if one["before"] is None else f"{one['before']:.2f} → {one['after']:.2f} of {one['support']}"
        table.add_row(cell(type_), *_fate(one), after)
    if len(balance["old"]) > 1:
        table.add_row("all old types", *_fate(balance["all"]), "")
    for type_, one in balance["new"].items():
        score = "not annotated" if one["f1"] is None else f"{one['f1']:.2f} of {one['support']}"
        table.add_row(cell(f"{type_} (new)"), *[""] * len(fates), score)
    return table


def _fate(one: Mapping[str, Any]) -> list[str]:
    """Write what became of some entities: of enough of them also as shares of what there was to keep."""
    there = to_keep(one)
    shares = {"kept": "", "relabelled": "", "lost": ""}
    if there and not is_few(there):
        shares = {kind: f" ({100 * one[kind] / there:.1f} %)" for kind in shares}
    kinds = ("kept", "moved", "relabelled", "lost", "given", "corrected")
    return [str(one["found"]), *(f"{one[kind]}{shares.get(kind, '')}" for kind in kinds)]
