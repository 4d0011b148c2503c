"""A method over a whole plan of tasks, scored after each: what tables, curves and the demo are made of."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from retainer.errors import InputError
from retainer.learning import learn
from retainer.methods import Method
from retainer.methods import method as find_method
from retainer.metrics import Scores, backward_transfer, forgetting
from retainer.progress import Silence
from retainer.recipe import Recipe
from retainer.runtime import versions
from retainer.tasks import Plan, Task
from retainer.version import Version, load


@dataclass(frozen=True)
class Step:
    """The state of things after a task."""

    task: Task
    version: Version
    scores: Scores
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Return the row of a result file."""
        return {
            "types": list(self.task.new),
            **self.scores.as_dict(),
            "old_macro": self.scores.macro_of(self.task.old) if self.task.old else None,
            "new_macro": self.scores.macro_of(self.task.new),
            "seconds": self.seconds,
        }


def run(
    plan: Plan,
    method: Method | str,
    *,
    encoder: str = "builtin",
    recipe: Recipe | None = None,
    seed: int = 0,
    device: str = "auto",
    first: Step | None = None,
    watch: Silence | None = None,
) -> Iterator[Step]:
    """Learn task after task and yield after each. ``first`` shares a first task, which is the same for all methods."""
    if plan.test is None:
        raise InputError("a sequence of tasks is scored on a test set, and there is none")
    recipe, version = recipe or Recipe(), None
    joint = (find_method(method) if isinstance(method, str) else method).joint
    for number in range(1, len(plan) + 1):
        if number == 1 and first is not None:
            version = first.version
            yield first
            continue
        began = time.perf_counter()
        task = plan.joint(number) if joint else plan.task(number)
        start = version if version is not None and not joint else load(encoder, device=device, head=recipe.head)
        version = learn(
            task.train, start, method=method, dev=task.dev, recipe=recipe, seed=seed, device=device, watch=watch
        )
        shown = plan.task(number)
        yield Step(shown, version, version.evaluate(shown.test or task.train), time.perf_counter() - began)


def cell(method: str, steps: Sequence[Step], *, seed: int, encoder: str = "builtin") -> dict[str, Any]:
    """Put a finished sequence into the shape of a result file; averages are over tasks, the first included."""
    rows = [step.as_dict() for step in steps]
    per_type = [{type_: s.f1 for type_, s in step.scores.per_type.items()} for step in steps]
    return {
        "method": method,
        "seed": seed,
        "encoder": encoder,
        "tasks": rows,
        "average": {name: sum(row[name] for row in rows) / len(rows) for name in ("micro", "macro")},
        "forgetting": forgetting(per_type),
        "backward_transfer": backward_transfer(per_type),
        "seconds": sum(row["seconds"] for row in rows),
        "versions": versions(),
    }
