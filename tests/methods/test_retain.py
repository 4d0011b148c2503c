"""The terms of retain against the slow, obvious computation straight from its formula."""

import math
from dataclasses import replace

import pytest
import torch
from batches import OLD, make, run, slow_ce, slow_soft_kd, softmax, words

from retainer.errors import InputError
from retainer.methods import METHODS, Retain, Tokens, learnable
from retainer.training.recipe import RECIPE_FIELDS


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def covered(student, tokens):
    """The second look covers the sentences that have new entities, as the step says."""
    sentence = tokens.sentences
    changed = {int(s) for s, label in zip(sentence, tokens.labels, strict=True) if label >= OLD}
    mask = torch.tensor([int(s) in changed for s in sentence])
    return replace(student, second_view=replace(student.second_view, covered=mask)), mask


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("old_gold", [False, True])
def test_one_mean_over_all_words(seed, old_gold):
    student, teacher, tokens = make(seed, old_gold=old_gold)
    student, mask = covered(student, tokens)
    labels, labelled, outside, annotated = words(tokens)
    ce = sum(-math.log(softmax(student.logits[i])[labels[i]]) for i in annotated)
    kd = look = 0.0
    for i in outside:
        q = softmax(teacher.logits[i])
        kd -= sum(q[c] * math.log(softmax(student.logits[i])[c]) for c in range(OLD))
        if mask[i]:
            look -= sum(q[c] * math.log(softmax(student.second_view.logits[i])[c]) for c in range(OLD))
    terms, _ = run(Retain(look_share=1), student, teacher, tokens)
    wanted = {"ce": ce / len(labelled), "kd": kd / len(labelled), "look": look / len(labelled)}
    assert {name: float(value.detach()) for name, value in terms.items()} == pytest.approx(wanted)
    halves, _ = run(Retain(look_weight=0.5, look_share=0.25), student, teacher, tokens)
    assert float(halves["look"].detach()) == pytest.approx(2 * wanted["look"]), "a quarter counts four times"


@pytest.mark.parametrize("seed", range(3))
def test_the_parts_can_be_left_out(seed):
    student, teacher, tokens = make(seed)
    student, _ = covered(student, tokens)
    labels, _, outside, annotated = words(tokens)
    apart, _ = run(METHODS["retain-no-mean"], student, teacher, tokens)
    assert float(apart["ce"].detach()) == pytest.approx(slow_ce(student, labels, annotated))
    assert float(apart["kd"].detach()) == pytest.approx(slow_soft_kd(student, teacher, outside))
    alone, _ = run(METHODS["retain-no-look"], student, teacher, tokens)
    assert list(alone) == ["ce", "kd"] and METHODS["retain-no-look"].leave_out(tokens) is None
    same, _ = run(METHODS["retain-no-prior"], student, teacher, tokens)
    whole, _ = run(METHODS["retain"], student, teacher, tokens)
    assert {name: float(value.detach()) for name, value in same.items()} == {
        name: float(value.detach()) for name, value in whole.items()
    }


def test_where_nothing_was_looked_at_twice():
    student, teacher, tokens = make(0)
    terms, _ = run(METHODS["retain"], replace(student, second_view=None), teacher, tokens)
    assert float(terms["look"]) == 0


@pytest.mark.parametrize("share", [0.0, 1.5])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(InputError, match="above 0 and at most 1"):
        Retain(look_share=share)


def test_what_it_declares():
    assert METHODS["retain"].prior_correction == "dev" and METHODS["retain-no-prior"].prior_correction == "none"
    assert all(METHODS[name].prior_correction == "none" for name in METHODS if not name.startswith("retain"))
    given = Tokens(torch.tensor([0, 1, OLD, OLD + 1, -100]), torch.tensor([0, 1, 2, 3, -1]), 0, OLD)
    assert METHODS["retain"].leave_out(given).tolist() == [False, False, True, True, False]
    assert {"retain", "retain-no-look", "rdp_tuned"} <= set(learnable())


@pytest.mark.parametrize("name", METHODS)
def test_no_field_has_the_name_of_one_of_the_recipe(name):
    assert not RECIPE_FIELDS & set(METHODS[name].__dataclass_fields__)
