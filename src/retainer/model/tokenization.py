"""Words to word pieces and back: flat tensors that live on the device, and batches gathered from them there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from retainer.data.spans import Sentence
from retainer.model.subwords import WordSplitter

BUCKETS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""Lengths of training batches: little padding, and few shapes to record on a GPU."""


@dataclass(frozen=True)
class Batch:
    """Windows of pieces padded to one length; ``words`` holds the number of the word at each first piece, else -1."""

    ids: Tensor
    mask: Tensor
    words: Tensor


@dataclass(frozen=True)
class Encoded:
    """Sentences as pieces. A long sentence takes several windows, but each word is counted in exactly one of them.

    ``ids`` and ``words`` are flat over all windows; window w occupies ``starts[w]`` to ``starts[w + 1]``. Word
    numbers run through the whole corpus, and ``sentence_starts`` says where each sentence begins among them.
    """

    ids: Tensor
    words: Tensor
    starts: Tensor
    lengths: np.ndarray[Any, np.dtype[np.int64]]
    sentence_starts: np.ndarray[Any, np.dtype[np.int64]]
    window_sentences: np.ndarray[Any, np.dtype[np.int64]]
    pad: int
    behind: int
    """How many special pieces end a window."""
    turns: np.ndarray[Any, np.dtype[np.int64]] | None = None
    """The windows of an epoch, where some are shown more than once."""

    @property
    def word_count(self) -> int:
        """The number of words of all sentences."""
        return int(self.sentence_starts[-1])

    @property
    def device(self) -> torch.device:
        """Where the tensors live."""
        return self.ids.device

    def steps(self, size: int) -> int:
        """Count the batches of an epoch."""
        return -(-len(self._epoch) // size)

    @property
    def _epoch(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.arange(len(self.lengths)) if self.turns is None else self.turns

    def repeated(self, times: np.ndarray[Any, np.dtype[np.int64]]) -> Encoded:
        """Return the same sentences, of which an epoch shows each as often as it says; a look sees each once."""
        return replace(self, turns=np.repeat(np.arange(len(self.lengths)), times[self.window_sentences]))

    def batch(self, windows: Tensor, length: int) -> Batch:
        """Gather windows into a padded batch, on the device and without asking it anything."""
        first = self.starts[windows].unsqueeze(1)
        place = first + torch.arange(length, device=self.device)
        mask = place < self.starts[windows + 1].unsqueeze(1)
        place = place.clamp(max=len(self.ids) - 1)
        return Batch(self.ids[place].masked_fill(~mask, self.pad), mask, self.words[place].masked_fill(~mask, -1))

    def without(self, batch: Batch, gone: Tensor) -> tuple[Batch, Tensor]:
        """Leave words out of a batch, pieces and all; the others move up. Return also the place each came from.

        ``gone`` marks the first pieces of the words. What follows a word and is no word's first piece goes with it,
        except for the special pieces at the end.
        """
        place = torch.arange(batch.ids.shape[1], device=self.device).expand_as(batch.ids)
        first = place.masked_fill(batch.words < 0, -1).cummax(dim=1).values
        inside = (first >= 0) & (place < batch.mask.sum(dim=1, keepdim=True) - self.behind)
        lost = (inside & gone.view_as(batch.ids).gather(1, first.clamp(min=0))) | ~batch.mask
        places = lost.long().argsort(dim=1, stable=True)
        mask = ~lost.gather(1, places)
        ids, words = batch.ids.gather(1, places), batch.words.gather(1, places)
        return Batch(ids.masked_fill(~mask, self.pad), mask, words.masked_fill(~mask, -1)), places

    def shuffled(self, size: int, seed: int, *, few_shapes: bool = False) -> list[tuple[Tensor, int]]:
        """Return an epoch of training batches: windows of similar length together, in an order fixed by the seed.

        What does not fill a batch of its own length moves up to the next, so only one batch may be small. A batch is
        as long as its longest window, or with ``few_shapes`` as one of BUCKETS: for steps that are recorded by shape.
        """
        rng = np.random.default_rng(seed)
        order = rng.permutation(self._epoch)
        padded = bucket(self.lengths[order])
        batches: list[tuple[np.ndarray[Any, Any], int]] = []
        waiting = order[:0]
        for length in np.unique(padded):
            waiting = np.concatenate([waiting, order[padded == length]])
            full = len(waiting) - len(waiting) % size
            batches += [(waiting[at : at + size], int(length)) for at in range(0, full, size)]
            waiting = waiting[full:]
        if len(waiting):
            batches.append((waiting, int(bucket(self.lengths[waiting]).max())))
        if not few_shapes:
            batches = [(windows, int(self.lengths[windows].max())) for windows, _ in batches]
        return self._on_device([batches[i] for i in rng.permutation(len(batches))])

    def in_order(self, size: int, seed: int | None = None) -> list[tuple[Tensor, int]]:
        """Return batches as most code makes them: in file order or shuffled, padded to whatever is longest."""
        order = self._epoch.copy()
        if seed is not None:
            np.random.default_rng(seed).shuffle(order)
        parts = [order[at : at + size] for at in range(0, len(order), size)]
        return self._on_device([(part, int(self.lengths[part].max())) for part in parts])

    def longest_first(self, budget: int, another: int) -> list[tuple[Tensor, int]]:
        """Return all windows once, longest first, at most ``budget`` pieces a batch: for passes that only look.

        A batch ends early where that saves more padding than ``another`` pass costs, in pieces.
        """
        order = np.argsort(-self.lengths, kind="stable")
        batches, at = [], 0
        while at < len(order):
            longest = int(self.lengths[order[at]])
            lengths = self.lengths[order[at : at + max(1, budget // longest)]]
            saved = (longest - lengths) * np.arange(len(lengths), 0, -1)
            count = int(saved.argmax()) if saved.max() > another else len(lengths)
            batches.append((order[at : at + count], longest))
            at += count
        return self._on_device(batches)

    def _on_device(self, batches: Sequence[tuple[np.ndarray[Any, Any], int]]) -> list[tuple[Tensor, int]]:
        """Send all window numbers over at once; every batch is a view of them."""
        if not batches:
            return []
        flat = torch.from_numpy(np.concatenate([windows for windows, _ in batches])).to(self.device)
        parts = torch.split(flat, [len(windows) for windows, _ in batches])
        return [(part, length) for part, (_, length) in zip(parts, batches, strict=True)]


def bucket(lengths: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Round lengths up to the next padded length; beyond the largest bucket, to the next multiple of 128."""
    table = np.array(BUCKETS)
    inside = table[np.searchsorted(table, lengths).clip(max=len(table) - 1)]
    return np.where(lengths <= BUCKETS[-1], inside, -(-lengths // 128) * 128)


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


@dataclass(frozen=True)
class Window:
    """Words ``start`` to ``end`` of a long sentence, of which it owns the ones it sees with most context."""

    start: int
    end: int
    own_start: int
    own_end: int


def windows(lengths: Sequence[int], room: int) -> list[Window]:
    """Cut words of the given piece lengths into windows of at most ``room`` pieces that overlap by a quarter.

    Two neighbours share words; the middle of what they share is the border of what each owns.
    """
    sizes = [min(length, room) for length in lengths]
    edges = [(0, _reach(sizes, 0, room))]
    while edges[-1][1] < len(sizes):
        end = edges[-1][1]
        start = _step_back(sizes, edges[-1][0] + 1, end, room)
        edges.append((start, _reach(sizes, start, room)))
    borders = [0, *((b + e) // 2 for (_, e), (b, _) in zip(edges, edges[1:], strict=False)), len(sizes)]
    return [Window(s, e, a, b) for (s, e), a, b in zip(edges, borders, borders[1:], strict=False)]


def _reach(sizes: Sequence[int], start: int, room: int) -> int:
    end, used = start, 0
    while end < len(sizes) and used + sizes[end] <= room:
        used += sizes[end]
        end += 1
    return end


def _step_back(sizes: Sequence[int], least: int, end: int, room: int) -> int:
    """Begin the next window up to a quarter of a window before ``end``, but so that it gets beyond it."""
    allowed = min(room // 4, room - sizes[end])
    start, used = end, 0
    while start > least and used + sizes[start - 1] <= allowed:
        start -= 1
        used += sizes[start]
    return start
