"""What a method costs, counted in passes through the encoder: seconds tell more about how busy a machine is."""

from __future__ import annotations

from retainer.methods.base import Method

BACKWARD = 2
"""Forward passes that a backward pass takes as long as."""
BACKWARD_THROUGH = 1
"""The same where the weights stand still, and only what adapters add to them has a gradient."""


def forward_passes(method: Method, epochs: int, text_share: float = 0.0, adapters: bool = False) -> float:
    """Return how often a task sends each of its sentences through an encoder, with text beside them if it is given.

    Of every method the teacher looks once per task; a teacher whose layers or attention are wanted looks at every step.
    A method that trains the new rows alone has no backward pass through the encoder. A review learns the task a second
    time, with as many sentences made up as there are real ones. Where mentions are swapped, the old version looks for
    some, and then at what became of the sentences.
    """
    backward = BACKWARD_THROUGH if adapters else BACKWARD
    look = 1.0 if method.trainable == "new rows" else 1.0 + backward
    beside = text_share if method.takes_text else 0.0
    again = bool(method.needs & {"layers", "maps"}) + ("epoch_vectors" in method.needs)
    epoch = (look + again) * (1 + beside) + look * method.second_looks
    swaps = method.swap_share
    return (1 + beside + 2 * bool(swaps) + epochs * (epoch + look * swaps)) * (3 if method.reviews else 1)
