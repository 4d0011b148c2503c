"""The one error a user is meant to see, and the hint that goes with every misspelt name."""

import difflib
from collections.abc import Iterable

ALIKE = 0.6
"""The share of two names that must agree before one is taken for a misspelling of the other."""


class InputError(ValueError):
    """The user's input or call is wrong; the message is one clear sentence that says what to do.

    The command line turns it into exit status 2. Anything else that escapes is our own fault (status 3).
    """


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint at the known name a misspelt one probably means, or nothing.

    Case, hyphens and underscores do not count: CFNER means cfner, and fg1-pg1 means FG-1-PG-1.
    """
    alike = {name: difflib.SequenceMatcher(None, _bare(name), _bare(word)).ratio() for name in sorted(known)}
    close = max(alike, key=lambda name: alike[name], default="")
    return f" (did you mean {close!r}?)" if alike.get(close, 0) >= ALIKE else ""


def _bare(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def unknown(kind: str, word: str, known: Iterable[str]) -> InputError:
    """Return the complaint about a name that is not in a table of ours: the nearest one, and all there are."""
    names = list(known)
    return InputError(f"there is no {kind} {word!r}{nearest(word, names)}; known are {', '.join(names)}")
