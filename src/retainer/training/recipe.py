"""How to train, apart from the method: optimizer, schedule, selection."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints

from retainer.errors import InputError, nearest, unknown

ENOUGH_TO_SELECT = 100
"""Entities of what is taught that a part set aside must have for an epoch to be chosen on it. With fewer, the best of
ten epochs is best by chance, and often an early one; the last did better on two corpora (results/README.md)."""

_KINDS = {int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True)
class Recipe:
    """Everything the loop needs to know. The first task (a bare encoder) has a learning rate of its own."""

    epochs: int = 10
    """Passes over the slice."""
    batch: int = 32
    """Most sentences per step: fewer, down to 8, where an epoch of a small slice would have less than 32 steps."""
    optimizer: Literal["adamw", "sgd"] = "adamw"
    """The optimizer."""
    base_lr: float = 2e-4
    """Learning rate of the first task."""
    lr: float = 1e-4
    """Learning rate of later tasks."""
    head_factor: float = 10.0
    """How many times faster the head learns than the encoder: its new rows have further to go."""
    weight_decay: float = 0.01
    """Weight decay; AdamW spares biases and norms, SGD does not (as published)."""
    momentum: float = 0.9
    """Momentum of SGD."""
    warmup: float = 0.1
    """Share of the steps in which the learning rate rises from 0."""
    decay: Literal["linear", "constant"] = "linear"
    """What the learning rate does after that."""
    base_drop_after: int = 0
    """First task only: after this many epochs multiply the learning rate by base_drop; 0 means never."""
    base_drop: float = 0.2
    """See base_drop_after."""
    clip: float = 1.0
    """Largest norm of the gradient; 0 means no limit."""
    head: Literal["linear", "cosine"] = "linear"
    """The kind of head a bare encoder gets."""
    freeze_old_rows: bool = True
    """Keep the head's rows of O and the old types as they were; the encoder and the new rows learn."""
    freeze_embeddings: bool = False
    """Keep the encoder's embedding table as it was: a third less work per step for a small encoder."""
    adapter_rank: int = 0
    """Train adapters of this rank beside the encoder's attention instead of its weights, and add them to these in the
    end (needs the extra adapters); 0 trains the weights."""
    select: Literal["new", "all", "last"] = "new"
    """The epoch to keep: best dev F1 on the types that are taught, on all types (needs a dev set that has them), or the
    last."""
    patience: int = 3
    """Stop after this many epochs without a better dev score; 0 disables early stopping."""
    holdout: float = 0.1
    """Share of the data set aside when no dev set is given: to measure on in the end, and, if it has at least 100
    entities of what is taught, to select the epoch on; otherwise the last epoch is kept."""
    repeat: int = 1
    """Show the sentences of a type that is rarer than another up to this many times an epoch; 1 repeats none."""
    prior: Literal["auto", "none", "dev", "text"] = "auto"
    """Correct how often the types that are taught are expected, once training is over, so that they are found as often
    as they occur in the dev set, or in --text: one offset per type on the bias of its rows. auto is what the method
    says, on text where there is no dev set."""
    text_share: float = 1.0
    """Sentences of --text a step shows beside those of the data, in batches: 1 is as many again; 0 is none."""
    text_limit: int = 20_000
    """The most sentences of --text to use, drawn by the seed."""
    window: int = 0
    """Cut texts into windows of this many pieces; 0 means the encoder's own limit."""
    precision: Literal["auto", "full"] = "auto"
    """Compute in bfloat16 where the device does so itself (weights and losses are kept in full), or never."""
    capture: bool = True
    """On a GPU, record a step once per shape and replay it: the same kernels without waiting for Python."""

    def __post_init__(self) -> None:
        """Refuse values with which nothing can be learned."""
        for field in (one.name for one in dataclasses.fields(self) if one.type == "float"):
            object.__setattr__(self, field, float(getattr(self, field)))  # 1 and 1.0 have one key
        for field in ("epochs", "batch", "base_lr", "lr", "head_factor", "repeat", "text_limit"):
            if not getattr(self, field) > 0:
                raise InputError(f"{field} must be above 0, not {getattr(self, field)}")
        for field in ("warmup", "holdout"):
            if not 0 <= getattr(self, field) < 1:
                raise InputError(f"{field} is a share, at least 0 and below 1, not {getattr(self, field)}")
        not_below = ("weight_decay", "momentum", "clip", "patience", "window", "base_drop_after", "text_share")
        for field in (*not_below, "adapter_rank"):
            if not getattr(self, field) >= 0:
                raise InputError(f"{field} must not be below 0, and is {getattr(self, field)}")

    def changed(self, changes: Mapping[str, Any]) -> Recipe:
        """Return the recipe with some fields changed, each checked against its kind."""
        for field, value in changes.items():
            hint = get_type_hints(Recipe)[field]
            kinds = (int, float) if hint is float else (hint,)
            fits = value in get_args(hint) if get_args(hint) else type(value) in kinds
            if not fits:
                wanted = " or ".join(get_args(hint)) or _KINDS[hint]
                close = nearest(str(value), get_args(hint))
                raise InputError(f"{field} of the recipe must be {wanted}, not {value!r}{close}")
        return dataclasses.replace(self, **changes)

    def fitted(self, sentences: int) -> Recipe:
        """Return the recipe for a slice of this size: what a large batch saves, a small slice lacks in steps."""
        return dataclasses.replace(self, batch=min(self.batch, max(8, sentences // 32)))

    def require_moving_encoder(self, trainable: str, method: str) -> None:
        """Refuse adapters for a method under which the encoder stands still: they would stand still too."""
        if self.adapter_rank and trainable == "new rows":
            raise InputError(
                f"method {method} leaves the encoder as it is, so adapters have nothing to learn; leave adapter_rank "
                "out, or use another method"
            )

    def resolved(self, declared: str) -> Recipe:
        """Return the recipe with the prior correction a method declares, where none is named."""
        return self.changed({"prior": declared}) if self.prior == "auto" else self

    def rate(self, progress: float, epoch: int, *, base: bool) -> float:
        """Return the learning rate at a share of the steps, in an epoch counted from 0."""
        peak = self.base_lr if base else self.lr
        if base and self.base_drop_after and epoch >= self.base_drop_after:
            peak *= self.base_drop
        if progress < self.warmup:
            return peak * progress / self.warmup
        return peak * (1 - progress) / (1 - self.warmup) if self.decay == "linear" else peak


RECIPES = {
    "retainer": Recipe(),
    "paper": Recipe(
        batch=8,
        optimizer="sgd",
        base_lr=2e-3,
        lr=4e-4,
        head_factor=1.0,
        weight_decay=5e-4,
        warmup=0.0,
        decay="constant",
        base_drop_after=5,
        clip=0.0,
        patience=0,
        prior="none",
    ),
}
"""`retainer` is ours; `paper` is what the literature's tables were made with."""


def recipe(name: str) -> Recipe:
    """Return a recipe by name."""
    if name not in RECIPES:
        raise unknown("recipe", name, RECIPES)
    return RECIPES[name]


RECIPE_FIELDS = {field.name for field in dataclasses.fields(Recipe)}
