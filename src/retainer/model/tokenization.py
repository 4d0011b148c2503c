"""Words to word pieces with any fast tokenizer, long sentences in overlapping windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from retainer.data.spans import Sentence
from retainer.model.batches import Encoded
from retainer.model.subwords import WordSplitter
from retainer.model.windows import Window, windows


@dataclass(frozen=True)
class Tokenization:
    """Turns sentences into pieces with any fast tokenizer; ``limit`` is the longest input, special pieces included."""

    tokenizer: Any
    limit: int

    def __call__(self, sentences: Sequence[Sentence], device: torch.device | str = "cpu") -> Encoded:
        """Encode sentences and put them on a device."""
        rows = _Windows(self._frame(), self.limit)
        for sentence, (ids, firsts) in zip(sentences, self._cutter(sentences), strict=True):
            rows.add(ids, firsts, len(sentence.words))
        return rows.encoded(self.tokenizer.pad_token_id or 0, device)

    def by_word(self, sentences: Sequence[Sentence]) -> Iterator[list[list[int]]]:
        """Yield the pieces of every word of each sentence."""
        for ids, firsts in self._cutter(sentences):
            yield [ids[a:b] for a, b in zip(firsts, [*firsts[1:], len(ids)][: len(firsts)], strict=True)]

    def _frame(self) -> tuple[list[int], list[int]]:
        """Return what the tokenizer puts before and behind a text."""
        bare = self.tokenizer("a", add_special_tokens=False)["input_ids"]
        full = self.tokenizer("a")["input_ids"]
        at = next(i for i in range(len(full)) if full[i : i + len(bare)] == bare)
        return full[:at], full[at + len(bare) :]

    @cached_property
    def _cutter(self) -> WordSplitter:
        return WordSplitter(self.tokenizer.backend_tokenizer, self.tokenizer.unk_token_id or 0)


class _Windows:
    """Collects windows while the sentences stream by."""

    def __init__(self, frame: tuple[list[int], list[int]], limit: int) -> None:
        self.before, self.behind = frame
        self.room = limit - len(self.before) - len(self.behind)
        self.ids: list[int] = []
        self.words: list[int] = []
        self.lengths: list[int] = []
        self.window_sentences: list[int] = []
        self.sentence_starts = [0]

    def add(self, ids: list[int], firsts: list[int], count: int) -> None:
        """Append a sentence as one window, or as several that overlap if it is too long for one."""
        base, number = self.sentence_starts[-1], len(self.sentence_starts) - 1
        if count and len(ids) <= self.room:
            self._window(ids, firsts, base, number)
        elif count:
            for window in windows([b - a for a, b in zip(firsts, [*firsts[1:], len(ids)], strict=True)], self.room):
                self._long(ids, firsts, base, number, window)
        self.sentence_starts.append(base + count)

    def _window(self, ids: list[int], firsts: list[int], word: int, sentence: int) -> None:
        marks = [-1] * (len(self.before) + len(ids) + len(self.behind))
        for offset, first in enumerate(firsts):
            marks[len(self.before) + first] = word + offset
        self.ids += [*self.before, *ids, *self.behind]
        self.words += marks
        self.lengths.append(len(marks))
        self.window_sentences.append(sentence)

    def _long(self, ids: list[int], firsts: list[int], base: int, sentence: int, window: Window) -> None:
        """Append one window of a long sentence; only the words it owns are marked."""
        begin, end = firsts[window.start], firsts[window.end] if window.end < len(firsts) else len(ids)
        owned = [firsts[word] - begin for word in range(window.own_start, window.own_end)]
        self._window(ids[begin : min(end, begin + self.room)], owned, base + window.own_start, sentence)

    def encoded(self, pad: int, device: torch.device | str) -> Encoded:
        """Turn what was collected into tensors."""
        lengths = np.array(self.lengths, dtype=np.int64)
        return Encoded(
            torch.tensor(self.ids, dtype=torch.long).to(device),
            torch.tensor(self.words, dtype=torch.long).to(device),
            torch.from_numpy(np.concatenate([[0], lengths.cumsum()]).astype(np.int64)).to(device),
            lengths,
            np.array(self.sentence_starts, dtype=np.int64),
            np.array(self.window_sentences, dtype=np.int64),
            pad,
            len(self.behind),
        )
