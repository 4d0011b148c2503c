"""How the tables of a bench write numbers: the same for the page, for papers and for the terminal."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from retainer.decimals import decimals, with_sign


def mean_and_deviation(values: Sequence[float]) -> str:
    """Write mean ± standard deviation; one value has no deviation."""
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.2f}{deviation}"


def two_decimals(value: float | None) -> str:
    """Write a number with two digits; nothing for none."""
    return "" if value is None else decimals(value)


def pair(one: float | None, other: float | None) -> str:
    """Write two numbers that belong together; of none or one, what there is."""
    return " / ".join(two_decimals(value) for value in (one, other) if value is not None)


def signed(value: float | None, digits: int = 2) -> str:
    """Write a difference with its sign; nothing for none."""
    return "" if value is None else with_sign(value, digits)


def probability(p: float, least: float = 0.001) -> str:
    """Write p, never as zero."""
    return f"< {least}" if p < least else f"{p:.3f}"
