"""Plain English where a user reads it: the README, docs/cli.md, the help of the verbs, and every message.

A message is any string literal of the package that is not a docstring, so no call of `say` or `InputError` can be
forgotten; a string without a space is a key, not a message.
"""

import ast
import re
from pathlib import Path

import pytest

from retainer.cli.arguments import find_command
from retainer.cli.main import PARTS, VERBS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "retainer"

BANNED = {
    r"(?<!there )\b(?:is|are|was|were|be) no (?!longer\b|more\b|less\b|fewer\b|better\b|worse\b)": "is not a",
    r"\b(?:no|some|any|every)body\b": "say what happens, not who does it",
    r"\bwho(?:so)?ever\b": "say what happens, not who does it",
    r"\b(?:tells?|told|telling)\b(?! \w+ apart\b| apart\b)": "report, print, say",
    r"\bthe versions? before\b(?! …| the\b| that\b)": "previous version",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\bparted by\b": "separated by",
    r"\bblanks?\b(?! lines?\b)": "space",
    r"\bmakes all\b": "disables early stopping",
    r"\b(?:on|off) duty\b": "served",
}
"""Phrases that read like a translation, and what to write instead. "There is no such file" is fine."""

WORD_LISTS = {"data/phrases.py"}
"""Files that hold sentences of the generated corpus, not messages."""

FILES = sorted(path for path in SOURCE.rglob("*.py") if str(path.relative_to(SOURCE)) not in WORD_LISTS)


def offences(text):
    """Return every banned phrase of a text, with what to write instead."""
    spaced = " ".join(text.split())
    return [
        f"{spaced[max(0, found.start() - 40) : found.end() + 30]!r}: write {better!r}"
        for pattern, better in BANNED.items()
        for found in re.finditer(pattern, spaced, flags=re.IGNORECASE)
    ]


def messages(tree):
    """Yield the string literals of a module with their lines: all but docstrings, and an f-string as a whole."""
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
            skipped.update(part for part in node.values if isinstance(part, ast.Constant))
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            if " " in node.value:  # a single word is a key or a value of JSON, not a message
                yield node.lineno, node.value


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_messages(path):
    found = [
        f"{path.relative_to(ROOT)}:{line}: {offence}"
        for line, text in messages(ast.parse(path.read_text("utf-8")))
        for offence in offences(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("verb", VERBS)
def test_help(verb):
    for name in (verb, *PARTS.get(verb, ())):
        assert not (found := offences(find_command(verb, name).__doc__)), "\n".join(found)


@pytest.mark.parametrize("page", ["README.md", "docs/cli.md"])
def test_pages(page):
    found = offences((ROOT / page).read_text("utf-8"))
    assert not found, "\n".join(found)


def test_what_is_fine_passes_and_what_is_not_does_not():
    fine = "there is no such file; it is no longer there; a blank line; the two can be told apart; is not a model"
    assert offences(fine) == []
    for text in (
        "X is no model",
        "nobody knows",
        "whoever asks",
        "told from the content",
        "the version before",
        "parted by blanks",
    ):
        assert offences(text), text
    tree = ast.parse('"""nobody"""\ndef f(x):\n    """whoever"""\n    raise InputError(f"{x} is no " "model")\n')
    assert [text for _, text in messages(tree)] == ["… is no model"]
