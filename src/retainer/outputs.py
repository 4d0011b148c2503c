"""What a frozen tagger says about every word of a corpus, in one pass."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from retainer.encode import Encoded
from retainer.model import Tagger

BUDGET = {"cpu": 2048, "cuda": 65536}
"""Pieces per batch when nothing is learned: a batch that fits the cache of a CPU, one that fills a GPU."""


@dataclass(frozen=True)
class Outputs:
    """Scores of all labels and, where asked for, the token vectors; one row per word (or per position of a batch)."""

    logits: Tensor
    hidden: Tensor

    def at(self, rows: Tensor) -> Outputs:
        """Return the outputs of some words; a row number below zero gives an arbitrary row nobody looks at."""
        rows = rows.clamp(min=0)
        return Outputs(self.logits[rows], self.hidden[rows] if len(self.hidden) else self.hidden)


@torch.no_grad()
def observe(tagger: Tagger, encoded: Encoded, *, hidden: bool = False) -> Outputs:
    """Run a tagger over a corpus in evaluation mode and collect its outputs word by word.

    Masks make the outputs of a word independent of the batch it stands in, so they may be computed once and kept.
    """
    was_training = tagger.training
    tagger.eval()
    size = encoded.word_count
    logits = torch.empty(size + 1, len(tagger.labels.names), device=encoded.device)
    vectors = torch.empty(size + 1 if hidden else 0, tagger.width, device=encoded.device)
    for windows, length in encoded.sorted(BUDGET.get(encoded.device.type, BUDGET["cpu"])):
        batch = encoded.batch(windows, length)
        last = tagger.hidden(batch).flatten(0, 1)
        rows = batch.words.flatten() % (size + 1)  # positions that are no first piece land in the spare last row
        logits[rows] = tagger.head(last)
        if hidden:
            vectors[rows] = last
    tagger.train(was_training)
    return Outputs(logits[:size], vectors[:size])
