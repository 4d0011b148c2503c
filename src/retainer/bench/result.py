"""What was measured: the scores after each task, and the result of a cell, as they stand in its JSON file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from retainer.metrics.f1 import TypeScores
from retainer.metrics.forgetting import backward_transfer, forgetting
from retainer.runtime import versions


class Means(TypedDict):
    """Micro and macro F1 in percent."""

    micro: float
    macro: float


@dataclass(frozen=True)
class TaskScores:
    """What a version scores after one task, over all types so far; F1 in percent."""

    types: tuple[str, ...]
    """The new types of the task."""
    micro: float
    macro: float
    per_type: Mapping[str, TypeScores]
    old_macro: float | None = None
    """None after the first task, which has no old types."""
    new_macro: float | None = None
    pseudo_labels: TypeScores | None = None
    """How good the labels were that the method gave to unannotated words; None if it gave none."""
    dev: Means | None = None
    """The same on the dev set: what hyper-parameters are chosen on."""
    seconds: float = 0.0

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> TaskScores:
        """Read a row of a result file."""
        return cls(
            types=tuple(row["types"]),
            micro=row["micro"],
            macro=row["macro"],
            per_type=row["per_type"],
            old_macro=row.get("old_macro"),
            new_macro=row.get("new_macro"),
            pseudo_labels=row.get("guesses"),
            dev=row.get("dev"),
            seconds=row.get("seconds", 0.0),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the row of a result file."""
        return {
            "types": list(self.types),
            "micro": self.micro,
            "macro": self.macro,
            "per_type": dict(self.per_type),
            "old_macro": self.old_macro,
            "new_macro": self.new_macro,
            "guesses": self.pseudo_labels,
            "dev": self.dev,
            "seconds": self.seconds,
        }

    def f1(self, type_: str) -> float | None:
        """Return F1 of a type; None where it was not measured."""
        scores = self.per_type.get(type_)
        return None if scores is None or scores["f1"] is None else float(scores["f1"])


@dataclass(frozen=True)
class CellResult:
    """The result of one cell: a method over the tasks of a setting with one seed."""

    method: str
    seed: int
    encoder: str
    tasks: tuple[TaskScores, ...]
    average: Means
    """The mean over tasks, the first included."""
    forgetting: Mapping[str, float]
    backward_transfer: Mapping[str, float]
    seconds: float
    versions: Mapping[str, str]
    """The versions of the software it was measured with."""
    cell: Mapping[str, Any] = field(default_factory=dict)
    """What says which cell of a bench it is (preset, setting, variant) and, behind the scores, what determines it
    (recipe, fields, key, peak_bytes); nothing for a sequence outside a bench."""

    @classmethod
    def measured(cls, method: str, tasks: Sequence[TaskScores], *, seed: int, encoder: str = "builtin") -> CellResult:
        """Sum up the tasks of a sequence."""
        per_type = [{type_: scores["f1"] for type_, scores in task.per_type.items()} for task in tasks]
        return cls(
            method=method,
            seed=seed,
            encoder=encoder,
            tasks=tuple(tasks),
            average={
                "micro": sum(task.micro for task in tasks) / len(tasks),
                "macro": sum(task.macro for task in tasks) / len(tasks),
            },
            forgetting=forgetting(per_type),
            backward_transfer=backward_transfer(per_type),
            seconds=sum(task.seconds for task in tasks),
            versions=versions(),
        )

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> CellResult:
        """Read a result file."""
        return cls(
            method=document["method"],
            seed=document["seed"],
            encoder=document["encoder"],
            tasks=tuple(TaskScores.of(row) for row in document["tasks"]),
            average=document["average"],
            forgetting=document.get("forgetting", {}),
            backward_transfer=document.get("backward_transfer", {}),
            seconds=document["seconds"],
            versions=document["versions"],
            cell={name: document[name] for name in (*_BEFORE, *_BEHIND) if name in document},
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the document of a result file."""
        return {
            **{name: self.cell[name] for name in _BEFORE if name in self.cell},
            "method": self.method,
            "seed": self.seed,
            "encoder": self.encoder,
            "tasks": [task.as_dict() for task in self.tasks],
            "average": self.average,
            "forgetting": dict(self.forgetting),
            "backward_transfer": dict(self.backward_transfer),
            "seconds": self.seconds,
            "versions": dict(self.versions),
            **{name: self.cell[name] for name in _BEHIND if name in self.cell},
        }

    @property
    def preset(self) -> str:
        """The benchmark."""
        return str(self.cell.get("preset", ""))

    @property
    def setting(self) -> str:
        """The setting, such as FG-1-PG-1."""
        return str(self.cell.get("setting", ""))

    @property
    def variant(self) -> str:
        """What is not the default about it, in words."""
        return str(self.cell.get("variant", ""))

    @property
    def key(self) -> str:
        """The hash of everything that determines it."""
        return str(self.cell.get("key", ""))

    @property
    def recipe(self) -> Mapping[str, Any]:
        """The fields of the recipe."""
        recipe: Mapping[str, Any] = self.cell.get("recipe", {})
        return recipe


_BEFORE = ("preset", "setting", "variant")
_BEHIND = ("recipe", "fields", "key", "peak_bytes")
