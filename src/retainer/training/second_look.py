"""A second look: the student reads sentences of a batch again, without some of their words (``Method.leave_out``)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from retainer.methods.base import Need
from retainer.model.batches import Batch, Encoded
from retainer.model.tagger import Tagger
from retainer.model.tagger_output import TaggerOutput


@dataclass(frozen=True)
class SecondLook:
    """What is read again, and where it stands in the batch."""

    rest: Batch
    """The windows without those words; what follows has moved up."""
    places: Tensor
    """Where in its window every position of ``rest`` stood."""
    gone: Tensor
    """Which positions of the whole batch are left out."""
    rows: Tensor | None = None
    """The windows of the batch that are read again; None for all."""

    @classmethod
    def at_all(cls, slice_: Encoded, batch: Batch, gone: Tensor) -> SecondLook:
        """Look again at the whole batch, at sentences that lose no word too."""
        return cls(*slice_.without(batch, gone), gone)

    @classmethod
    def at_first(cls, slice_: Encoded, batch: Batch, gone: Tensor, most: int, *, asks: bool) -> SecondLook | None:
        """Look again at those of the first windows that lose words; None where there are none.

        A step that may not ask the device which these are looks at all of the first, and the others do not count.
        """
        first = gone[:most]
        rows = first.any(dim=1).nonzero().flatten() if asks else torch.arange(len(first), device=gone.device)
        if not len(rows):
            return None
        part = Batch(batch.ids[rows], batch.mask[rows], batch.words[rows])
        return cls(*slice_.without(part, gone[rows]), gone, rows)

    def outputs(self, tagger: Tagger, batch: Batch, needs: frozenset[Need], *, at_once: bool) -> TaggerOutput:
        """Return the tagger's output for a batch, with that for the second look as its second view.

        ``at_once`` reads both in one pass: a pass over few windows costs a CPU more for each of them.
        """
        if at_once and not needs & {"layers", "maps"}:
            size, both = batch.ids.numel(), tagger.outputs(batch.joined(self.rest), needs)
            said = TaggerOutput(both.logits[:size], both.hidden[:size])
            again = TaggerOutput(both.logits[size:], both.hidden[size:])
        else:
            said, again = tagger.outputs(batch, needs), tagger.outputs(self.rest)
        return replace(said, second_view=self._in_place(again))

    def _in_place(self, again: TaggerOutput) -> TaggerOutput:
        """Put what is said of the rest where it stands in the batch; of words that were left out it means nothing."""
        logits, hidden = (self._spread(moved_back(said, self.places)) for said in (again.logits, again.hidden))
        if self.rows is None:
            return TaggerOutput(logits, hidden)
        changed = self.gone.any(dim=1)
        covered = torch.zeros_like(changed).index_copy(0, self.rows, changed[self.rows])
        return TaggerOutput(logits, hidden, covered=covered.unsqueeze(1).expand_as(self.gone).flatten())

    def _spread(self, windows: Tensor) -> Tensor:
        """Return what is said of the windows read again as that of the whole batch; of the others, zeros."""
        if self.rows is not None:
            windows = windows.new_zeros(len(self.gone), *windows.shape[1:]).index_copy(0, self.rows, windows)
        return windows.flatten(0, 1)


def moved_back(scores: Tensor, places: Tensor) -> Tensor:
    """Return, window by window, what was said of shortened windows at the places their positions came from."""
    back = places.argsort(dim=1).unsqueeze(-1)
    rows = scores.view(*places.shape, -1)
    return rows.gather(1, back.expand_as(rows))
