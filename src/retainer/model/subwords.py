"""From words to the pieces of a tokenizer, as the words stand in their text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from retainer.data.spans import Sentence

Cut = tuple[list[int], list[int]]
"""The pieces of a sentence, and where each of its words begins among them."""


class WordSplitter:
    """Cuts words into pieces with any fast tokenizer, one word at a time, so that no piece belongs to two words.

    Byte-level and SentencePiece tokenizers write the blank before a word into its first piece. So a word that touches
    the one before it (a comma, say) must be cut as one without a blank, and the first word as the tokenizer cuts the
    beginning of a text: then a text is cut as transformers' pipeline cuts it, wherever no piece would span two words.
    """

    def __init__(self, backend: Any, unknown: int) -> None:
        """Take a tokenizer of the package tokenizers, and the number of its unknown piece."""
        self.backend, self.unknown = backend, unknown
        parts = [part for step in (backend.normalizer, backend.pre_tokenizer) if step for part in _parts(_spec(step))]
        marks = [mark for part in parts if (mark := _marks_start(part)) is not None]
        self.sees_blanks = bool(marks)
        self.marks_start = any(marks)

    def __call__(self, sentences: Sequence[Sentence]) -> Iterator[Cut]:
        """Yield the pieces of each sentence and where each of its words begins among them."""
        touching = [self._touching(sentence) for sentence in sentences] if self.sees_blanks else []
        if not any(map(any, touching)):
            words = [sentence.words for sentence in sentences]
            cuts = self._encoded(self._after_blank, words)
            yield from (_complete(*cut, len(row), self.unknown) for cut, row in zip(cuts, words, strict=True))
            return
        yield from self._mixed(sentences, touching)

    def _touching(self, sentence: Sentence) -> list[bool]:
        """Say of every word whether no blank stands before it."""
        if sentence.text is None or sentence.offsets is None:
            return [not self.marks_start and at == 0 for at in range(len(sentence.words))]
        before = (sentence.text[start - 1] if start else "" for start, _ in sentence.offsets)
        return [not (one.isspace() if one else self.marks_start) for one in before]

    def _mixed(self, sentences: Sequence[Sentence], touching: Sequence[Sequence[bool]]) -> Iterator[Cut]:
        """Cut the words after a blank and the others apart, and put them in order again."""
        halves = []
        for kind, backend in ((False, self._after_blank), (True, self._touching_backend)):
            words = [
                [word for word, flag in zip(sentence.words, flags, strict=True) if flag == kind]
                for sentence, flags in zip(sentences, touching, strict=True)
            ]
            cuts = self._encoded(backend, words)
            halves.append([iter(_by_word(*cut, len(row), self.unknown)) for cut, row in zip(cuts, words, strict=True)])
        for flags, spaced, glued in zip(touching, *halves, strict=True):
            yield _joined([next(glued if flag else spaced) for flag in flags])

    def _encoded(self, backend: Any, words: Sequence[Sequence[str]]) -> Iterator[Cut]:
        """Yield pieces and the words they belong to; what a text without words gives belongs to none."""
        filled = [list(row) or [" "] for row in words]
        backend.no_truncation()
        backend.no_padding()
        encodings = backend.encode_batch(filled, is_pretokenized=True, add_special_tokens=False) if filled else []
        return ((encoding.ids, encoding.word_ids) for encoding in encodings)

    @cached_property
    def _after_blank(self) -> Any:
        """The tokenizer that takes every word for one after a blank."""
        return _variant(self.backend, blank=True) if self.sees_blanks else self.backend

    @cached_property
    def _touching_backend(self) -> Any:
        """The tokenizer that takes every word for one that touches the word before."""
        return _variant(self.backend, blank=False)


def _spec(step: Any) -> dict[str, Any]:
    """Return a step of a tokenizer as its file would hold it."""
    found: dict[str, Any] = json.loads(step.__getstate__())
    return found


def _parts(step: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the steps a step is made of."""
    if step is None:
        return []
    inner = [*step.get("pretokenizers", ()), *step.get("normalizers", ())]
    return [part for one in inner for part in _parts(one)] if inner else [step]


def _marks_start(part: dict[str, Any]) -> bool | None:
    """Say whether a step puts a blank before a text; None if it does not keep blanks at all."""
    if part["type"] == "ByteLevel":
        return bool(part["add_prefix_space"])
    if part["type"] == "Metaspace":
        return bool(part["prepend_scheme"] != "never")
    return True if part["type"] == "Prepend" else None


def _variant(backend: Any, *, blank: bool) -> Any:
    """Return a tokenizer that puts a blank before everything it cuts, or before nothing."""
    spec = json.loads(backend.to_str())
    for part in [*_parts(spec["pre_tokenizer"]), *_parts(spec["normalizer"])]:
        if part["type"] == "ByteLevel":
            part["add_prefix_space"] = blank
        elif part["type"] == "Metaspace":
            part["prepend_scheme"] = "always" if blank else "never"
        elif part["type"] == "Prepend" and not blank:
            part["prepend"] = ""
    return Tokenizer.from_str(json.dumps(spec))


def _complete(ids: list[int], owners: list[int], count: int, unknown: int) -> Cut:
    """Find the first piece of every word; a word the tokenizer drops is kept as one unknown piece."""
    firsts = [i for i, owner in enumerate(owners) if i == 0 or owner != owners[i - 1]]
    return (ids, firsts) if len(firsts) == count else _joined(_by_word(ids, owners, count, unknown))


def _by_word(ids: list[int], owners: list[int], count: int, unknown: int) -> list[list[int]]:
    """Give every word its pieces."""
    words: list[list[int]] = [[] for _ in range(count)]
    for piece, owner in zip(ids, owners, strict=True):
        if owner < count:
            words[owner].append(piece)
    return [pieces or [unknown] for pieces in words]


def _joined(words: Sequence[list[int]]) -> Cut:
    starts = np.cumsum([0, *map(len, words)])[:-1].tolist()
    return [piece for word in words for piece in word], starts
