"""Training a sentence generator on one task's sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from retainer.data.spans import Sentence
from retainer.errors import InputError
from retainer.model.lexicon import Lexicon
from retainer.model.sentence_generator import Generator, Network

_CUT = 256  # tokens of a training sentence that count: what is drawn is shorter, and the longest one costs memory


@dataclass(frozen=True)
class GeneratorRecipe:
    """How a generator is trained. The source states none of it; these values are ours."""

    epochs: int = 10
    width: int = 128
    batch: int = 16
    lr: float = 1e-2
    dropout: float = 0.4
    limit: int = 20_000
    """Words that have a token of their own, at most."""


def train_generator(
    sentences: Sequence[Sentence],
    types: Sequence[str],
    *,
    seed: int,
    device: torch.device | str = "cpu",
    recipe: GeneratorRecipe = GeneratorRecipe(),  # noqa: B008 (frozen)
) -> Generator:
    """Train a generator on the entities of ``types`` in some sentences; the caller's random state stays as it is."""
    sentences = [sentence for sentence in sentences if sentence.words]
    if not sentences or not types:
        raise InputError("a generator needs at least one type and one sentence with a word in it")
    device = torch.device(device)
    lexicon = Lexicon.of(sentences, types, recipe.limit)
    rows = [torch.tensor(lexicon.linearise(sentence)[:_CUT], dtype=torch.int32) for sentence in sentences]
    gpu = device.type == "cuda"
    with torch.random.fork_rng(devices=[device] if gpu else []):
        torch.default_generator.manual_seed(seed)
        if gpu:
            torch.cuda.set_rng_state(torch.Generator(device).manual_seed(seed).get_state(), device)
        network = Network(len(lexicon.names), recipe.width, recipe.dropout).to(device)
        losses = _fit(network, rows, recipe)
    return Generator(lexicon, network.eval(), losses)


def _fit(network: Network, rows: list[Tensor], recipe: GeneratorRecipe) -> tuple[float, ...]:
    """Train by Adam, with a learning rate that falls to nothing, and return the mean loss of every epoch."""
    device, epochs, batch = network.bias.device, recipe.epochs, recipe.batch
    lengths = torch.tensor([len(row) for row in rows])
    table = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1).to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=recipe.lr, fused=True)
    steps = max(1, epochs) * math.ceil(len(rows) / batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    totals = torch.zeros(epochs, device=device)
    for epoch in range(epochs):
        for chosen in _batches(lengths, batch):
            optimizer.zero_grad()
            loss = network.loss(table[chosen.to(device), : int(lengths[chosen].max())].long())
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            totals[epoch] += loss.detach() * int((lengths[chosen] - 1).sum())
    return tuple((totals / int((lengths - 1).sum())).tolist())


def _batches(lengths: Tensor, size: int) -> list[Tensor]:
    """Put sentences of like length together, in a new order every time."""
    order = torch.randperm(len(lengths))
    batches = torch.split(order[lengths[order].argsort(stable=True)], size)
    return [batches[at] for at in torch.randperm(len(batches)).tolist()]
