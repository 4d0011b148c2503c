"""How the verbs speak: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from retainer.metrics import Scores


def say(text: str) -> None:
    """Print a result."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def tell(text: str) -> None:
    """Print something that is no result."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def say_json(document: Any) -> None:
    """Print one JSON document."""
    say(json.dumps(document, indent=2, ensure_ascii=False))


def say_table(table: Table) -> None:
    """Print a table; on a terminal in colour, elsewhere as plain text that is not wrapped."""
    from rich.console import Console

    try:
        Console(width=None if sys.stdout.isatty() else 160).print(table)
    except SystemExit:  # rich leaves with status 1 when nobody reads on, but 1 means that a gate said no
        raise BrokenPipeError from None


def score_table(scores: Scores, title: str, more: Mapping[str, float]) -> Table:
    """Lay scores out as a table: a row per type, then the means, then any ``more`` means."""
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(title=title, box=SIMPLE, title_justify="left")
    table.add_column("type")
    for column in ("precision", "recall", "F1", "support"):
        table.add_column(column, justify="right")
    for type_, one in scores.per_type.items():
        numbers = (f"{one.precision:.2f}", f"{one.recall:.2f}", f"{one.f1:.2f}", str(one.support))
        table.add_row(type_, *numbers)
    table.add_section()
    for name, value in {"micro": scores.micro, "macro": scores.macro, **more}.items():
        table.add_row(name, "", "", f"{value:.2f}", "")
    return table
