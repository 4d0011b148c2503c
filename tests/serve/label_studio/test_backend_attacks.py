"""The attacks of benchmarks/attack_label_studio.py that take no time, on a backend of this process; they can fail."""

import sys
from pathlib import Path

import pytest
from benching import workbench

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
try:
    import attack_doors
    import attack_http
    import attack_label_studio
finally:
    sys.path.pop(0)

SIZES = attack_http.Sizes(4, 4)


@pytest.fixture(scope="module")
def target(tmp_path_factory, encoder):
    """A backend as the attacks know it, with a project announced."""
    folder = tmp_path_factory.mktemp("attacked") / "project"
    with workbench(folder, encoder, token=attack_doors.TOKEN, label_studio=True) as running:
        made = attack_http.Server.__new__(attack_http.Server)
        made.port = running.port
        attack_label_studio.announce(made)
        yield made


@pytest.mark.parametrize("name", attack_label_studio.QUICK)
def test_it_is_stopped(target, name):
    expected, attack = attack_label_studio.QUICK[name]
    row = attack_http.attacked(target, name, expected, attack, SIZES)
    assert row.well, str(row)


def test_a_backend_that_takes_what_it_should_not_fails(target):
    """Whoever is answered, or changes something, is not stopped."""
    taken = attack_label_studio.webhook("TASKS_CREATED", tasks=[{"data": {"text": "another text"}}])
    well, seen = attack_label_studio.unchanged("201", [taken])(target, SIZES)
    assert not well and "something changed" in seen
    assert not attack_label_studio.unchanged("403", [taken])(target, SIZES)[0]
