"""The arithmetic of training: in full precision, or in bfloat16 with the weights kept in full precision."""

from __future__ import annotations

import copy
from typing import Any

import torch

from retainer.model.tagger import Tagger


class FullPrecision:
    """The student computes with its own weights."""

    def __init__(self, student: Tagger) -> None:
        self.tagger = student

    def clear(self) -> None:
        """Drop the gradients of the last step."""
        self.tagger.zero_grad(set_to_none=True)

    def collect(self) -> None:
        """Hand the gradients to the weights the optimizer moves."""

    def refresh(self) -> None:
        """Take over the weights the optimizer has moved."""


class MixedPrecision(FullPrecision):
    """A bfloat16 copy of the encoder computes; weights, their changes, the head and the loss stay in full precision.

    The weights are rounded once per step, all together, instead of one by one where they are used.
    """

    def __init__(self, student: Tagger) -> None:
        body = copy.deepcopy(student.network).to(torch.bfloat16)
        super().__init__(student.like(body, student.head, student.labels))
        pairs = zip(student.network.parameters(), self.tagger.network.parameters(), strict=True)
        self.pairs = [(full, half) for full, half in pairs if full.requires_grad]

    @torch.no_grad()
    def collect(self) -> None:
        """Hand the gradients to the weights the optimizer moves."""
        used = [(full, half) for full, half in self.pairs if half.grad is not None]
        for full, _ in used:
            if full.grad is None:
                full.grad = torch.empty_like(full)
        if used:
            torch._foreach_copy_([full.grad for full, _ in used], [half.grad for _, half in used])

    @torch.no_grad()
    def refresh(self) -> None:
        """Take over the weights the optimizer has moved, rounded."""
        if self.pairs:
            torch._foreach_copy_([half for _, half in self.pairs], [full for full, _ in self.pairs])


def has_bfloat16(device: torch.device) -> bool:
    """Say whether a device computes in bfloat16 itself, instead of pretending to."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    abilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return device.type == "cpu" and bool(abilities.get("avx512_bf16") or abilities.get("amx_bf16"))
