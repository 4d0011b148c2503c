import pytest
import torch
from torch.nn import functional as F

from retainer.data.labels import Labels
from retainer.model.heads import HEADS, CosineHead, LinearHead, Rows

WIDTH = 16


def words(count=200, seed=0):
    """Vectors with a strong common direction, as encoders make them, and labels of one old and one new type."""
    random = torch.Generator().manual_seed(seed)
    gold = torch.randint(0, 5, (count,), generator=random)
    centres = torch.randn(5, WIDTH, generator=random)
    common = torch.full((WIDTH,), 1.5)
    return common + centres[gold] + 0.3 * torch.randn(count, WIDTH, generator=random), gold


def trained(kind, hidden, gold):
    """A head that already tells O and the old type apart."""
    centred = torch.stack([hidden[gold == c].mean(0) for c in range(3)])
    if kind == "cosine":
        return CosineHead(Rows(centred, torch.zeros(3)), sigma=12.0)
    return LinearHead(Rows(centred - hidden.mean(0), torch.zeros(3)))


OLD = Labels(("O", "B-old", "I-old"))


@pytest.mark.parametrize("kind", ["linear", "cosine"])
def test_growing_changes_nothing(kind):
    hidden, gold = words()
    old = trained(kind, hidden, gold)
    new = old.grow(OLD.grow(["new"]), hidden, gold)
    assert torch.equal(new(hidden)[:, :3], old(hidden)), "old scores, bit for bit"
    assert torch.equal(new(hidden).argmax(-1), old(hidden).argmax(-1)), "no prediction on the slice"
    assert new(hidden).shape[-1] == 5


@pytest.mark.parametrize("kind", ["linear", "cosine"])
def test_a_bare_encoder_grows_too(kind):
    hidden, gold = words()
    head = HEADS[kind].empty(WIDTH).grow(Labels().grow(["a", "b"]), hidden, gold)
    assert (head(hidden).argmax(-1) == 0).all(), "everything is still O"


def test_new_rows_point_at_their_own_words():
    hidden, gold = words()
    new = trained("linear", hidden, gold).grow(OLD.grow(["new"]), hidden, gold)
    for label in (3, 4):
        scores = new(hidden)[:, label]
        assert scores[gold == label].mean() > scores[gold != label].mean()
        assert scores[gold == label].max() > new(hidden)[gold == label].max(-1).values.min() - 5


def test_a_label_without_words_borrows_from_its_type():
    hidden, gold = words()
    gold[gold == 4] = 0
    new = trained("linear", hidden, gold).grow(OLD.grow(["new"]), hidden, gold)
    assert torch.equal(new.new.weight[0], new.new.weight[1])
    assert torch.isfinite(new(hidden)).all()


def test_a_type_without_words_is_harmless():
    hidden, gold = words()
    new = trained("linear", hidden, gold).grow(OLD.grow(["new", "never"]), hidden, gold)
    assert torch.equal(new(hidden).argmax(-1), trained("linear", hidden, gold)(hidden).argmax(-1))


@pytest.mark.parametrize("kind", ["linear", "cosine"])
def test_merging_changes_no_score(kind):
    hidden, gold = words()
    head = trained(kind, hidden, gold).grow(OLD.grow(["new"]), hidden, gold)
    assert torch.allclose(head.merged()(hidden), head(hidden), atol=1e-5)


def test_cosine_is_taken_per_token():
    hidden, gold = words()
    head = trained("cosine", hidden, gold)
    slow = [
        [float(head.sigma.detach()) * float(F.cosine_similarity(h, w, dim=0)) for w in head.old.weight]
        for h in hidden[:20]
    ]
    assert torch.allclose(head(hidden[:20]), torch.tensor(slow), atol=1e-4)
    assert torch.allclose(head(hidden * 7), head(hidden), atol=1e-4), "the length of a token does not matter"


def test_cosine_folds_into_a_linear_layer_with_the_same_winners():
    hidden, gold = words(2000)
    head = trained("cosine", hidden, gold)
    head.norm.fill_(hidden.norm(dim=-1).mean())
    weight, bias = head.folded()
    folded = F.linear(hidden, weight, bias)
    assert torch.equal(folded.argmax(-1), head(hidden).argmax(-1))
    assert folded.abs().mean() == pytest.approx(float(head(hidden).abs().mean()), rel=0.1), "on the same scale"


def test_frozen_rows_get_no_gradient():
    hidden, gold = words()
    head = trained("linear", hidden, gold).grow(OLD.grow(["new"]), hidden, gold)
    head.old.requires_grad_(False)
    F.cross_entropy(head(hidden), gold).backward()
    assert head.old.weight.grad is None and head.new.weight.grad.abs().sum() > 0
