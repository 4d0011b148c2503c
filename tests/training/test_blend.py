"""Blended weights: what lies between a student and its parent, and when it is taken."""

from dataclasses import replace

import pytest
import torch

from retainer.data.generated import generate
from retainer.data.tasks import hide
from retainer.methods import Retain
from retainer.model.predict import run_tagger
from retainer.training import blend as module
from retainer.training.blend import blended, settle
from retainer.training.evidence import Evidence
from retainer.training.learn import learn
from retainer.training.recipe import Recipe

DEV = hide(generate(100, seed=7, types=["artist", "city"]), ["city"])
RECIPE = Recipe(epochs=2, batch=16, base_lr=1e-3, lr=1e-3)


@pytest.fixture(scope="module")
def student(first, city):
    return learn(city, first, method="retain", dev=DEV, recipe=RECIPE, device="cpu")


def test_half_way_is_the_mean_of_both(first, student):
    middle = blended(student.tagger, first.tagger, 0.5)
    for name, ours in middle.network.named_parameters():
        pair = [dict(one.tagger.network.named_parameters())[name] for one in (student, first)]
        assert torch.allclose(ours, (pair[0] + pair[1]) / 2, atol=1e-6)
    assert torch.equal(middle.head.weight(), student.tagger.head.weight()), "the head is the student's"
    encoded = first.tagger.tokenize(DEV.sentences, "cpu")
    whole = run_tagger(blended(student.tagger, first.tagger, 1.0), encoded).logits
    old = len(first.tagger.labels.names)
    assert torch.allclose(whole[:, :old], run_tagger(first.tagger, encoded).logits, atol=1e-4), "old rows are frozen"


def test_the_student_is_left_alone(first, student):
    before = {name: tensor.clone() for name, tensor in student.tagger.state_dict().items()}
    evidence = Evidence.of(student.tagger, first.tagger, DEV, ("city",))
    settle(student.tagger, first.tagger, DEV, evidence, blend=True)
    assert all(torch.equal(before[name], tensor) for name, tensor in student.tagger.state_dict().items())
    assert settle(student.tagger, first.tagger, DEV, evidence, blend=False).share == 0.0


def test_a_blend_that_is_better_is_taken_and_recorded(first, city, monkeypatch):
    """A student that has run away from its parent comes back as far as it helps."""
    recipe = replace(RECIPE, lr=2e-2, epochs=3)
    version = learn(city, first, method=Retain(blend="dev"), dev=DEV, recipe=recipe, device="cpu")
    plain = learn(city, first, method=Retain(), dev=DEV, recipe=recipe, device="cpu")
    assert plain.lineage.blend == 0.0 and version.lineage.blend in (0.0, *module.SHARES)
    monkeypatch.setattr(module.Evidence, "lower_bound", lambda *_: 1.0)
    monkeypatch.setattr(module, "TOLERANCE", 100.0)
    taken = learn(city, first, method=Retain(blend="dev"), dev=DEV, recipe=recipe, device="cpu")
    assert taken.lineage.blend == module.SHARES[0], "the first of equals"


def test_what_lowers_the_new_types_is_not(first, student, monkeypatch):
    evidence = Evidence.of(student.tagger, first.tagger, DEV, ("city",))
    monkeypatch.setattr(module.Evidence, "lower_bound", lambda *_: 1.0)
    monkeypatch.setattr(module.Evidence, "changes", lambda *_: [-0.6])
    assert settle(student.tagger, first.tagger, DEV, evidence, blend=True).share == 0.0
