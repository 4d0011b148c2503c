"""Partial joint training: all slices at once, and at an O word only the types of its own slice are ruled out."""

import math
import statistics
from dataclasses import replace

import pytest
import torch

from retainer.data.corpus import Splits
from retainer.data.generated import generate
from retainer.data.tasks import hide, plan
from retainer.errors import InputError
from retainer.methods import METHODS, Finetune
from retainer.model.predict import run_tagger
from retainer.training.learn import learn
from retainer.training.prepare import prepare
from retainer.training.recipe import Recipe
from retainer.training.request import LearnRequest
from retainer.training.step import TrainingStep
from retainer.versions.version import load

TYPES = ["artist", "city", "movie"]
RECIPE = Recipe(epochs=1, batch=8, base_lr=1e-3, lr=1e-3, precision="full")


@pytest.fixture(scope="module")
def made():
    return plan(Splits(*(generate(size, seed=size, types=TYPES) for size in (60, 30, 30))), fg=1, pg=1, seed=1)


def ready(task, encoder, name="partial_joint"):
    """Prepare a task as the bench does: from the bare encoder, with the dev set of the task."""
    request = LearnRequest(task.train, load(encoder, device="cpu"), method=name, recipe=RECIPE, dev=task.dev)
    found = request.resolve()
    return prepare(found.version.tagger, found.data, found.method, found.recipe)


@pytest.fixture
def prepared(made, encoder):
    """All three slices, and a head that gives every label some probability."""
    task = ready(made.partial_joint(3), encoder)
    torch.manual_seed(5)
    for parameter in task.student.head.parameters():
        torch.nn.init.normal_(parameter)
    task.student.eval()
    return task


@pytest.fixture
def own_types(made):
    """By sentence of the training data, in file order: the types of the slice it was dealt to."""
    owner = {row: set(group) for rows, group in zip(made.slices, made.groups, strict=True) for row in rows}
    return [owner[row] for row in sorted(owner)]


def slow_loss(sentence, own, tagger, *, closed=False):
    """Return the loss of every word by the formula, from the probabilities of the sentence by itself."""
    shown = {i: (span.type, "B" if i == span.start else "I") for span in sentence.spans if span.type in own
             for i in range(span.start, span.end)}  # fmt: skip
    names = tagger.labels.names
    probabilities = run_tagger(tagger, tagger.tokenize([sentence], "cpu")).logits.softmax(-1).tolist()
    losses = []
    for word, p in enumerate(probabilities):
        if word in shown:
            type_, begins = shown[word]
            losses.append(-math.log(p[names.index(f"{begins}-{type_}")]))
        else:
            possible = [at for at, name in enumerate(names) if name == "O" or (not closed and name[2:] not in own)]
            losses.append(-math.log(sum(p[at] for at in possible)))
    return losses


def test_the_loss_is_that_of_the_formula(made, prepared, own_types):
    step = TrainingStep(prepared, prepared.slice, RECIPE)
    step.arithmetic.tagger.eval()
    truth = [made.train[row] for row in sorted(row for rows in made.slices for row in rows)]
    for windows, length in prepared.slice.shuffled(8, 0):
        chosen = prepared.slice.window_sentences[windows.numpy()]
        terms = {name: float(value.detach()) for name, value in step._terms(windows, length).items()}
        each = [slow_loss(truth[at], own_types[at], prepared.student) for at in chosen]
        assert terms == pytest.approx({"ce": statistics.fmean(loss for one in each for loss in one)}, rel=1e-4)
        plain = [slow_loss(truth[at], own_types[at], prepared.student, closed=True) for at in chosen]
        assert terms["ce"] < statistics.fmean(loss for one in plain for loss in one) - 0.1, "O alone would cost more"


def test_from_a_bare_encoder_what_no_slice_tells_stays_open(made, encoder, own_types):
    """A first task is plain cross-entropy whatever the method; here its scores have open labels all the same."""
    prepared = ready(made.partial_joint(3), encoder)
    labels = prepared.student.labels
    assert prepared.base and prepared.method == Finetune() and prepared.open is not None
    for number, own in enumerate(own_types):
        words = torch.arange(*prepared.slice.sentence_starts[number : number + 2].tolist())
        wanted = [at for at, name in enumerate(labels.names) if name != "O" and name[2:] not in own]
        assert all(row.nonzero().flatten().tolist() == wanted for row in prepared.open.at(words))


def test_joint_and_a_first_task_leave_nothing_open(made, encoder):
    assert ready(made.joint(3), encoder, "joint").open is None
    assert ready(made.partial_joint(1), encoder).open is None


def test_data_that_lack_an_old_type_are_refused_by_name(first, quick):
    both = generate(60, seed=5, types=["artist", "city"])
    with pytest.raises(InputError, match="method partial_joint learns all types at once.*no 'artist'"):
        learn(hide(both, ["city"]), first, method="partial_joint", recipe=replace(quick, epochs=1), device="cpu")
    assert METHODS["partial_joint"].joint and METHODS["partial_joint"].partial
