"""A command line out of a function: its signature is the interface, its docstring the help.

Parameters before the slash are positional, a starred one takes all that follow, keyword-only ones are flags; a trailing
underscore is dropped (``from_`` is --from), others become hyphens; a tuple of strings takes A,B,C; a dict takes
--name.key value. Every verb also reads --config FILE (YAML). A command with a parameter ``config`` also takes the
record of a version for FILE, and is told which.
"""

from __future__ import annotations

import inspect
import re
from argparse import ArgumentError, HelpFormatter
from collections.abc import Callable, Sequence
from typing import Any, get_origin, get_type_hints

from docstring_parser import parse as parse_docstring
from jsonargparse import ArgumentParser

from retainer.errors import InputError, nearest
from retainer.replay import expanded

Command = Callable[..., Any]

_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def parse(verb: str, command: Command, argv: Sequence[str]) -> dict[str, Any]:
    """Return the arguments for ``command``, or explain in one sentence what is wrong with ``argv``."""
    parser, record = build(verb, command), None
    parameters = inspect.signature(command).parameters
    if "config" in parameters:
        argv, record = expanded(argv)
    try:
        given = parser.parse_args(list(argv)).as_dict()
    except ArgumentError as error:
        raise InputError(f"{_one_sentence(str(error), command)} (see: retainer {verb} --help)") from None
    given["config"] = record
    names = {_flag(name): name for name in parameters}
    return {names[key]: value for key, value in given.items() if key in names}


def call(command: Command, given: dict[str, Any]) -> Any:
    """Call a command with parsed arguments, positional ones by position."""
    parameters = list(inspect.signature(command).parameters.values())
    positional = [given.pop(p.name) for p in parameters if p.kind is p.POSITIONAL_ONLY]
    many = [value for p in parameters if p.kind is p.VAR_POSITIONAL for value in given.pop(p.name)]
    return command(*positional, *many, **given)


def build(verb: str, command: Command) -> ArgumentParser:
    """Return the parser of one verb."""
    docs = parse_docstring(command.__doc__ or "")
    about = {param.arg_name: param.description or "" for param in docs.params}
    parser = ArgumentParser(
        prog=f"retainer {verb}",
        description=docs.short_description,
        epilog=docs.long_description,
        formatter_class=HelpFormatter,
        exit_on_error=False,
        allow_abbrev=False,
    )
    hints = get_type_hints(command)
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name != "config":
            _add(parser, parameter, hints[parameter.name], about.get(parameter.name, ""))
    usual = "Read any of these from a YAML file."
    parser.add_argument("--config", action="config", help=about.get("config") or usual)
    return parser


def _add(parser: ArgumentParser, parameter: inspect.Parameter, hint: Any, about: str) -> None:
    needed = parameter.default is parameter.empty
    if not needed and str(parameter.default) not in ("None", "False", "()", "{}"):
        usual = parameter.default
        about += f" (default: {','.join(usual) if isinstance(usual, tuple) else usual})"
    default: dict[str, Any] = {} if needed else {"default": parameter.default}
    if parameter.kind is parameter.POSITIONAL_ONLY:
        optional: dict[str, Any] = {} if needed else {"nargs": "?", **default}
        parser.add_argument(_flag(parameter.name), type=hint, help=about, **optional)
    elif parameter.kind is parameter.VAR_POSITIONAL:
        parser.add_argument(_flag(parameter.name), type=hint, help=about, nargs="+")
    elif hint is bool:
        parser.add_argument(_option(parameter.name), action="store_true", help=about)
    elif hint == tuple[str, ...]:
        parser.add_argument(_option(parameter.name), type=names, help=about, metavar="A,B", required=needed, **default)
    else:
        parser.add_argument(_option(parameter.name), type=hint, help=about, required=needed, **default)


def names(value: Any) -> tuple[str, ...]:
    """Read a list of names written with commas, or given as a list in YAML."""
    parts = value.split(",") if isinstance(value, str) else list(value)
    found = tuple(str(part).strip() for part in parts)
    if not all(found):
        raise ValueError("expected names separated by commas")
    return found


def _flag(name: str) -> str:
    return name.rstrip("_")


def _option(name: str) -> str:
    return "--" + _flag(name).replace("_", "-")


def _one_sentence(message: str, command: Command) -> str:
    """Shorten what the parser says to the flag, the value and what was expected."""
    key = re.search(r'Parser key "([^"]+)"', message)
    value = re.search(r"(?:Given value|Got value): (.*)", message)
    hints = {_flag(name): hint for name, hint in get_type_hints(command).items()}
    if key and value and key[1] in hints:
        wanted = [text for kind, text in _NAMES.items() if re.search(rf"\b{kind.__name__}\b", str(hints[key[1]]))]
        if get_origin(hints[key[1]]) is dict:
            return f"{_option(key[1])} {value[1]}: expected {_option(key[1])}.NAME and {wanted[0]}"
        choices = re.search(r"Literal\[(.*)\]", str(hints[key[1]]))
        expected = f"one of {choices[1]}" if choices else " or ".join(wanted)
        return f"{_option(key[1])} {value[1]}: expected {expected}"
    if missing := re.search(r"arguments are required: (.*)", message):
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
        positional = {p.name for p in inspect.signature(command).parameters.values() if p.kind in kinds}
        named = (name if name in positional else f"--{name.lstrip('-')}" for name in missing[1].split(", "))
        return f"missing: {', '.join(named)}"
    if strange := re.search(r"unrecognized arguments: (--[^\s=]+)|Option '(\S+)' is not accepted", message):
        flag, parameters = strange[1] or f"--{strange[2]}", inspect.signature(command).parameters.values()
        return f"there is no {flag}{nearest(flag, (_option(p.name) for p in parameters if p.kind is p.KEYWORD_ONLY))}"
    return " ".join(message.split())
