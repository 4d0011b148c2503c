"""What was measured: the scores after each task, and the result of a cell, as they stand in its JSON file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict

from retainer.metrics.f1 import TypeScores
from retainer.metrics.forgetting import backward_transfer, forgetting
from retainer.runtime import versions


class Means(TypedDict):
    """Micro and macro F1 in percent."""

    micro: float
    macro: float


class DevMeans(Means):
    """The same on the dev set; cells measured before old and new types were told apart there lack the last two."""

    old_macro: NotRequired[float | None]
    new_macro: NotRequired[float | None]


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
    dev: DevMeans | None = None
    """The same on the dev set: what hyper-parameters and methods are chosen on."""
    seconds: float = 0.0

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> TaskScores:
        """Read a row of a result file; what is not one is a ValueError."""
        _require(row, _TASK)
        for scores in row["per_type"].values():
            _require(scores, {"f1": float})
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

    @property
    def deciding(self) -> DevMeans:
        """The means a choice is made by: those on the dev set; what a cell lacks of them, on the test set."""
        tested: DevMeans = {
            "micro": self.micro,
            "macro": self.macro,
            "old_macro": self.old_macro,
            "new_macro": self.new_macro,
        }
        return tested if self.dev is None else {**tested, **self.dev}

    def f1(self, type_: str) -> float | None:
        """Return F1 of a type; None where it was not measured."""
        scores = self.per_type.get(type_)
        return None if scores is None else float(scores["f1"])


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
    preset: str = ""
    """The benchmark; empty for a sequence outside a bench, whose file has nothing of what follows."""
    setting: str = ""
    variant: str = ""
    """What is not the default about it, in words."""
    recipe: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    """The hyper-parameters of the method."""
    key: str = ""
    """The hash of everything that determines it."""
    peak_bytes: int | None = None
    pool: float = 0.0
    """The share of the training sentences that was set aside as text without annotation."""

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
        """Read a result file; a document that is not one is a ValueError."""
        _require(document, _CELL)
        _require(document["average"], _MEANS)
        if not document["tasks"]:
            raise ValueError("there is no task")
        return cls(
            method=document["method"],
            seed=document["seed"],
            encoder=str(document.get("encoder", "")),
            tasks=tuple(TaskScores.of(row) for row in document["tasks"]),
            average=document["average"],
            forgetting=document["forgetting"],
            backward_transfer=document.get("backward_transfer", {}),
            seconds=document.get("seconds", 0.0),
            versions=document.get("versions", {}),
            preset=str(document.get("preset", "")),
            setting=str(document.get("setting", "")),
            variant=str(document.get("variant", "")),
            recipe=document.get("recipe", {}),
            fields=document.get("fields", {}),
            key=str(document.get("key", "")),
            peak_bytes=document.get("peak_bytes"),
            pool=document.get("pool", 0.0),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the document of a result file."""
        place = {"preset": self.preset, "setting": self.setting, "variant": self.variant}
        scores = {
            "method": self.method,
            "seed": self.seed,
            "encoder": self.encoder,
            "tasks": [task.as_dict() for task in self.tasks],
            "average": self.average,
            "forgetting": dict(self.forgetting),
            "backward_transfer": dict(self.backward_transfer),
            "seconds": self.seconds,
            "versions": dict(self.versions),
        }
        cause = {"recipe": dict(self.recipe), "fields": dict(self.fields), "key": self.key}
        text = {"pool": self.pool} if self.pool else {}
        return {**place, **scores, **cause, **text, "peak_bytes": self.peak_bytes} if self.preset else scores


_CELL = {"method": str, "seed": int, "tasks": list, "average": dict, "forgetting": dict}
_MEANS = {"micro": float, "macro": float}
_TASK = {"types": list, "micro": float, "macro": float, "per_type": dict}


def _require(document: Any, wanted: Mapping[str, type]) -> None:
    """Refuse a document that lacks what every result has, or has something of another kind in its place."""
    if not isinstance(document, Mapping):
        raise ValueError("expected an object")
    for name, kind in wanted.items():
        if not isinstance(document.get(name), (int, kind) if kind is float else kind):
            raise ValueError(f"{name} is missing, or not what it should be")
