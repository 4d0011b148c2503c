"""Adapters: two thin matrices beside some layers of the encoder, which learn in place of its weights (LoRA, by peft).

A layer computes W x + B A x, where A and B have few rows and columns, W stands still and B begins at zero: before the
first step an encoder with adapters says what it said without. When training is over, B A is added to W, so nothing
of peft is in what is saved. The adapters stand at query and value of every attention, as Hu et al. (2021) found best
for a given number of weights; what a method does with the head stays as it is.

Needs the extra ``adapters``; peft is imported only where adapters are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from torch import Tensor, nn

from retainer.errors import InputError

FASTER = 10.0
"""How many times faster adapters learn than the encoder would: its weights are where they belong, theirs begin at zero.
On a dev set 3 was worse, and 30 better by a little with a small encoder and one seed (results/README.md)."""

QUERY_AND_VALUE = (
    ("query", "value"),
    ("q", "v"),
    ("q_lin", "v_lin"),
    ("q_proj", "v_proj"),
    ("query_proj", "value_proj"),
)
"""What the layers of an attention are called: by BERT and RoBERTa, MPNet, DistilBERT, BART's kind and DeBERTa 2."""

_MARK = ".lora_"
"""What the names of peft's weights have in common."""


def require_adapters(network: Any, rank: int) -> None:
    """Refuse adapters that cannot be had, before anything is trained."""
    if find_spec("peft") is None:
        raise InputError("adapter_rank needs peft, which is not installed; run: pip install 'retainer[adapters]'")
    names = _targets(network)
    if not names:
        raise InputError(
            f"adapters for {type(network).__name__} are not known: no layer of its attention is called "
            f"{', '.join(query for query, _ in QUERY_AND_VALUE)}; leave adapter_rank out"
        )
    width = min(min(network.get_submodule(name).weight.shape) for name in names)
    if rank > width:
        raise InputError(f"adapter_rank {rank} is more than the width of the encoder, {width}; 8 or 16 is usual")


def add_adapters(network: Any, rank: int) -> None:
    """Put adapters beside the attention of a network, in place."""
    require_adapters(network, rank)
    from peft import LoraConfig, inject_adapter_in_model

    inject_adapter_in_model(LoraConfig(r=rank, lora_alpha=rank, target_modules=_targets(network)), network)


def merge_adapters(network: Any) -> None:
    """Add what the adapters have learned to the weights beside them, in place; a network without any stays as it is."""
    for name, layer in list(_adapted(network)):
        layer.merge(safe_merge=True)
        owner, _, last = name.rpartition(".")
        setattr(network.get_submodule(owner), last, layer.get_base_layer())
    if hasattr(network, "peft_config"):
        del network.peft_config


def adapter_parameters(network: nn.Module) -> list[nn.Parameter]:
    """Return the weights of the adapters; none where there are none."""
    return [parameter for name, parameter in network.named_parameters() if _MARK in name]


def learned_state(tagger: nn.Module) -> dict[str, Tensor]:
    """Return the weights that training can change: all, or with adapters these and what is no part of the encoder."""
    state = tagger.state_dict()
    if not any(_MARK in name for name in state):
        return state
    return {name: tensor for name, tensor in state.items() if _MARK in name or not name.startswith("network.")}


def load_learned(tagger: nn.Module, state: dict[str, Tensor]) -> None:
    """Put such weights back."""
    tagger.load_state_dict({**tagger.state_dict(), **state})


def _targets(network: Any) -> list[str]:
    """Name the layers that adapters stand beside."""
    linear = [name for name, layer in network.named_modules() if isinstance(layer, nn.Linear)]
    for names in QUERY_AND_VALUE:
        if found := [name for name in linear if name.rpartition(".")[2] in names]:
            return found
    return []


def _adapted(network: Any) -> Iterator[tuple[str, Any]]:
    """Yield the layers that have an adapter."""
    return ((name, layer) for name, layer in network.named_modules() if hasattr(layer, "lora_A"))
