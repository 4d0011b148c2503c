"""The one error a user is meant to see, and the hint that goes with a misspelt name."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """The user's input or call is wrong; the message is one clear sentence that says what to do.

    The command line turns it into exit status 2. Anything else that escapes is our own fault (status 3).
    """


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint at the known name a misspelt one probably means, or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
