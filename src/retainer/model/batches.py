"""Sentences as flat tensors that live on the device, and batches gathered from them there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

BUCKETS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""Lengths of training batches: little padding, and few shapes to record on a GPU."""


Windows = np.ndarray[Any, np.dtype[np.int64]]
"""Numbers of windows, or one number for each."""


@dataclass(frozen=True)
class Batch:
    """Windows of pieces padded to one length; ``words`` holds the number of the word at each first piece, else -1."""

    ids: Tensor
    mask: Tensor
    words: Tensor

    def joined(self, other: Batch) -> Batch:
        """Return the windows of both, which are padded to the same length."""
        pairs = (self.ids, other.ids), (self.mask, other.mask), (self.words, other.words)
        return Batch(*(torch.cat(pair) for pair in pairs))


@dataclass(frozen=True)
class Encoded:
    """Sentences as pieces. A long sentence takes several windows, but each word is counted in exactly one of them.

    ``ids`` and ``words`` are flat over all windows; window w occupies ``starts[w]`` to ``starts[w + 1]``. Word
    numbers run through the whole corpus, and ``sentence_starts`` says where each sentence begins among them.
    """

    ids: Tensor
    words: Tensor
    starts: Tensor
    lengths: Windows
    sentence_starts: Windows
    window_sentences: Windows
    pad: int
    behind: int
    """How many special pieces end a window."""
    turns: Windows | None = None
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
    def _epoch(self) -> Windows:
        return np.arange(len(self.lengths)) if self.turns is None else self.turns

    def in_turns(self, times: Windows) -> Encoded:
        """Return the same sentences, of which an epoch shows each window as often as it says; a look sees all once."""
        return replace(self, turns=np.repeat(np.arange(len(self.lengths)), times))

    def batch(self, windows: Tensor, length: int) -> Batch:
        """Gather windows into a padded batch, on the device and without asking it anything."""
        first = self.starts[windows].unsqueeze(1)
        place = first + torch.arange(length, device=self.device)
        mask = place < self.starts[windows + 1].unsqueeze(1)
        place = place.clamp(max=len(self.ids) - 1)
        return Batch(self.ids[place].masked_fill(~mask, self.pad), mask, self.words[place].masked_fill(~mask, -1))

    def without(self, batch: Batch, gone: Tensor) -> tuple[Batch, Tensor]:
        """Leave words out of a batch, pieces and all; the others move up. Return also the place each came from.

        ``gone`` marks the first pieces of the words. What follows a word and does not begin another goes with it,
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

    def shuffled(
        self, size: int, seed: int, *, few_shapes: bool = False, beside: Windows | None = None
    ) -> list[tuple[Tensor, int]]:
        """Return an epoch of training batches: windows of similar length together, in an order fixed by the seed.

        What does not fill a batch of its own length moves up to the next, so only one batch may be small. A batch is
        as long as its longest window, or with ``few_shapes`` as one of BUCKETS: for steps that are recorded by shape.
        Windows that are to stand ``beside`` those of the epoch are shared out evenly, behind the batch's own.
        """
        rng = np.random.default_rng(seed)
        batches = self._alike(rng.permutation(self._epoch), size)
        if beside is not None:
            batches = self._joined(batches, beside)
        if not few_shapes:
            batches = [(windows, int(self.lengths[windows].max())) for windows, _ in batches]
        return self._on_device([batches[i] for i in rng.permutation(len(batches))])

    def _alike(self, order: Windows, size: int) -> list[tuple[Windows, int]]:
        """Return batches of windows of similar length, the shortest first, and the length each is padded to."""
        padded = bucket(self.lengths[order])
        batches: list[tuple[Windows, int]] = []
        waiting = order[:0]
        for length in np.unique(padded):
            waiting = np.concatenate([waiting, order[padded == length]])
            full = len(waiting) - len(waiting) % size
            batches += [(waiting[at : at + size], int(length)) for at in range(0, full, size)]
            waiting = waiting[full:]
        if len(waiting):
            batches.append((waiting, int(bucket(self.lengths[waiting]).max())))
        return batches

    def _joined(self, batches: Sequence[tuple[Windows, int]], beside: Windows) -> list[tuple[Windows, int]]:
        """Give every batch its share of other windows: short ones to the short batches, long ones to the long."""
        shares = np.array_split(beside[np.argsort(self.lengths[beside], kind="stable")], len(batches))
        return [
            (np.concatenate([own, more]), max(length, int(bucket(self.lengths[more]).max())))
            for (own, length), more in zip(batches, shares, strict=True)
        ]

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

    def _on_device(self, batches: Sequence[tuple[Windows, int]]) -> list[tuple[Tensor, int]]:
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
