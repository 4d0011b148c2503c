"""The gradient of embeddings that is the same every time; on a CPU it is tried by hand."""

import pytest
import torch
from torch import nn

from retainer.training.embedding_gradient import FEW_ROWS, _RepeatableGradients, repeatable_embeddings


def gradients(table, indices, weight, mode):
    table.zero_grad(set_to_none=True)
    with mode:
        looked_up = table(indices)
    (looked_up * weight).sum().backward()
    return looked_up.detach(), table.weight.grad.clone(), type(looked_up.grad_fn).__name__


@pytest.mark.parametrize("padding", [None, 0, -1])
@pytest.mark.parametrize("shape", [(7,), (4, 9), (2, 3, 5)])
@pytest.mark.parametrize("rows", [12, FEW_ROWS + 1])
def test_it_is_that_of_torch(padding, shape, rows):
    torch.manual_seed(0)
    table, indices = nn.Embedding(rows, 6, padding_idx=padding), torch.randint(0, 12, shape) % rows
    indices.flatten()[::4] = padding % rows if padding is not None else 0
    weight = torch.randn(*shape, 6)
    plain = gradients(table, indices, weight, repeatable_embeddings(torch.device("cpu")))
    ours = gradients(table, indices, weight, _RepeatableGradients())
    assert torch.equal(plain[0], ours[0]) and torch.allclose(plain[1], ours[1])
    assert plain[2] == "EmbeddingBackward0" and ours[2] == "_LookupBackward", "the way was another"
    if padding is not None:
        assert (ours[1][padding] == 0).all()


def test_who_keeps_the_way_of_torch():
    indices = torch.tensor([1, 1, 2])
    for table in (nn.Embedding(4, 3, max_norm=1.0), nn.Embedding(4, 3, sparse=True), nn.Embedding(4, 3)):
        table.weight.requires_grad_(table.sparse or table.max_norm is not None)
        with _RepeatableGradients():
            looked_up = table(indices)
        assert looked_up.grad_fn is None or type(looked_up.grad_fn).__name__ == "EmbeddingBackward0"
    with _RepeatableGradients(), torch.no_grad():
        assert nn.Embedding(4, 3)(indices).grad_fn is None
