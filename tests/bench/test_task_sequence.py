from collections import Counter

import pytest

from retainer.bench.result import CellResult
from retainer.bench.task_sequence import TaskResult, TaskSequence
from retainer.data.corpus import Splits
from retainer.data.generated import generate
from retainer.data.tasks import Task, plan
from retainer.errors import InputError
from retainer.methods import METHODS
from retainer.metrics.f1 import Score, Scores
from retainer.training.recipe import Recipe

TYPES = ["artist", "city", "movie"]
RECIPE = Recipe(epochs=1, base_lr=1e-3, lr=1e-3)


@pytest.fixture(scope="module")
def made():
    return plan(Splits(*(generate(size, seed=size, types=TYPES) for size in (60, 30, 30))), fg=1, pg=1, seed=1)


def sequence(made, name, encoder):
    return TaskSequence(made, METHODS[name], encoder=str(encoder), recipe=RECIPE, device="cpu")


def test_a_method_over_all_tasks(made, encoder):
    steps = list(sequence(made, "rdp", encoder).run())
    assert [step.task.new for step in steps] == [("artist",), ("city",), ("movie",)]
    assert [step.version.types for step in steps] == [("artist",), ("artist", "city"), ("artist", "city", "movie")]
    assert [step.version.lineage.task for step in steps] == [1, 2, 3]
    assert steps[1].version.lineage.parent != steps[0].version.lineage.parent


def test_a_shared_first_task_is_not_learned_again(made, encoder):
    first = next(iter(sequence(made, "rdp", encoder).run()))
    steps = list(sequence(made, "finetune", encoder).run(first))
    assert steps[0] is first and steps[1].version.lineage.method == "finetune"


def test_joint_starts_over_every_time(made, encoder):
    steps = list(sequence(made, "joint", encoder).run())
    assert [step.version.lineage.task for step in steps] == [1, 1, 1]
    assert steps[2].version.types == ("artist", "city", "movie") and steps[2].task.old == ("artist", "city")
    assert steps[2].version.lineage.data["sentences"] == 60


def test_partial_joint_starts_over_with_what_the_tasks_showed(made, encoder):
    steps = list(sequence(made, "partial_joint", encoder).run())
    assert [step.version.lineage.task for step in steps] == [1, 1, 1]
    assert [step.version.types for step in steps] == [made.types(number) for number in (1, 2, 3)]
    assert steps[2].version.lineage.data["sentences"] == 60 and steps[2].task.old == ("artist", "city")
    shown = sum((made.task(number).train.counts for number in (1, 2, 3)), Counter())
    assert steps[2].version.lineage.data["entities"] == dict(shown), "every task's own annotation, and no other"


def test_without_a_test_set_there_is_nothing_to_score(encoder):
    bare = plan(Splits(generate(60, seed=1, types=TYPES)), fg=1, pg=1)
    with pytest.raises(InputError, match="test set"):
        list(sequence(bare, "rdp", encoder).run())


def test_the_shape_of_a_result():
    corpus = generate(1)
    tasks = [Task(1, ("a",), (), corpus), Task(2, ("b",), ("a",), corpus)]
    scores = [
        Scores({"a": Score(8, 10, 10)}),
        Scores({"a": Score(4, 10, 10), "b": Score(10, 10, 10)}),
    ]
    rows = [TaskResult(t, None, s, (), 2.0).task_scores for t, s in zip(tasks, scores, strict=True)]
    measured = CellResult.measured("m", rows, seed=3)
    result = measured.as_dict()
    assert CellResult.of(result) == measured
    first, last = result["tasks"]
    assert first["old_macro"] is None and first["new_macro"] == 80 and first["types"] == ["a"]
    assert (last["old_macro"], last["new_macro"], last["macro"]) == (40, 100, 70)
    assert last["micro"] == pytest.approx(70) and last["per_type"]["b"]["support"] == 10
    assert result["average"] == {"micro": pytest.approx(75), "macro": pytest.approx(75)}
    assert result["forgetting"] == {"a": 40} and result["backward_transfer"] == {"a": -40}
    assert result["seconds"] == 4 and result["versions"]["retainer"]
