"""What every method is: a frozen dataclass of hyper-parameters with three hooks. It owns no loop and no optimizer.

Nothing here imports torch at run time, so a list of methods costs nothing; tensors bring their own operations along.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from retainer.errors import InputError
from retainer.model.quirks import NONE, Quirks

if TYPE_CHECKING:
    from torch import Tensor

    from retainer.model.tagger_output import TaggerOutput

Need = Literal["vectors", "layers", "maps", "epoch_vectors"]
"""The teacher's token vectors; all layers' vectors, or all attention maps, of both (so the teacher looks again at
every step); the student's vectors of the whole slice, looked up once per epoch."""

IGNORE = -100
"""The label of a position that is not the first piece of a word: padding, special pieces, tails of words."""


def _as_it_is(count: Tensor) -> Tensor:
    return count


@dataclass(frozen=True)
class Tokens:
    """Positions and their given labels. ``rows`` are word numbers in the slice; ``old`` counts the teacher's labels.

    In a new task O means only "not annotated here": the word may be of an old type. Labels of old types can be given
    too; they are gold where they stand. Where their absence means something, the teacher's scores are
    conditioned on it (``training.teacher_targets``).
    """

    labels: Tensor
    rows: Tensor
    outside: int
    old: int
    sentences: Tensor | None = None
    """The number of the sentence of every word; known for a whole slice, not for a batch."""
    synthetic: Tensor | None = None
    """Which words are made up, for a review; known for a whole slice, not for a batch."""
    total: Callable[[Tensor], Tensor] = _as_it_is
    """Makes a number of words here one of the whole batch, of which another process may hold a part."""

    @cached_property
    def labelled(self) -> Tensor:
        """Words, as opposed to padding and tails."""
        return self.labels != IGNORE

    @cached_property
    def unannotated(self) -> Tensor:
        """Words labelled O."""
        return self.labels == self.outside

    @cached_property
    def annotated(self) -> Tensor:
        """Words with a gold entity label."""
        return self.labelled & ~self.unannotated


@dataclass(frozen=True)
class Clock:
    """Where training stands: for methods whose targets change over time.

    ``epoch`` and ``step`` are tensors of one number on the device: a recorded step is replayed, and would go on
    seeing the number it was recorded with.
    """

    epoch: Tensor
    epochs: int
    step: Tensor
    steps: int


@dataclass(frozen=True)
class Method:
    """Base of all methods: plain cross-entropy on whatever ``targets`` returns."""

    needs_teacher: ClassVar[bool] = False
    """Whether the old version's scores on the slice are wanted."""
    needs: ClassVar[frozenset[Need]] = frozenset()
    """What else the method needs; what it does not name is not computed for it."""
    leaves_doubtful: ClassVar[bool] = False
    """Whether words the teacher is not sure of get no pseudo label, so that fewer than it would choose are meant."""
    reviews: ClassVar[bool] = False
    """Whether a task is learned twice, the second time with sentences made up for the old types."""
    trainable: ClassVar[Literal["all", "new rows"]] = "all"
    """What learns: everything, or the head's rows of the new types alone."""
    quirks: ClassVar[Quirks] = NONE
    """Defects of released code outside the method that belong to it; only the bench takes a method that has some."""
    joint: ClassVar[bool] = False
    """Whether the method starts from the encoder and sees all data so far: an upper bound, not a contender."""
    several_devices: ClassVar[bool] = False
    """Whether a run of several processes was tested to learn what one process learns; every mean in ``losses`` must
    then be over the words of all of them (``Tokens.total``). Others refuse such a run."""
    partial: ClassVar[bool] = False
    """Whether, as such, it sees in every slice only the types of that slice's own task."""

    def __post_init__(self) -> None:
        """Refuse numbers no loss can have: weights below zero, temperatures that are not above it."""
        for field in fields(self):
            value = getattr(self, field.name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if field.type == "float" and not (number and isfinite(value) and value >= 0):
                raise InputError(f"field {field.name} must be a number, 0 or more, not {value!r}")
            if field.type == "float":
                object.__setattr__(self, field.name, float(value))  # 1 and 1.0 are one value, with one key
            if field.type == "int" and not (type(value) is int and value > 0):
                raise InputError(f"field {field.name} must be a whole number above 0, not {value!r}")
            if field.name.endswith("temperature") and value == 0:
                raise InputError(f"field {field.name} must be above 0")

    @property
    def look_share(self) -> float | None:
        """The share of a batch whose second look is taken, where something is left out; None for all of it."""
        return None

    @property
    def second_looks(self) -> float:
        """How many second looks a sentence gets in an epoch, on average: what ``leave_out`` costs."""
        return 0.0

    @property
    def swap_share(self) -> float:
        """How many sentences with old entities in the places of new ones a step shows beside its own, in batches."""
        return 0.0

    @property
    def blend(self) -> Literal["none", "dev"]:
        """Whether the student is moved back toward its parent as far as the dev set says, with the correction."""
        return "none"

    @property
    def prior_correction(self) -> Literal["none", "dev"]:
        """What the prior correction ``auto`` of a recipe means with this method."""
        return "none"

    @property
    def takes_text(self) -> bool:
        """Whether text without annotation teaches anything: only what an old version says about it can."""
        return self.needs_teacher and not self.joint and self.quirks == NONE

    @property
    def head_speed(self) -> float:
        """How many times faster than the recipe says the head learns with this method."""
        return 1.0

    def begin(self, slice_: Tokens, teacher: TaggerOutput) -> Any:
        """Look at the whole slice once per task, and return what ``targets`` should remember."""
        return None

    def targets(self, tokens: Tokens, teacher: TaggerOutput, memory: Any, clock: Clock) -> Tokens:
        """Return the labels to learn in a batch. Runs without gradient."""
        return tokens

    def leave_out(self, given: Tokens) -> Tensor | None:
        """Return the words to leave out in a second look of the student at the batch; None for no second look.

        ``look_share`` says for which sentences it is taken.
        """
        return None

    def matches(self, tokens: Tokens, memory: Any) -> Tensor | None:
        """Return, for every position, the words of the slice whose scores are wanted too (needs ``epoch_vectors``)."""
        return None

    def pseudo_labels(self, memory: Any) -> Tensor | None:
        """Return the labels ``begin`` gave the words of the slice, if the method gives any: they can be judged."""
        return None

    def losses(self, student: TaggerOutput, teacher: TaggerOutput, given: Tokens, targets: Tokens) -> dict[str, Tensor]:
        """Return the terms of the loss by name; the loop adds them up, logs them and differentiates."""
        raise NotImplementedError
