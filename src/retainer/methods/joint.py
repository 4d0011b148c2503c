"""Joint training: the upper bound. All slices so far, all types so far annotated, from the encoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from retainer.methods.finetune import Finetune


@dataclass(frozen=True)
class Joint(Finetune):
    """L = CE(y) over all words of a corpus in which every type is annotated. Needs all old data."""

    joint: ClassVar[bool] = True
    several_devices: ClassVar[bool] = True
