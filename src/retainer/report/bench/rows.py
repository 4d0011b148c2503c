"""A row of a bench's tables: one method in one setting, its results over all its seeds."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from retainer.bench.result import CellResult, TaskScores
from retainer.methods import METHODS
from retainer.methods.passes import forward_passes
from retainer.report.draw.runs import mean_of_known
from retainer.training.recipe import Recipe

Measure = Literal["micro", "macro", "old_macro", "new_macro"]
"""What is measured after every task."""
Average = Literal["micro", "macro"]
"""What is averaged over tasks."""


@dataclass(frozen=True)
class MethodRow:
    """A method in a setting, over all its seeds."""

    name: str
    """The method, with what is not the default about it."""
    cells: tuple[CellResult, ...]

    @property
    def method(self) -> str:
        """The method alone."""
        return self.cells[0].method

    @property
    def variant(self) -> str:
        """What is not the default about it."""
        return self.cells[0].variant

    @property
    def material(self) -> tuple[str, float]:
        """What it learns with: the encoder, and the share of sentences set aside as text."""
        return self.cells[0].encoder, self.cells[0].pool

    @property
    def default(self) -> bool:
        """Whether recipe and fields are the defaults, whatever it learns with."""
        encoder, pool = self.material
        return all(part == f"pool={pool}" or encoder.endswith(part) for part in self.variant.split(", "))

    @property
    def joint(self) -> bool:
        """Whether it is an upper bound: it sees all data and is not a rival. A method that is unknown today is none."""
        known = METHODS.get(self.method)
        return known is not None and known.joint

    @property
    def by_seed(self) -> dict[int, CellResult]:
        """Its cells by seed: what another row is compared with, seed by seed."""
        return {cell.seed: cell for cell in self.cells}

    def values(self, name: Average) -> list[float]:
        """Return an average over tasks, seed by seed."""
        return [cell.average[name] for cell in self.cells]

    def mean(self, name: Average) -> float:
        """Return the mean of an average over tasks."""
        return statistics.fmean(self.values(name))

    def last(self, name: Measure) -> float | None:
        """Return the mean of something measured after the last task."""
        return mean_of_known(getattr(cell.tasks[-1], name) for cell in self.cells)

    def by_task(self, name: Measure) -> list[float | None]:
        """Return the mean of something measured after each task."""
        return [mean_of_known(getattr(task, name) for task in tasks) for tasks in zip(*self._tasks, strict=True)]

    @property
    def forgetting(self) -> float | None:
        """The mean drop over types and seeds."""
        return mean_of_known(drop for cell in self.cells for drop in cell.forgetting.values())

    @property
    def backward(self) -> float | None:
        """The mean backward transfer over types and seeds."""
        return mean_of_known(gain for cell in self.cells for gain in cell.backward_transfer.values())

    @property
    def dev(self) -> float | None:
        """The mean macro F1 on the dev set over tasks and seeds."""
        return mean_of_known(task.dev["macro"] for tasks in self._tasks for task in tasks if task.dev)

    def pseudo_labels(self, name: Literal["precision", "recall"]) -> float | None:
        """Return the mean precision or recall of the pseudo labels over seeds and over tasks that have any to find."""
        scores = (task.pseudo_labels for tasks in self._tasks for task in tasks if task.pseudo_labels)
        return mean_of_known(one[name] for one in scores if one.get("support", 1))

    @property
    def seconds(self) -> float | None:
        """The mean time of a cell."""
        return mean_of_known(cell.seconds for cell in self.cells)

    @property
    def passes(self) -> float | None:
        """How often a task sends each of its sentences through an encoder; None for a method that is unknown today."""
        known, cell = METHODS.get(self.method), self.cells[0]
        if known is None:
            return None
        own = {name: value for name, value in cell.fields.items() if name in asdict(known)}
        recipe = {**asdict(Recipe()), **cell.recipe}
        share = recipe["text_share"] if cell.pool else 0.0
        return forward_passes(replace(known, **own), recipe["epochs"], share, bool(recipe["adapter_rank"]))

    @property
    def peak(self) -> float | None:
        """The most memory of the device a cell took, in bytes, where that was measured."""
        return max((cell.peak_bytes for cell in self.cells if cell.peak_bytes), default=None)

    @property
    def _tasks(self) -> list[tuple[TaskScores, ...]]:
        return [cell.tasks for cell in self.cells]


def row_name(cell: CellResult) -> str:
    """Name the row a cell belongs to."""
    return f"{cell.method} ({cell.variant})" if cell.variant else cell.method


def with_distinct_variants(cells: Sequence[CellResult]) -> list[CellResult]:
    """Return the cells with variants that distinguish their encoders.

    A variant ends in the last name of the encoder's folder. Where several encoders have that name, it ends in as much
    of the path as they need; otherwise two encoders would fall into one row.
    """
    labels = _labels({cell.encoder for cell in cells})
    return [replace(cell, variant=_variant(cell, labels)) if cell.variant else cell for cell in cells]


def _variant(cell: CellResult, labels: Mapping[str, str]) -> str:
    encoder, parts = cell.encoder, cell.variant.split(", ")
    return ", ".join([*parts[:-1], labels[encoder] if parts[-1] == Path(encoder).name else parts[-1]])


def _labels(encoders: Iterable[str]) -> dict[str, str]:
    """Name every encoder by the end of its path, just long enough to distinguish it from those of the same name."""
    alike: dict[str, list[str]] = {}
    for encoder in encoders:
        alike.setdefault(Path(encoder).name, []).append(encoder)
    return {encoder: label for group in alike.values() for encoder, label in _tails(group).items()}


def _tails(encoders: Sequence[str]) -> dict[str, str]:
    for length in range(1, max(len(Path(encoder).parts) for encoder in encoders) + 1):
        tails = {encoder: str(Path(*Path(encoder).parts[-length:])) for encoder in encoders}
        if len(set(tails.values())) == len(encoders):
            return tails
    return {encoder: encoder for encoder in encoders}


def rows_by_setting(cells: Iterable[CellResult]) -> dict[str, list[MethodRow]]:
    """Group cells by setting and by method: the upper bounds, then the others, each with the best macro F1 first.

    Every table of a bench has its rows in this order.
    """
    grouped: dict[str, dict[str, list[CellResult]]] = {}
    for cell in cells:
        grouped.setdefault(cell.setting, {}).setdefault(row_name(cell), []).append(cell)
    return {
        setting: sorted((MethodRow(name, tuple(own)) for name, own in methods.items()), key=_best_first)
        for setting, methods in grouped.items()
    }


def _best_first(row: MethodRow) -> tuple[bool, float]:
    return not row.joint, -row.mean("macro")
