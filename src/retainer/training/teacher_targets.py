"""What an annotation tells about the old types, and a teacher who knows it.

In the data of a new task the absence of an old type means nothing: nobody looked for it. But old types may be annotated
too. Where one stands, it is the truth; and where it is known that all of a type are annotated, a word without one is
truly none. Then the teacher's own opinion must neither override the annotation nor add to it. So what the frozen
teacher says is conditioned on what is known: a label that the annotation rules out has no probability, and the others
share what it had. Where nobody looked for the new types, in old sentences that were kept, the student is asked about
the old ones only. Every method learns from such answers, and none has to know about it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from retainer.data.labels import Labels
from retainer.data.spans import Sentence

IMPOSSIBLE = -1e4
"""The score of a label that is ruled out: its probability is 0, and products with its logarithm stay finite."""


Part = tuple[int, Container[str]]
"""A number of words, and the types of which every entity among them is annotated."""


@dataclass(frozen=True)
class OldTypeAnnotation:
    """What is known of the old types in a slice."""

    again: tuple[str, ...] = ()
    """Old types of which every entity is annotated: they are taught again, and their rows in the head learn."""
    exemplars: tuple[Sentence, ...] = ()
    """Annotated sentences of old types that somebody could keep: they join the slice. Gold where it stands; elsewhere
    the teacher speaks of the old types, and whether a word is of a new type stays open, for nobody looked."""

    def open(self, gold: Tensor, outside: int, real: int) -> Tensor | None:
        """Return the words that may be of a new type, annotated or not: those of the exemplars that are O.

        The first ``real`` words are the data's, then come the exemplars, then sentences that were made up.
        """
        if not self.exemplars:
            return None
        place = torch.arange(len(gold), device=gold.device)
        kept = sum(len(sentence.words) for sentence in self.exemplars)
        return (gold == outside) & (place >= real) & (place < real + kept)


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

    Its probability of O is then that of O and of all new labels together. So whoever says O to such a word, a label or
    a teacher who knows nothing new, says only that it is of no old type, and pushes no new type down.
    """
    label = torch.arange(logits.shape[-1], device=logits.device)
    either = logits.masked_fill((label < old) & (label != outside), IMPOSSIBLE).logsumexp(dim=-1, keepdim=True)
    asked = either.where(label == outside, logits).masked_fill(label >= old, IMPOSSIBLE)
    return asked.where(open_.unsqueeze(-1), logits)
