"""The defaults that verbs repeat, because a signature must not import what it takes them from."""

import inspect

import pytest

from retainer.cli.main import main
from retainer.cli.verbs.demo import demo
from retainer.cli.verbs.learn import learn
from retainer.methods import DEFAULT_METHOD


@pytest.mark.parametrize("verb", [learn, demo])
def test_the_method(verb):
    assert inspect.signature(verb).parameters["method"].default == DEFAULT_METHOD


@pytest.mark.parametrize(
    ("name", "said"),
    [("finetune", "learns task by task"), ("joint", "learns task by task"), ("rdpp", "did you mean 'rdp'?")],
)
def test_what_the_demo_does_not_compare(name, said, tmp_path, capsys):
    assert main(["demo", "--method", name, "--out", str(tmp_path / "demo")]) == 2
    assert said in capsys.readouterr().err and not (tmp_path / "demo").exists()
