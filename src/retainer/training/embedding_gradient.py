"""The gradient of an embedding table, on a GPU, by a kernel that gives the same sum every time.

torch's own kernel for few indices (up to 4,096) has a race once there are more than 1,024 of them: one warp loads the
next indices while another still compares the last ones (pytorch/pytorch#187687). About one run in ten of ours then
took another course in the middle of an epoch, and deterministic mode does not know. Here the indices are sorted and
every row is summed by itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode


class _Lookup(torch.autograd.Function):
    """Rows of a table; the gradient of the row for padding is zero, as torch has it."""

    @staticmethod
    def forward(ctx: Any, indices: Tensor, table: Tensor, padding: int | None) -> Tensor:
        """Look the rows up."""
        ctx.save_for_backward(indices)
        ctx.rows, ctx.padding = len(table), padding
        return F.embedding(indices, table)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor, None]:
        """Sum the gradients of every row, those of equal indices in their order."""
        (indices,) = ctx.saved_tensors
        flat, grad = indices.flatten(), grads[0].flatten(0, -2)
        if ctx.padding is not None:
            grad = grad.masked_fill((flat == ctx.padding).unsqueeze(1), 0)
        total = grad.new_zeros(ctx.rows, grad.shape[1])
        return None, total.index_put_((flat,), grad, accumulate=True), None


class _SortedGradients(TorchFunctionMode):
    """Inside, ``F.embedding`` has this gradient wherever it has one at all."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Take over the one function."""
        if func is F.embedding and torch.is_grad_enabled():
            return _embedding(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _embedding(indices: Tensor, table: Tensor, padding_idx: int | None = None, **options: Any) -> Tensor:
    """Look rows up; a table that renormalises, scales or is sparse keeps torch's own way."""
    special = any(options.get(name) for name in ("max_norm", "scale_grad_by_freq", "sparse"))
    if special or not table.requires_grad:
        return F.embedding(indices, table, padding_idx, **options)
    padding = padding_idx if padding_idx is None or padding_idx >= 0 else len(table) + padding_idx
    looked_up: Tensor = _Lookup.apply(indices, table, padding)  # type: ignore[no-untyped-call]
    return looked_up


def repeatable_embeddings(device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Make the gradients of embeddings repeatable inside a block; on a CPU they are."""
    return _SortedGradients() if device.type == "cuda" else contextlib.nullcontext()
