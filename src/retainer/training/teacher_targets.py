"""What an absence of annotation means, word by word, and the scores of teacher and student conditioned on it.

Every sentence says of which types all its entities are annotated. At a word labelled O,

- a type that is complete there is ruled out: the teacher's opinion must neither override the annotation nor add to it;
- an old type that is not is the teacher's business: it says how likely the type is;
- a new type that is not stays open: nobody knows, so the student is asked about O and the open types together.

Where an entity is annotated it is gold, whatever its type. A task's own data, data with old types annotated too,
exemplars, unlabelled text and slices that each have types of their own are all cases of this. Every method learns
from such scores, and none has to know about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from retainer.data.labels import Labels
from retainer.data.spans import Sentence

IMPOSSIBLE = -1e4
"""The score of a label that is ruled out: its probability is 0, and products with its logarithm stay finite."""


@dataclass(frozen=True)
class Completeness:
    """The sets of types that are complete in some sentence, and the number of the set that holds at every word."""

    sets: tuple[frozenset[str], ...]
    of_word: Tensor

    @classmethod
    def of(cls, sentences: Sequence[Sentence], device: torch.device) -> Completeness:
        """Collect what the sentences say; each must say it."""
        numbers: dict[frozenset[str], int] = {}
        rows = [numbers.setdefault(frozenset(sentence.complete or ()), len(numbers)) for sentence in sentences]
        lengths = [len(sentence.words) for sentence in sentences]
        owners = torch.repeat_interleave(torch.tensor(rows, dtype=torch.long), torch.tensor(lengths, dtype=torch.long))
        return cls(tuple(numbers), owners.to(device))

    def table(self, labels: Labels) -> Tensor:
        """Return, for every set, which labels are of a type in it."""
        table = torch.zeros(len(self.sets), len(labels.names), dtype=torch.bool)
        for row, types in enumerate(self.sets):
            table[row, labels.of(types)] = True
        return table


@dataclass(frozen=True)
class OpenLabels:
    """The labels that stay possible at an O word of every set, because nothing says that they are not."""

    table: Tensor
    of_word: Tensor

    def at(self, rows: Tensor) -> Tensor:
        """Return the open labels of some words."""
        return self.table[self.of_word[rows.clamp(min=0)]]


def open_labels(complete: Completeness, labels: Labels, known: int) -> OpenLabels | None:
    """Return the labels no teacher speaks of (those from ``known`` on) that stay open; None where none does."""
    table = ~complete.table(labels)
    table[:, :known] = False
    return OpenLabels(table.to(complete.of_word.device), complete.of_word) if bool(table.any()) else None


def ruled_out(gold: Tensor, complete: Completeness, labels: Labels) -> Tensor | None:
    """Return for every word the teacher's labels that the annotation rules out; None where it rules out none.

    ``gold`` are the labels of all words in the student's numbers, of which the teacher's ``labels`` are the first.
    """
    known = len(labels.names)
    named = (gold < known) & (gold != labels.outside)
    table = complete.table(labels)
    if not bool(table.any()) and not bool(named.any()):
        return None
    own = torch.arange(known, device=gold.device) == gold.unsqueeze(-1)
    return (table.to(gold.device)[complete.of_word] | named.unsqueeze(-1)) & ~own


def merge_into_outside(logits: Tensor, open_: Tensor, outside: int) -> Tensor:
    """Return a student's scores as if the open labels of every word were O.

    Its probability of O is then that of O and of all open labels together. So a label O, or a teacher that knows no new
    type, pushes no open type down.
    """
    own = torch.arange(logits.shape[-1], device=logits.device) == outside
    either = logits.masked_fill(~(open_ | own), IMPOSSIBLE).logsumexp(dim=-1, keepdim=True)
    merged = either.where(own & open_.any(dim=-1, keepdim=True), logits)
    return merged.masked_fill(open_, IMPOSSIBLE)
