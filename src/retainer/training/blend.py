"""Blended weights: a student moved back a little toward its parent, as far as a dev set says that it helps.

What lies between two versions of one model often keeps more of the old one than it loses of the new one (Wortsman et
al. 2022). It costs nothing at prediction.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from statistics import fmean

import torch

from retainer.data.corpus import Corpus
from retainer.model.tagger import Tagger
from retainer.training.evidence import TOLERANCE, Evidence, Measured
from retainer.training.prior import Offsets, fit_offsets

SHARES = (0.15, 0.3, 0.45, 0.6)
"""The shares of the parent that are tried."""


@dataclass(frozen=True)
class Settled:
    """A student as it may leave training: the parent's share of its weights, and its offsets."""

    tagger: Tagger
    share: float
    offsets: Offsets
    evidence: Evidence

    @property
    def measured(self) -> Measured:
        """How it scores with its offsets."""
        return self.evidence.shifted(self.offsets).as_it_is


def settle(student: Tagger, parent: Tagger, dev: Corpus, evidence: Evidence, *, blend: bool) -> Settled:
    """Fit the offsets of a student and, where asked for, of blends of it; return the one that is best beyond doubt.

    No blend may lower the mean F1 of the taught types by more than the old ones may lose.
    """
    plain = Settled(student, 0.0, fit_offsets(evidence), evidence)
    best, bound = plain, 0.0
    before = plain.measured
    for share in SHARES if blend else ():
        tagger = blended(student, parent, share)
        seen = evidence.seen_by(tagger, dev)
        tried = Settled(tagger, share, fit_offsets(seen), seen)
        now = tried.measured
        reached = evidence.lower_bound(now, before)
        taught = fmean(evidence.changes(now, before, evidence.taught))
        if reached > bound and taught >= -TOLERANCE and evidence.keeps_old(now, before):
            best, bound = tried, reached
    return best


@torch.no_grad()
def blended(student: Tagger, parent: Tagger, share: float) -> Tagger:
    """Return a student whose encoder is so far on the way back to its parent's; its head stays as it is."""
    network = copy.deepcopy(student.network)
    for ours, theirs in zip(network.parameters(), parent.network.parameters(), strict=True):
        ours.lerp_(theirs.to(ours), share)
    return student.like(network, copy.deepcopy(student.head), student.labels)
