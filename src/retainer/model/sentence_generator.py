"""A small language model of one task's sentences and their entities, kept instead of the sentences.

*Learn and Review* (Xia et al. 2022) rehearses old types on synthetic text, drawn from a generative model that stays
behind with each version when its data are gone. The source states no architecture; ours is the one of DAGA (Ding et
al. 2020): an LSTM over words in which the tag of an entity's word is a token of its own before that word, as in
``play songs by <B-artist> miles <I-artist> davis``. What is kept are weights and the words of the slice, by frequency.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors import torch as safetensors
from torch import Tensor, nn
from torch.nn import functional

from retainer.data.spans import Sentence
from retainer.data.tags import OUTSIDE, spans_of, tags_of
from retainer.errors import InputError
from retainer.files import write_bytes, write_text

WEIGHTS = "generator.safetensors"
FACTS = "generator.json"

BEGIN, PLAIN, END, UNKNOWN, _TAGS = range(5)
"""The tokens before a sentence with entities, before one without, after a sentence, in the place of a word too rare to
have a token, and the first tag. Two beginnings let us learn from all sentences and draw only such as have entities."""

_CUT = 256  # tokens of a training sentence that count: what is drawn is shorter, and the longest one costs memory
_DRAWN = 512  # sentences drawn side by side
_BLOCK = 128  # tokens drawn from together
_PATIENCE = 20  # sentences drawn for each one found, before fewer are given than were asked for

Memory = tuple[Tensor, Tensor]  # what the network remembers of the tokens so far


@dataclass(frozen=True)
class Lexicon:
    """The tokens of a generator, in order: four marks, B- and I- of every type, the words.

    A tag is known by its number and not by its spelling, so a text that contains the word ``B-artist`` does no harm.
    """

    types: tuple[str, ...]
    words: tuple[str, ...]

    @classmethod
    def of(cls, sentences: Sequence[Sentence], types: Sequence[str], limit: int) -> Lexicon:
        """Take the ``limit`` most frequent words of some sentences; of equally frequent ones those that come first."""
        counts = Counter(word for sentence in sentences for word in sentence.words)
        return cls(tuple(dict.fromkeys(types)), tuple(word for word, _ in counts.most_common(limit)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The spelling of every token."""
        tags = [f"{kind}-{type_}" for type_ in self.types for kind in "BI"]
        return ("<begin>", "<plain>", "<end>", "<unknown>", *tags, *self.words)

    @cached_property
    def first(self) -> int:
        """The token of the first word; all below are marks and tags."""
        return _TAGS + 2 * len(self.types)

    @cached_property
    def _index(self) -> dict[tuple[bool, str], int]:
        return {(token >= self.first, name): token for token, name in enumerate(self.names)}

    def linearise(self, sentence: Sentence) -> list[int]:
        """Write a sentence as tokens, from its beginning to its end; entities of other types are plain words."""
        known = sentence.with_spans(span for span in sentence.spans if span.type in self.types)
        tokens = [BEGIN if known.spans else PLAIN]
        for word, tag in zip(known.words, tags_of(known), strict=True):
            if tag != OUTSIDE:
                tokens.append(self._index[False, tag])
            tokens.append(self._index.get((True, word), UNKNOWN))
        return [*tokens, END]

    def delinearise(self, tokens: Sequence[int]) -> Sentence:
        """Read the tokens between beginning and end as a sentence."""
        words, tags, tag = [], [], OUTSIDE
        for token in tokens[1 : tokens.index(END)]:
            if _TAGS <= token < self.first:
                tag = self.names[token]
            else:
                words.append(self.names[token])
                tags.append(tag)
                tag = OUTSIDE
        return Sentence(tuple(words), spans_of(tags))

    # What may come next depends on the tokens before only through one of these states: 0 at the beginning, 1 after a
    # plain word, 2 + type after a tag, and after a word with a tag 2 + type + the number of types.

    def rules(self) -> Tensor:
        """Return what to add to the scores of marks and tags in each state, so that the impossible is never drawn.

        Words are always possible. After a tag nothing else is; an I- goes on with an entity of its own type only; a
        sentence has a word before its end.
        """
        count = len(self.types)
        rules = torch.full((2 + 2 * count, self.first), -math.inf)
        free = [0, 1, *range(2 + count, 2 + 2 * count)]
        rules[free[1:], END] = 0.0
        for at in range(count):
            rules[free, _TAGS + 2 * at] = 0.0
            rules[2 + count + at, _TAGS + 2 * at + 1] = 0.0
        return rules

    def follow(self, state: Tensor, token: Tensor) -> Tensor:
        """Return the states after some tokens."""
        count = len(self.types)
        after_tag = 2 + torch.div(token - _TAGS, 2, rounding_mode="floor")
        after_word = torch.where((state >= 2) & (state < 2 + count), state + count, 1)
        return torch.where(token < self.first, after_tag, after_word)


class Network(nn.Module):
    """An LSTM whose output layer is its embedding table: where sentences are few, fewer weights learn more."""

    def __init__(self, tokens: int, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.bias = nn.Parameter(torch.zeros(tokens))
        self.dropout = nn.Dropout(dropout)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)

    def forward(self, tokens: Tensor, memory: Memory | None = None) -> tuple[Tensor, Memory]:
        """Score every token as the next one, after each of the given ones."""
        hidden, memory = self.lstm(self.dropout(self.embedding(tokens)), memory)
        return functional.linear(self.dropout(hidden), self.embedding.weight, self.bias), memory

    def loss(self, rows: Tensor) -> Tensor:
        """Return the mean cross-entropy of all tokens but the beginnings; -1 fills up the shorter sentences."""
        scores, _ = self(rows[:, :-1].clamp(min=0))
        return functional.cross_entropy(scores.flatten(0, 1), rows[:, 1:].flatten(), ignore_index=-1)


@dataclass(frozen=True)
class Generator:
    """What a version keeps of a task's data: it writes sentences with entities of the task's types."""

    lexicon: Lexicon
    network: Network
    losses: tuple[float, ...] = ()
    """The mean loss of every epoch it was trained for."""
    temperature: float = 1.0
    """Below 1 the likely is drawn more often than it was seen, above 1 less often."""

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the entities it writes."""
        return self.lexicon.types

    def sample(self, count: int, seed: int, *, longest: int = 64) -> list[Sentence]:
        """Draw ``count`` different sentences of at most ``longest`` words, each with an entity.

        What has no entity is drawn again, but not for ever: a model that has seen next to none gives fewer sentences.
        """
        if count < 0 or longest < 1 or not self.temperature > 0:
            raise InputError(
                f"cannot draw {count} sentences of at most {longest} words at temperature {self.temperature}; the "
                "first must be 0 or more, the others above 0"
            )
        random = torch.Generator(self.network.bias.device).manual_seed(seed)
        found: dict[Sentence, None] = {}
        drawn = 0
        while len(found) < count and drawn < _PATIENCE * (len(found) + 64):
            size = min(_DRAWN, count - len(found) + 16)
            sentences = map(self.lexicon.delinearise, self._draw(size, longest, random))
            found.update((sentence, None) for sentence in sentences if sentence.spans)
            drawn += size
        return list(found)[:count]

    @torch.no_grad()
    def _draw(self, size: int, longest: int, random: torch.Generator) -> list[list[int]]:
        """Draw sentences token by token; those that have ended leave, so a long one does not hold up the others."""
        self.network.eval()
        lexicon, device = self.lexicon, self.network.bias.device
        rules = lexicon.rules().to(device)
        tokens = torch.full((size, 2 * longest + 2), END, device=device)
        tokens[:, 0] = last = torch.full((size,), BEGIN, device=device)
        row, state, words = torch.arange(size, device=device), torch.zeros_like(last), torch.zeros_like(last)
        memory: Memory | None = None
        for step in range(1, tokens.shape[1]):
            scores, memory = self.network(last[:, None], memory)
            scores = scores[:, 0] / self.temperature
            scores[:, : lexicon.first] += rules[state]
            last = torch.where(words < longest, _pick(scores, random), END)
            tokens[row, step] = last
            going = (last != END).nonzero()[:, 0]
            if not len(going):
                break
            state, words = lexicon.follow(state, last)[going], (words + (last >= lexicon.first))[going]
            row, last = row[going], last[going]
            memory = memory[0].index_select(1, going), memory[1].index_select(1, going)
        return tokens.tolist()

    def save(self, folder: Path) -> None:
        """Write the weights, then the lexicon with their hash, so that the halves of two generators are no pair."""
        state = self.network.state_dict()
        weights = safetensors.save({name: tensor.cpu().contiguous() for name, tensor in state.items()})
        facts = {
            "types": self.types,
            "width": self.network.lstm.hidden_size,
            "temperature": self.temperature,
            "losses": self.losses,
            "weights": hashlib.sha256(weights).hexdigest(),
            "words": self.lexicon.words,
        }
        write_bytes(folder / WEIGHTS, weights)
        write_text(folder / FACTS, json.dumps(facts) + "\n")


def _pick(scores: Tensor, random: torch.Generator) -> Tensor:
    """Draw a token for every row: first a block of tokens, then one of the block, for random numbers are dear."""
    blocks = functional.pad(scores, (0, -scores.shape[1] % _BLOCK), value=-math.inf).view(len(scores), -1, _BLOCK)
    block = _race(blocks.logsumexp(2), random)
    return block * _BLOCK + _race(blocks[torch.arange(len(block), device=block.device), block], random)


def _race(scores: Tensor, random: torch.Generator) -> Tensor:
    """Draw by the softmax of the scores: of exponential clocks that run so fast, the first to ring."""
    clocks = torch.empty_like(scores).exponential_(generator=random).clamp_(min=1e-30)
    return (scores - clocks.log_()).argmax(1)


def load_generator(folder: Path, device: torch.device | str = "cpu") -> Generator | None:
    """Read the generator of a folder, or return None where there is none."""
    if not (folder / WEIGHTS).exists() and not (folder / FACTS).exists():
        return None
    try:
        weights = (folder / WEIGHTS).read_bytes()
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        if hashlib.sha256(weights).hexdigest() != facts["weights"]:
            raise ValueError(f"the SHA-256 of {WEIGHTS} is not the one in {FACTS}")
        return _assemble(facts, safetensors.load(weights), device)
    except (OSError, ValueError, TypeError, KeyError, RuntimeError, SafetensorError) as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise InputError(f"the generator in {folder} is damaged ({why}); restore it, or learn it again") from None


def _assemble(facts: dict[str, Any], weights: dict[str, Tensor], device: torch.device | str) -> Generator:
    """Put weights into a network without memory of its own: no size in a file makes us reserve any."""
    lexicon = Lexicon(tuple(facts["types"]), tuple(facts["words"]))
    if not all(isinstance(name, str) for name in lexicon.types + lexicon.words):
        raise ValueError(f"types and words in {FACTS} must be texts")
    with torch.device("meta"):
        network = Network(len(lexicon.names), facts["width"])
    network.load_state_dict(weights, assign=True)
    return Generator(lexicon, network.to(device).eval(), tuple(facts["losses"]), float(facts["temperature"]))


def train(
    sentences: Sequence[Sentence],
    types: Sequence[str],
    *,
    seed: int,
    device: torch.device | str = "cpu",
    epochs: int = 10,
    width: int = 128,
    batch: int = 16,
    lr: float = 1e-2,
    dropout: float = 0.4,
    limit: int = 20_000,
) -> Generator:
    """Train a generator on the entities of ``types`` in some sentences; the caller's random state stays as it is."""
    sentences = [sentence for sentence in sentences if sentence.words]
    if not sentences or not types:
        raise InputError("a generator needs at least one type and one sentence with a word in it")
    device = torch.device(device)
    lexicon = Lexicon.of(sentences, types, limit)
    rows = [torch.tensor(lexicon.linearise(sentence)[:_CUT], dtype=torch.int32) for sentence in sentences]
    gpu = device.type == "cuda"
    with torch.random.fork_rng(devices=[device] if gpu else []):
        torch.default_generator.manual_seed(seed)
        if gpu:
            torch.cuda.set_rng_state(torch.Generator(device).manual_seed(seed).get_state(), device)
        network = Network(len(lexicon.names), width, dropout).to(device)
        losses = _fit(network, rows, epochs, batch, lr)
    return Generator(lexicon, network.eval(), losses)


def _fit(network: Network, rows: list[Tensor], epochs: int, batch: int, lr: float) -> tuple[float, ...]:
    """Train by Adam, with a learning rate that falls to nothing, and return the mean loss of every epoch."""
    device = network.bias.device
    lengths = torch.tensor([len(row) for row in rows])
    table = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1).to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=lr, fused=True)
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
