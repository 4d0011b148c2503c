"""Attention that shows its maps, for methods that compare them.

The fused kernels never have a map as a whole, and transformers' plain attention hands it out after dropout, which
would compare noise.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from retainer.errors import InputError
from retainer.model.tagger import Tagger, quiet

NAME = "retainer_maps"


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, Tensor]:
    """Attend as transformers' plain attention does, and return the maps before dropout."""
    scaling, dropout = options.get("scaling"), options.get("dropout", 0.0)
    scores = query @ key.transpose(2, 3) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    maps = (scores if attention_mask is None else scores + attention_mask).softmax(dim=-1)
    mixed = nn.functional.dropout(maps, p=dropout, training=module.training) @ value
    return mixed.transpose(1, 2).contiguous(), maps


@contextlib.contextmanager
def attention_maps(taggers: Sequence[Tagger | None]) -> Iterator[None]:
    """Let some taggers show their maps inside the block."""
    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, eager_mask)
    networks = [tagger.network for tagger in taggers if tagger is not None]
    usual = [network.config._attn_implementation for network in networks]
    try:
        for network in networks:
            _switch(network)
        yield
    finally:
        for network, name in zip(networks, usual, strict=True):
            with quiet():
                network.set_attn_implementation(name)


def _switch(network: Any) -> None:
    """Put our attention in; transformers only warns where an encoder keeps its own, whose maps come after dropout."""
    with quiet():
        network.set_attn_implementation(NAME)
    if network.config._attn_implementation != NAME:
        kind = type(network).__name__
        raise InputError(f"this method compares attention maps, which {kind} does not show; use another method")
