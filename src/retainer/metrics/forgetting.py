"""What a sequence of tasks does to the F1 of each type. All values are in percent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def f1_history(steps: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Turn F1 per type after each task into one list per type, from the task that taught it on."""
    types = dict.fromkeys(type_ for step in steps for type_ in step)
    return {type_: [step[type_] for step in steps if type_ in step] for type_ in types}


def forgetting(steps: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """For every type that has a past: its best earlier F1 minus its last."""
    return {type_: max(values[:-1]) - values[-1] for type_, values in f1_history(steps).items() if len(values) > 1}


def backward_transfer(steps: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """For every type that has a past: its last F1 minus its first."""
    return {type_: values[-1] - values[0] for type_, values in f1_history(steps).items() if len(values) > 1}
