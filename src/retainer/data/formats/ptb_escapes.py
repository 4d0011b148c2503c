"""Words as the Penn Treebank and OntoNotes escape them: brackets and full stops have another meaning there."""

import re

from retainer.errors import InputError, quoted

_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_SPOKEN = {"/.": ".", "/?": "?", "/-": "-"}
_UNESCAPED = _BRACKETS | _SPOKEN
_ESCAPED = {plain: escaped for escaped, plain in _BRACKETS.items()}
_WHITE_SPACE = re.compile(r"[ \t\r\n]")


def unescape_word(word: str) -> str:
    """Return the word that is meant: encoders were trained on brackets, hardly ever on -LRB-."""
    return _UNESCAPED.get(word, word)


def escape_word(word: str) -> str:
    """Return the word as OntoNotes writes it, if reading would give it back."""
    if word in _UNESCAPED:
        raise InputError(f"the word {quoted(word)} would read back as {_UNESCAPED[word]!r}; write that instead")
    if _WHITE_SPACE.search(word):
        raise InputError(
            f"the word {quoted(word)} has a space, a tab or a line break, which separate words here; replace it"
        )
    return _ESCAPED.get(word, word)
