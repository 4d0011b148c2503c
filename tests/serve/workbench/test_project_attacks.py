"""The attacks of benchmarks/attack_project.py that take no time, on a workbench of this process; they can fail."""

import sys
from pathlib import Path

import pytest
from benching import workbench

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
try:
    import attack_http
    import attack_project
finally:
    sys.path.pop(0)

SIZES = attack_http.Sizes(4, 4)


def target(running):
    """A workbench as the attacks know it, filled."""
    made = attack_http.Server.__new__(attack_http.Server)
    made.port = running.port
    attack_project.fill(made)
    return made


@pytest.fixture(scope="module")
def guarded(tmp_path_factory, encoder):
    with workbench(tmp_path_factory.mktemp("guarded") / "project", encoder, token=attack_project.TOKEN) as running:
        yield target(running)


@pytest.fixture(scope="module")
def open_to_all(tmp_path_factory, encoder):
    with workbench(tmp_path_factory.mktemp("open") / "project", encoder) as running:
        yield target(running)


@pytest.mark.parametrize("name", attack_project.QUICK)
def test_it_is_stopped(guarded, name):
    expected, attack = attack_project.QUICK[name]
    row = attack_http.attacked(guarded, name, expected, attack, SIZES)
    assert row.well, str(row)


def test_a_workbench_that_asks_for_no_token_fails(open_to_all):
    well, seen = attack_project.DOOR.without_token(open_to_all, SIZES)
    assert not well and "200" in seen, seen


def test_a_lost_change_is_noticed():
    first, second = ({"before": one, "after": one + 1} for one in (1, 2))
    assert attack_project.unbroken([first, second]) and not attack_project.unbroken([second, first])
