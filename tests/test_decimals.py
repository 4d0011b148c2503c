"""Numbers as people read them."""

import re
from pathlib import Path

import pytest

import retainer
from retainer.decimals import decimals, digits_beside, with_sign

SOURCE = Path(retainer.__file__).parent


def test_one_minus_sign():
    assert (decimals(-1.234), with_sign(-1.234), with_sign(1.234)) == ("−1.23", "−1.23", "+1.23")
    assert (decimals(-0.001), with_sign(-0.001), with_sign(0.001), with_sign(0.0, 1)) == ("0.00", "0.00", "0.00", "0.0")


@pytest.mark.parametrize(
    ("value", "limit", "digits"),
    [(1.004, 1, 3), (1.01, 1, 2), (79.9996, 80, 4), (1 + 1e-9, 1, 9), (5.0, 5, 2), (12.3456, 5, 2)],
)
def test_a_value_is_told_from_its_limit(value, limit, digits):
    assert digits_beside(value, limit) == digits


def test_no_other_module_writes_signs():
    own = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if path.name != "decimals.py" and re.search(r":\+[.{,]|−", path.read_text(encoding="utf-8"))
    }
    assert own == set()
