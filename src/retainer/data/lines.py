"""The lines of a corpus file: where they end, and the place that an error names."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from types import TracebackType
from typing import TypeVar

from retainer.data.labels import require_names
from retainer.data.spans import Sentence
from retainer.errors import InputError

_RECOGNISED_BY = 100
"""Lines that decide between columns and plain text, in which a line may end in O as well."""


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    r"""Count the lines of ``text`` from 1.

    Only ``\n`` ends a line, with or without ``\r`` before it: words may hold the other characters, such as U+0085 and
    U+2028, that ``str.splitlines`` takes for line ends.
    """
    return ((number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), 1))


def is_blank(line: str) -> bool:
    """Say whether a line holds nothing but spaces, tabs and carriage returns."""
    return not line.strip(" \t\r")


def first_line(text: str) -> str:
    """Return the first line that is not blank; formats are recognised by it."""
    return next((line for _, line in numbered_lines(text) if not is_blank(line)), "")


def first_lines(lines: Iterable[str]) -> list[str]:
    """Return the first lines that are not blank, as many as it takes to recognise a format."""
    return list(islice((line for line in lines if not is_blank(line)), _RECOGNISED_BY))


class error_location:
    """Put a place, such as a file and a line, before the message of an error: code that fails need not know it.

    A class, because it encloses the reading of every cell of a corpus: a generator would take a third of that time.
    """

    __slots__ = ("where",)

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None:
        """Do nothing: only errors matter."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raise an error of the user's input with its place."""
        if isinstance(error, InputError):
            raise InputError(f"{self.where}: {error}") from error


_S = TypeVar("_S", bound=Sentence)


def write_sentences(sentences: Iterable[_S], write: Callable[[_S], str]) -> str:
    """Join what ``write`` makes of every sentence; one that no format could read back is refused by its number."""
    parts = []
    for number, sentence in enumerate(sentences, 1):
        with error_location(f"sentence {number}"):
            require_whole_words(sentence)
            parts.append(write(sentence))
    return "".join(parts)


def require_whole_words(sentence: Sentence) -> None:
    """Refuse a sentence without words, with an empty one, or with an entity that has no type."""
    if not sentence.words:
        raise InputError("it has no words, and no format can hold that; leave it out")
    if not all(sentence.words):
        raise InputError(f"word {sentence.words.index('') + 1} is empty; leave it out")
    for span in sentence.spans:
        if not span.type:
            raise InputError(f"the entity at words {span.start}-{span.end} has no type; name one")
        require_names((span.type,))
