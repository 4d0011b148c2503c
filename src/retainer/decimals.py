"""Numbers as people read them: one minus sign everywhere, and digits enough to tell a value from its limit."""

MINUS = "\N{MINUS SIGN}"
"""The minus of every table, message and page; JSON and CSV have numbers, which programs read."""
_MOST = 12
"""Digits behind which two values are taken for one."""


def decimals(value: float, digits: int = 2) -> str:
    """Write a number; what rounds to zero has no sign."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", MINUS)


def with_sign(value: float, digits: int = 2) -> str:
    """Write a difference with its sign; what rounds to zero has none."""
    text = decimals(value, digits)
    return f"+{text}" if float(f"{value:.{digits}f}") > 0 else text


def digits_beside(value: float, limit: float, least: int = 2) -> int:
    """Return how many digits it takes to see on which side of a limit a value lies: 1.004 is not 1.00 beside 1."""
    sides = ((digits, round(value, digits)) for digits in range(least, _MOST))
    return next(
        (digits for digits, seen in sides if (seen > limit, seen < limit) == (value > limit, value < limit)), _MOST
    )
