"""The attacks of benchmarks/attack_http.py that take no time, on a server of this process; and that they can fail."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
try:
    import attack_http
finally:
    sys.path.pop(0)


@pytest.fixture
def target(server):
    """The server as the attacks know it."""
    made = attack_http.Server.__new__(attack_http.Server)
    made.port = server.port
    return made


@pytest.mark.parametrize("name", attack_http.QUICK)
def test_it_is_stopped(target, name):
    expected, attack = attack_http.QUICK[name]
    row = attack_http.attacked(target, name, expected, attack, attack_http.Sizes(1, 1))
    assert row.well, str(row)


@pytest.mark.parametrize(
    ("attack", "seen"),
    [
        (attack_http.answered("400", attack_http.request("GET", "/healthz")), "1 x 200"),
        (attack_http.answered("200", attack_http.request("GET", "/docs")), "leaked"),
        (attack_http.answered("200", attack_http.request("GET", "/healthz"), seconds=0.0), "slowest"),
    ],
)
def test_another_end_fails(target, attack, seen):
    row = attack_http.attacked(target, "name", "expected", attack, attack_http.Sizes(1, 1))
    assert not row.well and seen in row.seen and str(row).startswith("FAILED: name | expected | ")
