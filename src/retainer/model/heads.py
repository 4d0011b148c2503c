"""The classifier on top of the encoder: how it scores, how it grows, how it folds into a plain linear layer.

A head keeps its old rows and its new rows apart. So old scores are computed by the very same product before and after
growing, bit for bit, and the old rows can be frozen by themselves; rows that are taught again have copies that move.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from retainer.data.labels import Labels

HeadKind = Literal["linear", "cosine", "sequence"]
"""How a head scores; ``sequence`` is a quirk of released code and for the bench alone."""

MARGIN = 1e-2
"""How far below the winner a new row starts: more than rounding, far less than one step of training moves it."""


class Rows(nn.Module):
    """Some rows of a head: one weight vector and one bias per label."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.detach().clone().float())
        self.bias = nn.Parameter(bias.detach().clone().float())


class Head(nn.Module):
    """Scores of all labels for every token vector. Subclasses say how a row scores and where a new row starts.

    Every head has a scale ``sigma`` and the usual length ``norm`` of a token vector, which only scaled heads use: so
    all kinds are stored and hashed alike.
    """

    kind: HeadKind
    scaled: ClassVar[bool] = False
    """Whether a scale takes the place of the bias."""
    norm: Tensor
    retaught_at: Tensor

    def __init__(
        self,
        old: Rows,
        new: Rows | None = None,
        retaught: Sequence[int] = (),
        *,
        sigma: float = 1.0,
        norm: float = 1.0,
    ) -> None:
        super().__init__()
        self.old, self.new = old, new
        self.register_buffer("norm", torch.tensor(float(norm)))
        self.sigma = nn.Parameter(torch.tensor(float(sigma)), requires_grad=self.scaled)
        at = torch.tensor(retaught, dtype=torch.long, device=old.weight.device)
        self.register_buffer("retaught_at", at, persistent=False)
        self.retaught = Rows(old.weight[at], old.bias[at]) if retaught else None
        if self.scaled:
            for rows in self.blocks:
                rows.bias.requires_grad_(False)

    @classmethod
    def empty(cls, width: int) -> Self:
        """Return the head of a bare encoder, which knows only O."""
        raise NotImplementedError

    def forward(self, hidden: Tensor) -> Tensor:
        """Score token vectors in full precision, whatever precision the encoder ran in."""
        raise NotImplementedError

    def folded(self) -> tuple[Tensor, Tensor]:
        """Return the weight and bias of a linear layer with the same winners."""
        raise NotImplementedError

    def _place(self, toward: Tensor, hidden: Tensor, best: Tensor) -> Rows:
        """Return new rows in the given directions that no word prefers to its ``best`` score yet."""
        raise NotImplementedError

    def _like(self, old: Rows, new: Rows | None = None, retaught: Sequence[int] = (), *, trained: bool = True) -> Self:
        """Return a head of the same kind with other rows; ``trained`` says that its scale is settled."""
        raise NotImplementedError

    @property
    def device(self) -> torch.device:
        """Where the rows live."""
        return self.old.weight.device

    @property
    def blocks(self) -> list[Rows]:
        """The old rows and, once grown, the new ones and those that are taught again."""
        return [rows for rows in (self.old, self.new, self.retaught) if rows is not None]

    def _matrices(self) -> list[tuple[Tensor, Tensor]]:
        """Return weight and bias of the old rows, the ones taught again in their places, and of the new rows."""
        weight, bias = cast(Tensor, self.old.weight), cast(Tensor, self.old.bias)
        if self.retaught is not None:
            weight = weight.index_copy(0, self.retaught_at, self.retaught.weight)
            bias = bias.index_copy(0, self.retaught_at, self.retaught.bias)
        return [(weight, bias)] if self.new is None else [(weight, bias), (self.new.weight, self.new.bias)]

    def weight(self) -> Tensor:
        """Return all rows as one matrix."""
        return torch.cat([weight for weight, _ in self._matrices()]).detach()

    def bias(self) -> Tensor:
        """Return all biases as one vector."""
        return torch.cat([bias for _, bias in self._matrices()]).detach()

    def merged(self) -> Self:
        """Return the same head with its rows in one block: what the next task calls old."""
        return self._like(Rows(self.weight(), self.bias()))

    def arranged(self, sources: Sequence[int], lowered: Sequence[float] | None = None) -> Head:
        """Return a head made of some of this one's rows, each lowered by so much.

        Only a linear head has a bias to lower; with any row lowered, the result is the linear head with the same
        winners.
        """
        at = torch.tensor(sources, dtype=torch.long, device=self.device)
        if lowered is None or not any(lowered):
            return self._like(Rows(self.weight()[at], self.bias()[at]))
        weight, bias = self.folded()
        return LinearHead(Rows(weight[at], bias[at] - bias.new_tensor(lowered)))

    def grow(
        self, labels: Labels, hidden: Tensor, gold: Tensor, ready: Head | None = None, retaught: Sequence[int] = ()
    ) -> Self:
        """Add rows for the labels this head lacks, so that no prediction on the slice changes before training.

        ``hidden`` are the vectors of all words of the slice under the old encoder and ``gold`` their labels in the
        grown label set. A new row points from the centre of all words to the centre of its own. Where the first of
        the new labels have their rows already, ``ready`` holds them. Old rows named in ``retaught`` learn even where
        the others are frozen.
        """
        old = self.merged().to(hidden.device)
        known = len(old.weight()) + (0 if ready is None else len(ready.weight()))
        toward = directions(labels, hidden, gold)[known:]
        best = old(hidden).max(dim=-1).values.detach()
        new = old._place(toward, hidden, best) if len(toward) else Rows(toward, toward.new_zeros(0))
        if ready is not None:
            new = Rows(torch.cat([ready.weight(), new.weight]), torch.cat([ready.bias(), new.bias]))
        return self._like(old.old, new if len(new.weight) else None, retaught, trained=False)


class LinearHead(Head):
    """A plain linear layer: what Hugging Face stores."""

    kind: HeadKind = "linear"

    @classmethod
    def empty(cls, width: int) -> Self:
        """Return the head of a bare encoder, which knows only O."""
        return cls(Rows(torch.zeros(1, width), torch.zeros(1)))

    def forward(self, hidden: Tensor) -> Tensor:
        """Score token vectors in full precision, whatever precision the encoder ran in."""
        hidden = hidden.float()
        return torch.cat([F.linear(hidden, *rows) for rows in self._matrices()], dim=-1)

    def folded(self) -> tuple[Tensor, Tensor]:
        """Return its own weight and bias."""
        return self.weight(), self.bias()

    def _like(self, old: Rows, new: Rows | None = None, retaught: Sequence[int] = (), *, trained: bool = True) -> Self:
        return type(self)(old, new, retaught)

    def _place(self, toward: Tensor, hidden: Tensor, best: Tensor) -> Rows:
        """Give new rows the length of old ones, and a bias that stays below every word's winner."""
        lengths = self.weight().norm(dim=-1)
        length = lengths[lengths > 0].mean() if bool((lengths > 0).any()) else hidden.new_tensor(0.4)
        weight = toward * length
        slack = best.unsqueeze(1) - hidden @ weight.T
        return Rows(weight, slack.min(dim=0).values - MARGIN)


class ScaledHead(Head):
    """The product of unit vectors times a learned scale ``sigma``; subclasses say what a unit vector is.

    Its rows have no bias, because a bias would not survive folding; the tensor is there, zero and frozen, so that all
    heads are stored alike. ``norm`` is known once training is over; only folding needs it.
    """

    scaled: ClassVar[bool] = True

    @classmethod
    def empty(cls, width: int) -> Self:
        """Return the head of a bare encoder, which knows only O."""
        return cls(Rows(torch.ones(1, width), torch.zeros(1)), sigma=16.0)

    def forward(self, hidden: Tensor) -> Tensor:
        """Score token vectors in full precision, whatever precision the encoder ran in."""
        unit = self._unit(hidden.float())
        return self.sigma * torch.cat([F.linear(unit, F.normalize(row, dim=-1)) for row, _ in self._matrices()], -1)

    def _unit(self, hidden: Tensor) -> Tensor:
        raise NotImplementedError

    def folded(self) -> tuple[Tensor, Tensor]:
        """Return the weight and bias of a linear layer with the same winners.

        Dropping a token's length scales all its cosines alike, so the argmax stays; dividing by the usual length
        keeps the scores on about the same scale too.
        """
        return F.normalize(self.weight(), dim=-1) * (self.sigma.detach() / self.norm), self.bias()

    def _like(self, old: Rows, new: Rows | None = None, retaught: Sequence[int] = (), *, trained: bool = True) -> Self:
        sigma = float(self.sigma.detach())
        return type(self)(old, new, retaught, sigma=sigma, norm=float(self.norm) if trained else 1.0)

    def _place(self, toward: Tensor, hidden: Tensor, best: Tensor) -> Rows:
        """Lean new rows away from the direction all words share, just far enough that no word prefers them.

        There is no bias to lower; the common direction of the token vectors takes its place.
        """
        unit = F.normalize(hidden, dim=-1)
        common = F.normalize(unit.mean(dim=0), dim=-1)
        rows = [_lean(unit, direction, common, best / self.sigma.detach()) for direction in toward]
        return Rows(torch.stack(rows), hidden.new_zeros(len(rows)))


class CosineHead(ScaledHead):
    """The scaled cosine between token and row, taken per token over the hidden axis."""

    kind: HeadKind = "cosine"

    def _unit(self, hidden: Tensor) -> Tensor:
        return F.normalize(hidden, dim=-1)


class SequenceNormHead(ScaledHead):
    """The head of released code: a channel is divided by its length over the positions of a sentence (a quirk)."""

    kind: HeadKind = "sequence"

    def _unit(self, hidden: Tensor) -> Tensor:
        return F.normalize(hidden, dim=1)

    def grow_as_released(self, labels: Labels, hidden: Tensor, gold: Tensor) -> SequenceNormHead:
        """Grow as released code does: random rows at first, later the mean directions of the DEV set's vectors."""
        width, known = hidden.shape[-1], len(self.weight())
        if known == 1:  # a bare encoder, which knows only O
            rows = torch.empty(len(labels.names), width, device=hidden.device).uniform_(-(width**-0.5), width**-0.5)
            return SequenceNormHead(_without_bias(rows[:known]), _without_bias(rows[known:]))
        unit = F.normalize(hidden, dim=-1)
        sums = unit.new_zeros(len(labels.names), width).index_add_(0, gold, unit)
        counts = torch.bincount(gold, minlength=len(labels.names))
        for index in range(known, len(labels.names)):
            if not counts[index]:
                sums[index] = sums[index - 1]  # an I that never occurs copies its B
        rows = F.normalize(sums[known:], dim=-1) * self.weight()[1:].norm(dim=-1).mean()
        return self._like(self.merged().old, _without_bias(rows), trained=False)


HEADS: dict[HeadKind, type[Head]] = {"linear": LinearHead, "cosine": CosineHead, "sequence": SequenceNormHead}


def directions(labels: Labels, hidden: Tensor, gold: Tensor) -> Tensor:
    """Return, for every label, the unit vector from the centre of all words to the centre of the label's words.

    A label no word carries borrows from another label of its type; with none at all it stays zero.
    """
    sums = hidden.new_zeros(len(labels.names), hidden.shape[-1]).index_add_(0, gold, hidden)
    counts = torch.bincount(gold, minlength=len(labels.names)).to(hidden)
    toward = F.normalize(sums / counts.clamp(min=1).unsqueeze(1) - hidden.mean(dim=0), dim=-1)
    for index, (_, type_) in enumerate(labels.parts):
        if not counts[index]:
            seen = [i for i, (_, other) in enumerate(labels.parts) if other == type_ and counts[i]]
            toward[index] = toward[seen[0]] if seen else 0
    return toward


def _without_bias(weight: Tensor) -> Rows:
    return Rows(weight, weight.new_zeros(len(weight)))


def _lean(unit: Tensor, direction: Tensor, common: Tensor, best: Tensor) -> Tensor:
    """Find by bisection how far a direction must lean away from the common one so that no word prefers it."""
    low, high = 0.0, 64.0
    for _ in range(20):
        middle = (low + high) / 2
        row = F.normalize(direction - middle * common, dim=-1)
        if bool((unit @ row < best - MARGIN / 10).all()):
            high = middle
        else:
            low = middle
    return F.normalize(direction - high * common, dim=-1)
