"""A place that a person is asked to look at: sentences by their numbers and the words in question, or a line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from retainer.data.spans import Sentence

_QUOTED = 60
"""Characters of a text that are quoted."""


@dataclass(frozen=True)
class Place:
    """One or several sentences (1 is the first), a text in them that can be searched for, and a remark."""

    sentences: tuple[int, ...]
    text: str = ""
    remark: str = ""
    further: int = 0
    """How many sentences more there are than those named."""
    where: str = ""
    """A file and a line, for what was noticed before there were sentences; they have no number then."""

    def __str__(self) -> str:
        """Write it on a line."""
        text = f": {self.text!r}" if self.text else ""
        return f"{self.where or self._numbers()}{text}" + (f" ({self.remark})" if self.remark else "")

    def _numbers(self) -> str:
        parts = [str(row) for row in self.sentences] + ([f"{self.further} more"] if self.further else [])
        listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
        return f"{'sentence' if len(parts) == 1 else 'sentences'} {listed}"

    def as_dict(self) -> dict[str, Any]:
        """Return it for a JSON document."""
        return {**asdict(self), "sentences": list(self.sentences)}


def place_of(rows: Iterable[int], show: int, text: str = "", remark: str = "") -> Place:
    """Name the first few sentences of some, each once."""
    different = tuple(dict.fromkeys(rows))
    return Place(different[:show], text[:_QUOTED], remark, max(0, len(different) - show))


def place_in(sentence: Sentence, row: int, start: int = 0, end: int = _QUOTED, remark: str = "") -> Place:
    """Name some words of a sentence so that a person can search for them."""
    return Place((row,), quoted_words(sentence, start, end), remark)


def quoted_words(sentence: Sentence, start: int = 0, end: int = _QUOTED) -> str:
    """Return some words as they stand in the text, with its own blanks between them or none."""
    last = min(end, start + _QUOTED, len(sentence.words))
    if sentence.text is None or sentence.offsets is None or last <= start:
        return " ".join(sentence.words[start:last])[:_QUOTED]
    return sentence.text[sentence.offsets[start][0] : sentence.offsets[last - 1][1]][:_QUOTED]
