"""The gradient of an embedding table, on a GPU, by a kernel that gives the same sum every time.

torch's own kernel for few indices (up to 4,096) has a race once there are more than 1,024 of them: one warp loads the
next indices while another still compares the last ones (pytorch/pytorch#187687). About one run in ten of ours then
took another course in the middle of an epoch, and deterministic mode does not know. Here a small table (positions, or
the two rows that say which sentence a piece is of) takes a matrix product; for a large one the indices are sorted, and
every row is summed by itself, one gradient after the other. So a row that all pieces share would make the GPU wait.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

FEW_ROWS = 1024
"""Rows of a table up to which a product with the indices as one-hot vectors is faster than sorting them."""


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
            nothing = flat == ctx.padding
            grad = grad.masked_fill(nothing.unsqueeze(1), 0)
            # zeros change no row: spread over all, they make none wait
            flat = torch.where(nothing, torch.arange(len(flat), device=flat.device) % ctx.rows, flat)
        return None, _row_sums(flat, grad, ctx.rows), None


def _row_sums(indices: Tensor, values: Tensor, rows: int) -> Tensor:
    """Return a table of sums: each of the values counts for the row that its index names."""
    if rows <= FEW_ROWS:
        return (torch.arange(rows, device=indices.device).unsqueeze(1) == indices).to(values.dtype) @ values
    return values.new_zeros(rows, values.shape[1]).index_put_((indices,), values, accumulate=True)


class _RepeatableGradients(TorchFunctionMode):
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
    return _RepeatableGradients() if device.type == "cuda" else contextlib.nullcontext()
