"""docs/cli.md: every verb, every flag, every exit status and every field of the recipe, checked against the code."""

import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest

from retainer.cli import main
from retainer.cli.arguments import find_command
from retainer.training.recipe import RECIPES, Recipe

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^#{3,4} ([a-z ]+)$(.*?)(?=^#{3,4} [a-z ]+$|\Z)", PAGE, flags=re.MULTILINE | re.DOTALL))
COMMANDS = [*main.VERBS, *(f"{verb} {part}" for verb, parts in main.PARTS.items() for part in parts)]


def written(parameter):
    """Return how a call writes a parameter: a flag, or the place of a value."""
    name = parameter.name.rstrip("_")
    return "--" + name.replace("_", "-") if parameter.kind is parameter.KEYWORD_ONLY else name.upper()


def test_every_verb_has_a_section():
    assert sorted(SECTIONS) == sorted(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_arguments_are_those_of_the_signature(command):
    verb, *part = command.split()
    function = find_command(verb, (part or [verb])[0])
    listed = re.findall(r"^\| `\[?(-{0,2}[\w-]+)", SECTIONS[command], flags=re.MULTILINE)
    known = inspect.signature(function).parameters.values()
    assert listed == [written(parameter) for parameter in known if parameter.name != "config"]


def test_exit_statuses():
    from retainer.cli.verbs import compare, verify

    assert compare.REFUSED == verify.NO
    known = [main.DONE, compare.REFUSED, main.WRONG_INPUT, main.OUR_FAULT, main.INTERRUPTED]
    assert [int(status) for status in re.findall(r"^\| (\d+) \|", PAGE, flags=re.MULTILINE)] == known


def test_fields_of_the_recipe():
    rows = dict(re.findall(r"^\| `(\w+)` \| ([\w.]+) \| ", PAGE, flags=re.MULTILINE))
    assert list(rows) == [field.name for field in fields(Recipe)]
    for name, value in rows.items():
        known = getattr(RECIPES["retainer"], name)
        assert value == (str(known).lower() if isinstance(known, bool | str) else f"{known:g}"), name
