"""Tables that describe the code, out of its docstrings and signatures: rooms, verbs, options, fields of the recipe."""

import ast
import dataclasses
import inspect
from argparse import Action
from collections.abc import Callable, Sequence
from pathlib import Path

from docstring_parser import parse as parse_docstring

from retainer.cli import arguments
from retainer.cli.main import PARTS, VERBS
from retainer.training import recipe

SOURCE = Path(__file__).parents[1] / "src" / "retainer"
DOORS = ("__init__.py", "__main__.py")
"""Files that only lead into the package."""
ROOMS = (
    "data",
    "metrics",
    "model",
    "methods",
    "versions",
    "workers",
    "comparison",
    "training",
    "bench",
    "report",
    "workbench",
    "serve",
    "cli",
)
"""The rooms, each importing only from those before it."""
COMMANDS = tuple((verb, *part) for verb in VERBS for part in ((), *((name,) for name in PARTS.get(verb, ()))))
"""The words of every command: a verb, or a verb and its second word."""
SHARED = {
    "--json": "print the result as one JSON document",
    "--out": "the file or folder to write",
    "--page": "also write an HTML page",
    "--device": "where to compute: auto, cpu or cuda",
    "--seed": "fixes what is random",
    "--set": "change a field of the method or the recipe, see below",
    "--recipe": "the recipe these fields belong to: retainer or paper",
    "--keep-parent": "store what `rollback` needs inside the new version",
    "--input": "the texts to read, one per line or as JSON lines",
    "--show": "how many examples to print",
}
"""Flags that mean the same wherever they occur."""
ALWAYS = ("help", "print_config", "config")
"""Options every verb has; the page describes them once."""


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Write a table whose first row is its head."""
    head, *body = rows
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *body])


def rooms() -> str:
    """Write what every room is for."""
    return markdown([("room", "what it holds"), *(_described(SOURCE / room) for room in ROOMS)])


def everything() -> str:
    """Write what every file of the package, every room and every folder in a room is for."""
    rows = [_described(path) for path in sorted(SOURCE.glob("*.py")) if path.name not in DOORS]
    for room in ROOMS:
        inner = sorted(path.parent for path in (SOURCE / room).glob("*/__init__.py"))
        rows += [_described(folder) for folder in (SOURCE / room, *inner)]
    return markdown([("file or room", "what it holds"), *rows])


def _described(path: Path) -> tuple[str, str]:
    file = path / "__init__.py" if path.is_dir() else path
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    name = path.relative_to(SOURCE).as_posix() + ("/" if path.is_dir() else "")
    return f"`{name}`", " ".join(docstring.split("\n\n")[0].split()).replace("``", "`")


def verbs() -> str:
    """Write the table of verbs as `retainer --help` has it, each linked to its section."""
    return markdown([("verb", "purpose"), *((f"[`{verb}`](#{verb})", about) for verb, about in VERBS.items())])


def shared_flags() -> str:
    """Write which verbs have the flags that mean the same for all of them."""
    users: dict[str, list[str]] = {flag: [] for flag in SHARED}
    for words in COMMANDS:
        for flag in {flag for action in _actions(words) for flag in action.option_strings} & SHARED.keys():
            users[flag].append(f"`{' '.join(words)}`")
    rows = [(f"`{flag}`", meaning, ", ".join(users[flag])) for flag, meaning in SHARED.items()]
    return markdown([("flag", "meaning", "verbs"), *rows])


def options_of(words: Sequence[str]) -> Callable[[], str]:
    """Return what writes the arguments and flags of one command."""
    return lambda: _options(words)


def _options(words: Sequence[str]) -> str:
    docs = parse_docstring(_command(words).__doc__ or "")
    rows = [(f"`{_usage(action)}`", _cell(_help(action))) for action in _actions(words)]
    more = (
        f"\n\n{' '.join(docs.long_description.split())}"
        if docs.long_description and words not in (("types",), ("project",))
        else ""
    )
    return f"{docs.short_description}{more}\n\n{markdown([('argument', 'meaning'), *rows])}"


def _command(words: Sequence[str]) -> Callable[..., object]:
    return arguments.find_command(words[0], words[-1])


def _actions(words: Sequence[str]) -> list[Action]:
    parser = arguments.build(" ".join(words), _command(words))
    return [action for action in parser._actions if action.dest not in ALWAYS]


def _usage(action: Action) -> str:
    """Write an argument as a call would have it: TEXT, --flag, --flag VALUE or --flag.NAME VALUE."""
    if not action.option_strings:
        name = action.dest.upper()
        return f"{name} ..." if action.nargs == "+" else f"[{name}]" if action.nargs == "?" else name
    flag = action.option_strings[0]
    if action.nargs == 0:
        return flag
    if isinstance(action.default, dict):
        return f"{flag}.NAME VALUE"
    return f"{flag} {action.metavar or action.dest.upper()}"


def _help(action: Action) -> str:
    text = " ".join((action.help or "").split())
    return f"{text} (required)" if action.option_strings and action.required else text


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def recipe_fields() -> str:
    """Write the fields of the recipe: default, the value of the recipe `paper` where it differs, and meaning."""
    ours, paper = recipe.RECIPES["retainer"], recipe.RECIPES["paper"]
    rows = [("field", "`retainer`", "`paper`", "meaning")]
    docs = _field_docs()
    for field in dataclasses.fields(recipe.Recipe):
        value, other = getattr(ours, field.name), getattr(paper, field.name)
        rows.append((f"`{field.name}`", _value(value), "" if other == value else _value(other), docs[field.name]))
    return markdown(rows)


def _field_docs() -> dict[str, str]:
    """Return the docstring below each field of the recipe."""
    [body] = [node.body for node in ast.parse(inspect.getsource(recipe.Recipe)).body if isinstance(node, ast.ClassDef)]
    pairs = zip(body, body[1:], strict=False)
    return {
        field.target.id: _cell(" ".join(str(doc.value.value).split()))
        for field, doc in pairs
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(doc, ast.Expr)
        and isinstance(doc.value, ast.Constant)
    }


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)
