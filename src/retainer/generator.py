"""A small language model of one task's sentences and their entities, kept instead of the sentences.

*Learn and Review* (Xia et al. 2022) rehearses old types on synthetic text, drawn from a generative model that stays
behind with each version when its data are gone. The source states no architecture; ours is the one of DAGA (Ding et
al. 2020): an LSTM over words in which the tag of an entity's word is a token of its own before that word, as in
``play songs by <B-artist> miles <I-artist> davis``. What is kept are weights and the words of the slice, by frequency.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors import torch as safetensors
from torch import Tensor, nn
from torch.nn import functional

from retainer.errors import InputError
from retainer.files import write_bytes, write_text
from retainer.spans import OUTSIDE, Sentence, spans_of, tags_of

WEIGHTS = "generator.safetensors"
FACTS = "generator.json"

BEGIN, END, UNKNOWN = range(3)
"""The tokens before a sentence, after it, and in the place of a word too rare to have a token; tags come next."""

_TAGS = 3
_CUT = 256
"""Tokens of a training sentence that count: what is drawn later is shorter, and memory grows with the longest one."""

_DRAWN = 512
"""Sentences drawn side by side."""

_BLOCK = 128
"""Tokens that are drawn from together."""

_PATIENCE = 20
"""How many sentences may be drawn for one that is wanted, before fewer are given than were asked for."""

Memory = tuple[Tensor, Tensor]
"""What the network remembers of the tokens so far."""


@dataclass(frozen=True)
class Lexicon:
    """The tokens of a generator, in order: three marks, B- and I- of every type, the words.

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
    def tags(self) -> tuple[str, ...]:
        """The tags, in the order of their tokens."""
        return tuple(f"{kind}-{type_}" for type_ in self.types for kind in "BI")

    @property
    def first(self) -> int:
        """The token of the first word; all below are marks and tags."""
        return _TAGS + 2 * len(self.types)

    def __len__(self) -> int:
        return self.first + len(self.words)

    @cached_property
    def _word(self) -> dict[str, int]:
        return {word: self.first + at for at, word in enumerate(self.words)}

    @cached_property
    def _tag(self) -> dict[str, int]:
        return {tag: _TAGS + at for at, tag in enumerate(self.tags)}

    def linearise(self, sentence: Sentence) -> list[int]:
        """Write a sentence as tokens, the last of which is its end; entities of other types are plain words."""
        known = sentence.with_spans(span for span in sentence.spans if span.type in self.types)
        tokens = []
        for word, tag in zip(known.words, tags_of(known), strict=True):
            if tag != OUTSIDE:
                tokens.append(self._tag[tag])
            tokens.append(self._word.get(word, UNKNOWN))
        return [*tokens, END]

    def delinearise(self, tokens: Sequence[int]) -> Sentence:
        """Read tokens up to the first end as a sentence."""
        words, tags, tag = [], [], OUTSIDE
        for token in tokens:
            if token == END:
                break
            if _TAGS <= token < self.first:
                tag = self.tags[token - _TAGS]
            else:
                words.append(self.words[token - self.first] if token >= self.first else "")
                tags.append(tag)
                tag = OUTSIDE
        return Sentence(tuple(words), spans_of(tags))

    # What may come next depends on the token before only through one of these states: 0 at the beginning, 1 after a
    # plain word, 2 + type after a tag, and after a word with a tag 2 + type + the number of types.

    def rules(self) -> Tensor:
        """Return what to add to the scores of the marks and tags in each state, so that the impossible is never drawn.

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
    """An LSTM whose output layer is its embedding table: with few sentences, half the weights learn more."""

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
        """Return the mean cross-entropy of the tokens of some sentences; -1 fills up the shorter ones."""
        before = functional.pad(rows[:, :-1].clamp(min=END), (1, 0), value=BEGIN)
        scores, _ = self(before)
        return functional.cross_entropy(scores.flatten(0, 1), rows.flatten(), ignore_index=-1)


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
        left = _PATIENCE * max(count, 16)
        while len(found) < count and left > 0:
            size = min(_DRAWN, max(16, 2 * (count - len(found))))
            left -= size
            drawn = map(self.lexicon.delinearise, self._draw(size, longest, random))
            found.update((sentence, None) for sentence in drawn if sentence.spans)
        return list(found)[:count]

    @torch.no_grad()
    def _draw(self, size: int, longest: int, random: torch.Generator) -> list[list[int]]:
        """Draw sentences token by token; those that have ended leave, so a long one does not hold up the others."""
        self.network.eval()
        lexicon, device = self.lexicon, self.network.bias.device
        rules = lexicon.rules().to(device)
        tokens = torch.full((size, 2 * longest + 1), END, device=device)
        row = torch.arange(size, device=device)
        last = torch.full_like(row, BEGIN)
        state, words = torch.zeros_like(row), torch.zeros_like(row)
        memory: Memory | None = None
        for step in range(tokens.shape[1]):
            scores, memory = self.network(last[:, None], memory)
            scores = scores[:, 0] / self.temperature
            scores[:, : lexicon.first] += rules[state]
            last = torch.where(words < longest, _pick(scores, random), END)
            tokens[row, step] = last
            going = (last != END).nonzero()[:, 0]
            if not len(going):
                break
            state, words = lexicon.follow(state, last)[going], (words + (last >= lexicon.first))[going]
            row, last, memory = row[going], last[going], (memory[0][:, going], memory[1][:, going])
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
        write_text(folder / FACTS, json.dumps(facts, indent=1) + "\n")


def _pick(scores: Tensor, random: torch.Generator) -> Tensor:
    """Draw a token for every row: first a block of them, then one of the block, as random numbers are dear."""
    blocks = functional.pad(scores, (0, -scores.shape[1] % _BLOCK), value=-math.inf).unflatten(1, (-1, _BLOCK))
    block = _race(blocks.logsumexp(2), random)
    chosen = blocks[torch.arange(len(block), device=block.device), block]
    return block * _BLOCK + _race(chosen, random)


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
        why = " ".join(str(error).split())
        raise InputError(
            f"the generator in {folder} is damaged or incomplete ({why}); restore {WEIGHTS} and {FACTS}, or learn the "
            "version again"
        ) from None


def _assemble(facts: dict[str, Any], weights: dict[str, Tensor], device: torch.device | str) -> Generator:
    """Put weights into a network without memory of its own: no size in a file makes us reserve any."""
    types, words = facts["types"], facts["words"]
    if not all(isinstance(name, str) for name in (*types, *words)):
        raise ValueError(f"types and words in {FACTS} must be texts")
    lexicon = Lexicon(tuple(types), tuple(words))
    with torch.device("meta"):
        network = Network(len(lexicon), int(facts["width"]))
    network.load_state_dict(weights, assign=True)
    losses = tuple(float(loss) for loss in facts["losses"])
    return Generator(lexicon, network.to(device).eval(), losses, float(facts["temperature"]))


# ------------------------------------------------------------------------------------------------------- training


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
    dropout: float = 0.3,
    limit: int = 20_000,
) -> Generator:
    """Train a generator on the entities of ``types`` in some sentences; the caller's random state stays as it is."""
    sentences = [sentence for sentence in sentences if sentence.words]
    if not sentences or not types:
        raise InputError("a generator needs at least one type and one sentence with a word in it")
    device = torch.device(device)
    lexicon = Lexicon.of(sentences, types, limit)
    rows = [torch.tensor(lexicon.linearise(sentence)[:_CUT], dtype=torch.int32) for sentence in sentences]
    with _seeded(seed, device):
        network = Network(len(lexicon), width, dropout).to(device)
        losses = _fit(network, rows, epochs, batch, lr)
    return Generator(lexicon, network.eval(), losses)


@contextlib.contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Give the random numbers of a seed, and afterwards those that would have come without us."""
    gpu = device.type == "cuda"
    with torch.random.fork_rng(devices=[device] if gpu else []):
        torch.default_generator.manual_seed(seed)
        if gpu:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield


def _fit(network: Network, rows: list[Tensor], epochs: int, batch: int, lr: float) -> tuple[float, ...]:
    """Train by Adam, with a learning rate that falls to nothing, and return the mean loss of every epoch."""
    lengths = torch.tensor([len(row) for row in rows])
    device = network.bias.device
    table = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1).to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=lr, fused=True)
    steps = max(1, epochs * math.ceil(len(rows) / batch))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    network.train()
    totals = []
    for _ in range(epochs):
        total = torch.zeros((), device=device)
        for chosen in _batches(lengths, batch):
            optimizer.zero_grad()
            loss = network.loss(table[chosen.to(device), : int(lengths[chosen].max())].long())
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.detach() * int(lengths[chosen].sum())
        totals.append(total)
    return tuple(float(total) / int(lengths.sum()) for total in totals)


def _batches(lengths: Tensor, size: int) -> list[Tensor]:
    """Put sentences of like length together, in a new order every time."""
    order = torch.randperm(len(lengths))
    order = order[lengths[order].argsort(stable=True)]
    batches = order.split(size)
    return [batches[at] for at in torch.randperm(len(batches)).tolist()]
