"""The one error a user is meant to see, what counts as the user's disk, and the hint at every misspelt name."""

import contextlib
import difflib
import errno
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ALIKE = 0.6
"""The share of two names that must agree before one is taken for a misspelling of the other."""


class InputError(ValueError):
    """The user's input or call is wrong; the message is one clear sentence that says what to do.

    The command line turns it into exit status 2. Anything else that escapes is our own fault (status 3).
    """


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
