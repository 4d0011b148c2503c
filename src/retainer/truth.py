"""What an annotation tells about the old types, and a teacher who knows it.

In the data of a new task the absence of an old type means nothing: nobody looked for it. But old types may be annotated
too. Where one stands, it is the truth; and where it is known that all of a type are annotated, a word without one is
truly none. Then the teacher's own opinion must neither override the annotation nor add to it. So what the frozen
teacher says is conditioned on what is known: a label that the annotation rules out has no probability, and the others
share what it had. Every method learns from that teacher, and none has to know about it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from retainer.spans import Labels

IMPOSSIBLE = -1e4
"""The score of a label that is ruled out: its probability is 0, and products with its logarithm stay finite."""


@dataclass(frozen=True)
class Truth:
    """What is known of the old types in a slice."""

    again: tuple[str, ...] = ()
    """Old types of which every entity is annotated: they are taught again, and their rows in the head learn."""


Part = tuple[int, Container[str]]
"""A number of words, and the types of which every entity among them is annotated."""


def ruled_out(gold: Tensor, parts: Sequence[Part], labels: Labels) -> Tensor | None:
    """Return for every word the teacher's labels that the annotation rules out; None where it rules out none.

    ``gold`` are the labels of all words in the student's numbers, of which the teacher's ``labels`` are the first.
    """
    known = len(labels.names)
    named = (gold < known) & (gold != labels.outside)
    if not any(labels.of(types) for _, types in parts) and not bool(named.any()):
        return None
    table = torch.zeros(len(parts), known, dtype=torch.bool)
    for row, (_, types) in enumerate(parts):
        table[row, labels.of(types)] = True
    owners = torch.repeat_interleave(torch.tensor([words for words, _ in parts]))
    own = torch.arange(known, device=gold.device) == gold.unsqueeze(-1)
    return (table[owners].to(gold.device) | named.unsqueeze(-1)) & ~own
