"""Every loss term against the slow, obvious computation straight from its formula, in double precision."""

import dataclasses

import pytest
import torch
from batches import (
    OLD,
    WIDTH,
    cut,
    make,
    run,
    slow_cd,
    slow_ce,
    slow_kd,
    slow_pseudo,
    slow_se,
    slow_soft_kd,
    words,
)

from retainer.errors import InputError
from retainer.methods import IGNORE, METHODS, RDP, Tokens, method
from retainer.methods.rdp import prototype_weights, prototypes, pseudo_labels
from retainer.model.quirks import NONE
from retainer.model.tagger_output import TaggerOutput
from retainer.training.recipe import RECIPE_FIELDS

NOT_JOINT = [name for name, one in METHODS.items() if not one.joint and one.quirks == NONE]
"""What anybody may learn with; what released code computes has tests of its own."""


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("old_gold", [False, True])
class TestTerms:
    def test_finetune(self, seed, old_gold):
        student, teacher, tokens = make(seed, old_gold=old_gold)
        labels, labelled, *_ = words(tokens)
        terms, _ = run(METHODS["finetune"], student, teacher, tokens)
        assert float(terms["ce"]) == pytest.approx(slow_ce(student, labels, labelled))

    def test_joint(self, seed, old_gold):
        student, teacher, tokens = make(seed, old_gold=old_gold)
        labels, labelled, *_ = words(tokens)
        terms, _ = run(METHODS["joint"], student, teacher, tokens)
        assert float(terms["ce"]) == pytest.approx(slow_ce(student, labels, labelled))

    @pytest.mark.parametrize(("name", "temperatures"), [("self_training", (2, 0.01)), ("extend_ner", (2, 1))])
    def test_distilling(self, seed, old_gold, name, temperatures):
        student, teacher, tokens = make(seed, old_gold=old_gold)
        labels, _, outside, annotated = words(tokens)
        terms, _ = run(METHODS[name], student, teacher, tokens)
        assert float(terms["ce"]) == pytest.approx(slow_ce(student, labels, annotated))
        assert float(terms["kd"]) == pytest.approx(slow_kd(student, teacher, outside, *temperatures))

    @pytest.mark.parametrize("name", ["rdp", "rdp_paper", "rdp-no-cd", "rdp-no-se", "rdp-no-ppl", "rdp-no-pl"])
    def test_rdp(self, seed, old_gold, name):
        one = METHODS[name]
        student, teacher, tokens = make(seed, old_gold=old_gold)
        labels, labelled, outside, annotated = words(tokens)
        cover = {"all": labelled, "unannotated": outside, "annotated": annotated}
        terms, targets = run(one, student, teacher, tokens)
        coarse = [
            max(range(OLD), key=lambda c: float(teacher.logits[i][c])) if label == 0 else label
            for i, label in enumerate(labels)
        ]
        wanted = {"prototype": slow_pseudo(teacher, labels, one.temperature), "argmax": coarse, "none": labels}
        assert targets.labels.tolist() == wanted[one.pseudo]
        assert float(terms["ce"]) == pytest.approx(slow_ce(student, wanted[one.pseudo], labelled))
        slow = {
            "cd": one.relation_weight * slow_cd(student, teacher, labels, cover[one.relation_words]),
            "se": one.entropy_weight * slow_se(student, cover[one.entropy_words]),
            "kd": one.distil_weight * slow_soft_kd(student, teacher, cover[one.distil_words]),
        }
        assert {key: float(terms[key].detach()) for key in slow} == pytest.approx(slow)


def test_the_paper_by_the_letter():
    paper = METHODS["rdp_paper"]
    assert (paper.relation_weight, paper.entropy_weight, paper.distil_weight, paper.temperature) == (0.3, 0.1, 1.0, 1.0)
    assert paper.relation_words == paper.entropy_words == paper.distil_words == "all"


def test_the_ablations_differ_in_one_thing():
    plain = dataclasses.asdict(METHODS["rdp"])
    changed = {
        name: {key: value for key, value in dataclasses.asdict(METHODS[name]).items() if plain[key] != value}
        for name in METHODS
        if name != "rdp_released"
        if name.startswith("rdp-no")
    }
    assert changed == {
        "rdp-no-cd": {"relation_weight": 0.0},
        "rdp-no-se": {"entropy_weight": 0.0},
        "rdp-no-ppl": {"pseudo": "argmax"},
        "rdp-no-pl": {"pseudo": "none"},
    }


def test_labels_never_given_have_no_prototype():
    hidden = torch.randn(8, WIDTH)
    coarse = torch.tensor([0, 0, 2, 2, 2, 0, 0, 2])
    centres, seen = prototypes(hidden, coarse, torch.ones(8, dtype=torch.bool), OLD)
    assert seen.tolist() == [True, False, True, False, False]
    assert torch.allclose(centres[2], hidden[coarse == 2].mean(0))
    weights = prototype_weights(hidden, centres, seen, 0.5)
    assert (weights[:, ~seen] == 0).all() and torch.allclose(weights.sum(-1), torch.ones(8))


def test_only_unannotated_words_make_prototypes():
    teacher = TaggerOutput(torch.randn(10, OLD), torch.randn(10, WIDTH))
    mask = torch.arange(10) < 6
    far = TaggerOutput(teacher.logits, torch.where(mask[:, None], teacher.hidden, teacher.hidden + 1000))
    near, moved = (pseudo_labels(t, mask, "prototype", 1.0, 0) for t in (teacher, far))
    assert torch.equal(near[mask], moved[mask])


@pytest.mark.parametrize("name", NOT_JOINT)
class TestContract:
    @pytest.mark.parametrize("labels", [[0, 0, 0], [5, 6, 7], [IGNORE, IGNORE], [0], [5], [1, 2, 0, 5]])
    def test_odd_batches_have_a_finite_loss(self, name, labels):
        student, teacher, tokens = make(0, labels=labels)
        terms, _ = run(METHODS[name], student, teacher, tokens)
        loss = sum(terms.values())
        loss.backward()
        assert torch.isfinite(loss) and torch.isfinite(student.logits.grad).all()

    def test_padding_gets_no_gradient_and_changes_nothing(self, name):
        student, teacher, tokens = make(3)
        terms, _ = run(METHODS[name], student, teacher, tokens)
        sum(terms.values()).backward()
        padding = ~tokens.labelled
        assert padding.any() and (student.logits.grad[padding] == 0).all()
        keep = ~padding
        less = Tokens(tokens.labels[keep], torch.arange(int(keep.sum())), 0, OLD, tokens.sentences[keep])
        again, _ = run(METHODS[name], cut(student, keep), cut(teacher, keep), less)
        assert {k: float(v.detach()) for k, v in terms.items()} == pytest.approx(
            {k: float(v) for k, v in again.items()}
        )

    def test_extreme_scores_stay_finite(self, name):
        student, teacher, tokens = make(4)
        wild = [dataclasses.replace(out, logits=out.logits.detach() * 1e4) for out in (student, teacher)]
        terms, _ = run(METHODS[name], *wild, tokens)
        assert all(torch.isfinite(value) for value in terms.values())

    def test_fields_do_not_collide_with_the_recipe(self, name):
        assert not {field.name for field in dataclasses.fields(METHODS[name])} & RECIPE_FIELDS


def test_methods_are_found_by_name_and_fields_are_checked():
    assert method("rdp", {"temperature": 2}) == dataclasses.replace(METHODS["rdp"], temperature=2)
    with pytest.raises(InputError, match="did you mean 'extend_ner'"):
        method("extend-ner")
    with pytest.raises(InputError, match="did you mean 'temperature'"):
        method("rdp", {"temprature": 2})
    with pytest.raises(InputError, match="must be a number"):
        method("rdp", {"temperature": "warm"})
    with pytest.raises(InputError, match="one of prototype, argmax, none"):
        method("rdp", {"pseudo": "magic"})


@pytest.mark.parametrize("change", [{"temperature": 0.0}, {"temperature": -1.0}, {"relation_weight": -5.0}])
def test_senseless_numbers_are_refused(change):
    with pytest.raises(InputError, match=next(iter(change))):
        RDP(**change)
    with pytest.raises(InputError, match="must be a number"):
        RDP(temperature="warm")
    with pytest.raises(InputError, match="must be a number"):
        RDP(distil_weight=float("nan"))


def test_a_method_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RDP().temperature = 3
