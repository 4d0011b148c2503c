"""What released code does differently outside its methods. For the bench alone: to measure what each is worth."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Quirks:
    """Defects of a code, each a switch; all off is how things should be."""

    batch: int = 0
    """Sentences in a batch, drawn and padded without regard to length and looked at WITHOUT an attention mask, so that
    a word's scores depend on its neighbours in the batch. 0 is none of this."""
    sequence_norm: bool = False
    """The head divides every channel by its length over the POSITIONS of a sentence, where a cosine would divide every
    position by its length over the channels; its first rows are random, and later ones come from the dev set."""
    flat_scores: bool = False
    """Scores take the whole corpus for one sentence, and labels the annotation does not have for O."""
    lost_last: bool = False
    """The last sentence of every file is lost."""


NONE = Quirks()

RELEASED = Quirks(batch=8, sequence_norm=True, flat_scores=True, lost_last=True)
"""The code released with the paper (and with the two papers it builds on)."""
