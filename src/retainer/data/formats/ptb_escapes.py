"""Words as OntoNotes writes them: some are spelt around, because brackets and full stops had another meaning there."""

import re

from retainer.errors import InputError

_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_SPOKEN = {"/.": ".", "/?": "?", "/-": "-"}
_PLAIN = _BRACKETS | _SPOKEN
_SPELT = {plain: spelt for spelt, plain in _BRACKETS.items()}
_GAP = re.compile(r"[ \t\r\n]")


def plain(word: str) -> str:
    """Return the word that is meant: an encoder has read brackets, but hardly ever -LRB-."""
    return _PLAIN.get(word, word)


def spelt(word: str) -> str:
    """Return the word as OntoNotes writes it, if it would come back."""
    if word in _PLAIN:
        raise InputError(f"the word {word!r} would read back as {_PLAIN[word]!r}; write that instead")
    if _GAP.search(word):
        raise InputError(f"the word {word!r} has a blank, a tab or a line break, which part words here; replace it")
    return _SPELT.get(word, word)
