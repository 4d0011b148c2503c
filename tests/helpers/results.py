"""Results of cells made by hand: only what a test is about need be said."""

from retainer.bench.result import CellResult, TaskScores


def task(types=("a",), macro=0.0, per_type=None, **more):
    """The scores after a task."""
    return TaskScores(tuple(types), macro, macro, per_type or {}, **more)


def result(method="m", seed=1, macro=0.0, tasks=None, **more):
    """The result of a cell."""
    scores = {
        "average": {"micro": macro, "macro": macro},
        "forgetting": {},
        "backward_transfer": {},
        "seconds": 0.0,
        "versions": {},
        "encoder": "",
        **more,
    }
    return CellResult(method=method, seed=seed, tasks=tuple(tasks or [task()]), **scores)
