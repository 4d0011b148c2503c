"""The pieces a task works with: while it is learned, the embedding table holds their rows and no others.

A row no sentence asks for gets no gradient, and carrying it through every step costs time and memory only: half of a
small encoder's weights are embeddings, and 500 sentences of CoNLL2003 use 8 % of them, 3,510 use 26 %. So what the
data do not mention is not touched, not even by weight decay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from retainer.model.batches import Encoded


class EmbeddingSubset:
    """The pieces of some encoded corpora. Pieces up to the padding's keep their numbers: encoders count from it."""

    def __init__(self, network: Any, corpora: Sequence[Encoded], narrow: bool = True) -> None:
        self.network, self.whole = network, network.get_input_embeddings()
        self.pieces: Tensor | None = None
        if narrow and type(self.whole) is nn.Embedding and self.whole.max_norm is None:
            last = max(corpora[0].pad, self.whole.padding_idx or 0)
            kept = torch.arange(last + 1, device=corpora[0].device)
            self.pieces = torch.unique(torch.cat([kept, *(corpus.ids for corpus in corpora)]))

    def narrow(self) -> None:
        """Leave the network the rows of these pieces only."""
        if self.pieces is not None:
            rows = self.whole.weight.detach()[self.pieces]
            narrow = nn.Embedding(len(rows), rows.shape[1], self.whole.padding_idx, _weight=rows)
            self.network.set_input_embeddings(narrow)

    def renumber(self, corpus: Encoded) -> Encoded:
        """Return the corpus in the numbers of the narrow table."""
        if self.pieces is None:
            return corpus
        return replace(corpus, ids=torch.searchsorted(self.pieces, corpus.ids))

    def widen(self) -> None:
        """Put the rows back to where they came from."""
        if self.pieces is not None:
            with torch.no_grad():
                self.whole.weight[self.pieces] = self.network.get_input_embeddings().weight
            self.network.set_input_embeddings(self.whole)
