"""What an annotation says about the old types, and the teacher's scores conditioned on it.

In the data of a new task the absence of an old type means nothing: it was not annotated. But old types may be annotated
too. Where one is, it is gold; and where all entities of a type are known to be annotated, a word without one is truly
not of that type. Then the teacher's opinion must neither override the annotation nor add to it. So the frozen teacher's
scores are conditioned on what is known: a label that the annotation rules out has no probability, and the others share
what it had. In old sentences that were kept, where the new types were not annotated, the student is asked about the old
types only. Every method learns from such targets, and none has to know about it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

import torch
from torch import Tensor

from retainer.data.labels import Labels
from retainer.training.task_data import TaskData

IMPOSSIBLE = -1e4
"""The score of a label that is ruled out: its probability is 0, and products with its logarithm stay finite."""


Part = tuple[int, Container[str]]
"""A number of words, and the types of which every entity among them is annotated."""


def open_words(data: TaskData, gold: Tensor, outside: int) -> Tensor | None:
    """Return the words that may be of a new type, annotated or not: those of the exemplars that are O.

    The words of the data come first, then those of the exemplars, then synthetic ones.
    """
    if not data.exemplars:
        return None
    place = torch.arange(len(gold), device=gold.device)
    first = data.train_words
    return (gold == outside) & (place >= first) & (place < first + data.exemplar_words)


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


def merge_new_into_outside(logits: Tensor, open_: Tensor, old: int, outside: int) -> Tensor:
    """Return a student's scores as if new labels were O for the words that may be of a new type.

    Its probability of O is then that of O and of all new labels together. So a label O, or a teacher that knows no new
    type, says only that such a word is of no old type, and pushes no new type down.
    """
    label = torch.arange(logits.shape[-1], device=logits.device)
    either = logits.masked_fill((label < old) & (label != outside), IMPOSSIBLE).logsumexp(dim=-1, keepdim=True)
    asked = either.where(label == outside, logits).masked_fill(label >= old, IMPOSSIBLE)
    return asked.where(open_.unsqueeze(-1), logits)
