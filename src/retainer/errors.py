"""The one error a user is meant to see, how it quotes what was given, and the hint at every misspelt name."""

import contextlib
import difflib
import errno
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_COMPARED = 1000
"""Names that a misspelt one is compared with."""
ALIKE = 0.6
"""The share of two names that must agree before one is taken for a misspelling of the other."""


_SENTENCE = 2000
"""Characters of a message at most, whatever was quoted in it."""
_QUOTE = 80
"""Characters of what is quoted."""
_STEERING = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""What steers a terminal or turns its text around, instead of being shown; tabs and line ends aside."""


class InputError(ValueError):
    """The user's input or call is wrong; the message is one clear sentence that says what to do.

    The command line turns it into exit status 2. Anything else that escapes is our own fault (status 3). A message
    that has become too long because of what it quotes keeps its beginning and its end.
    """

    def __init__(self, message: str) -> None:
        """Keep the sentence; of one that quotes too much, the middle is left out."""
        half = _SENTENCE // 2
        super().__init__(message if len(message) <= _SENTENCE else f"{message[:half]} … {message[3 - half :]}")


class LostProcess(Exception):
    """A process of a run of several is gone, so the others end too; the message is one sentence (exit status 3)."""


class SaidElsewhere(Exception):
    """This process of several ends, and another one says why."""

    def __init__(self, status: int) -> None:
        """Keep the exit status, so that every process of the run ends with the same."""
        super().__init__(f"exit status {status}")
        self.status = status


def shortened(text: str, most: int = _QUOTE) -> str:
    """Return the beginning of a text that may be of any length, for a message about it."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def quoted(text: str) -> str:
    """Quote the beginning of a text in a message about it."""
    return repr(shortened(text))


def printable(text: str) -> str:
    """Write characters that would steer a terminal as escapes; in JSON they mean the same."""
    if _STEERING.search(text) is None:
        return text
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_CLOSED = {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EIO, errno.ESTALE}


def disk_refusal(error: BaseException) -> str:
    """Say in a few words what the user's disk refused, or return nothing where an error is of another kind.

    The writer of safetensors has an error class of its own, which holds the number of the system's in its text.
    """
    number = error.errno if isinstance(error, OSError) else None
    if type(error).__name__ == "SafetensorError" and (found := re.search(r"\(os error ([0-9]+)\)", str(error))):
        number = int(found[1])
    return os.strerror(number) if number is not None and number in _FULL | _CLOSED else ""


@contextlib.contextmanager
def disk_refusals(place: str | Path) -> Iterator[None]:
    """Turn what the disk refuses while ``place`` is written into one sentence about it."""
    try:
        yield
    except Exception as error:
        reason = disk_refusal(error) or (isinstance(error, OSError) and error.strerror)
        if not reason:
            raise
        raise InputError(f"{place} cannot be written: {reason}") from error


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint at the known name a misspelt one probably means, or nothing.

    Case, hyphens and underscores do not count: CFNER means cfner, and fg1-pg1 means FG-1-PG-1. Whatever is too long for
    a name, or the thousandth of them, is not compared: that would take minutes.
    """
    names = sorted(known)[:_COMPARED] if len(word) <= _QUOTE else []
    alike = {name: difflib.SequenceMatcher(None, _bare(name), _bare(word)).ratio() for name in names}
    close = max(alike, key=lambda name: alike[name], default="")
    return f" (did you mean {close!r}?)" if alike.get(close, 0) >= ALIKE else ""


def _bare(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def unknown(kind: str, word: str, known: Iterable[str]) -> InputError:
    """Return the complaint about a name that is not in a table of ours: the nearest one, and all there are."""
    names = list(known)
    return InputError(f"there is no {kind} {quoted(word)}{nearest(word, names)}; known are {', '.join(names)}")
