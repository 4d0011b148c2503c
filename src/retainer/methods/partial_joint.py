"""Partial joint training: the upper bound that sees what a learner sees, only all at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from retainer.methods.joint import Joint


@dataclass(frozen=True)
class PartialJoint(Joint):
    """L = CE(y) over all words of all slices so far, each annotated with the types of its own task alone.

    At an O word the labels of all other types are open, so the loss there is -log of the summed probability of O and of
    these labels (``training.teacher_targets``). Joint training sees every type annotated in every slice, which no
    learner does; what separates the two is annotation, not forgetting.
    """

    partial: ClassVar[bool] = True
    several_devices: ClassVar[bool] = False
