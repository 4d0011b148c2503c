"""A command line out of a function: its signature is the interface, its docstring the help.

Parameters before the slash are positional, a starred one takes all that follow, keyword-only ones are flags; a trailing
underscore is dropped (``from_`` is --from, and ``import_`` the command import), others become hyphens; a tuple of
strings takes A,B,C; a dict takes --name.key value. Every verb also reads --config FILE (YAML). A command with a
parameter ``config`` also takes the record of a version for FILE, and gets its path.
"""

from __future__ import annotations

import inspect
import os
import re
from argparse import ArgumentError, HelpFormatter
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import yaml
from docstring_parser import parse as parse_docstring
from jsonargparse import ActionConfigFile, ArgumentParser  # type: ignore[attr-defined]

from retainer.cli.columns import ABOUT_COLUMNS
from retainer.errors import InputError, nearest
from retainer.methods import learnable
from retainer.training.reproduce import expanded

Command = Callable[..., Any]

_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def find_command(verb: str, word: str) -> Command:
    """Return the function of a command: that of a verb, or of its second word, which lies beside it."""
    command: Command = getattr(import_module(f"retainer.cli.verbs.{verb}"), word + "_" * iskeyword(word))
    return command


def parse(verb: str, command: Command, argv: Sequence[str]) -> dict[str, Any]:
    """Return the arguments for ``command``, or explain in one sentence what is wrong with ``argv``."""
    parser, record = build(verb, command), None
    parameters = inspect.signature(command).parameters
    if "config" in parameters:
        argv, record = expanded(argv)
    try:
        given = parser.parse_args(_flags_first(parser, argv)).as_dict()
    except ArgumentError as error:
        raise InputError(f"{_one_sentence(str(error), command)} (see: retainer {verb} --help)") from None
    given["config"] = record
    names = {_flag(name): name for name in parameters}
    return {names[key]: value for key, value in given.items() if key in names}


def _flags_first(parser: ArgumentParser, argv: Sequence[str]) -> list[str]:
    """Put flags and their values before the rest: a positional that may be missing is else taken for missing there."""
    alone = {flag for action in parser._actions if action.nargs == 0 for flag in action.option_strings}
    flags, rest, words = list[str](), list[str](), iter(argv)
    for word in words:
        if word == "--":
            return [*flags, *rest, word, *words]
        if not word.startswith("--"):
            rest.append(word)
            continue
        value = None if "=" in word or word in alone else next(words, "")
        if value == "":  # nothing follows: the parser says so, unless something is put behind it
            return [*flags, *rest, word]
        flags += [word] if value is None else [word, value]
    return [*flags, *rest]


def call(command: Command, given: dict[str, Any]) -> Any:
    """Call a command with parsed arguments, positional ones by position."""
    parameters = list(inspect.signature(command).parameters.values())
    positional = [given.pop(p.name) for p in parameters if p.kind is p.POSITIONAL_ONLY]
    many = [value for p in parameters if p.kind is p.VAR_POSITIONAL for value in given.pop(p.name)]
    return command(*positional, *many, **given)


def build(verb: str, command: Command) -> ArgumentParser:
    """Return the parser of one verb."""
    docs = parse_docstring(command.__doc__ or "")
    about = {param.arg_name: _filled(param.description or "") for param in docs.params}
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
    records = "config" in inspect.signature(command).parameters
    parser.add_argument("--config", action=_Options, help=about.get("config") or usual, records=records)
    return parser


def _filled(about: str) -> str:
    """Put in what several verbs share or a table names, so that the help cannot go stale."""
    return about.replace("{methods}", ", ".join(learnable())).replace("{columns}", ABOUT_COLUMNS)


_NO_OPTIONS = "not a YAML file of options"


class _Options(ActionConfigFile):
    """A file of options. A wrong one is named and never quoted: it may be private data, given by mistake."""

    def __init__(self, *, records: bool, **usual: Any) -> None:
        super().__init__(**usual)  # type: ignore[no-untyped-call]
        self.wrong = "neither a YAML file of options nor the retainer.json of a version" if records else _NO_OPTIONS

    def __call__(self, parser: Any, cfg: Any, values: Any, option_string: str | None = None) -> None:
        """Look at the file before the parser does, unless it can be read only once."""
        if not os.path.exists(values):
            raise InputError(f"{values}: there is no such file")
        known = [action.dest for action in parser._actions]
        if os.path.isdir(values) or (os.path.isfile(values) and not _are_options(self._read(values), known)):
            raise InputError(f"{values} is {self.wrong} (see: {parser.prog} --help)")
        super().__call__(parser, cfg, values, option_string)  # type: ignore[no-untyped-call]

    def _read(self, path: str) -> Any:
        """Return what a file says; where it is not YAML, the line is enough to find the error."""
        try:
            return yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None
        except yaml.MarkedYAMLError as error:
            line = f" (line {error.problem_mark.line + 1} is not valid YAML)" if error.problem_mark else ""
            raise InputError(f"{path} is {self.wrong}{line}") from None
        except (UnicodeDecodeError, yaml.YAMLError):
            return None


_MEANT = 0.8
"""How alike the names in a file must be to options before it is taken for a file of options at all."""


def _are_options(found: Any, known: Sequence[str]) -> bool:
    """Say whether these are meant as options: half of them are, or are misspelt, which the parser reports."""
    if not isinstance(found, dict) or not found or "config" in found:  # one more file would not be looked at
        return False
    heads = [str(key).partition(".")[0].replace("-", "_") for key in found]
    return 2 * sum(bool(get_close_matches(head, known, 1, _MEANT)) for head in heads) >= len(heads)


_MAY_BE_NONE = {"models"}
"""Lists that may be left out where an option takes their place; the verb itself complains about neither."""


def _add(parser: ArgumentParser, parameter: inspect.Parameter, hint: Any, about: str) -> None:
    needed = parameter.default is parameter.empty
    if not needed and "(default:" not in about and str(parameter.default) not in ("None", "False", "()", "{}"):
        usual = parameter.default
        about += f" (default: {','.join(usual) if isinstance(usual, tuple) else usual})"
    default: dict[str, Any] = {} if needed else {"default": parameter.default}
    if parameter.kind is parameter.POSITIONAL_ONLY:
        optional: dict[str, Any] = {} if needed else {"nargs": "?", **default}
        parser.add_argument(_flag(parameter.name), type=hint, help=about, **optional)
    elif parameter.kind is parameter.VAR_POSITIONAL:
        parser.add_argument(
            _flag(parameter.name), type=hint, help=about, nargs="*" if parameter.name in _MAY_BE_NONE else "+"
        )
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


_FOR_EVERY_NAME = {"threshold": ", or --threshold.all for every type"}
"""What to say beside an option by name that has one for all names."""


def _one_sentence(message: str, command: Command) -> str:
    """Shorten what the parser says to the flag, the value and what was expected."""
    key = re.search(r'Parser key "([^"]+)"', message)
    value = re.search(r"(?:Given value|Got value): (.*)", message)
    hints = {_flag(name): hint for name, hint in get_type_hints(command).items()}
    if key and value and key[1] in hints:
        wanted = [text for kind, text in _NAMES.items() if re.search(rf"\b{kind.__name__}\b", str(hints[key[1]]))]
        if get_origin(hints[key[1]]) is dict:
            every = _FOR_EVERY_NAME.get(key[1], "")
            return f"{_option(key[1])} {value[1]}: expected {_option(key[1])}.NAME and {wanted[0]}{every}"
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
    if "Unexpected config" in message or "Problems parsing config" in message:  # goes on with all that the file holds
        return f"--config: this is {_NO_OPTIONS}"
    return " ".join(message.split())
