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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors import torch as safetensors
from torch import Tensor, nn
from torch.nn import functional

from retainer.data.spans import Sentence
from retainer.errors import InputError
from retainer.files import write_bytes, write_text
from retainer.model.lexicon import BEGIN, END, Lexicon

GENERATOR_WEIGHTS = "generator.safetensors"
GENERATOR_FACTS = "generator.json"

_DRAWN = 512  # sentences drawn side by side
_BLOCK = 128  # tokens drawn from together
_PATIENCE = 20  # sentences drawn for each one found, before fewer are given than were asked for

Memory = tuple[Tensor, Tensor]  # what the network remembers of the tokens so far


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
        """Write the weights, then the lexicon with their hash, so that halves of two generators are not mixed."""
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
        write_bytes(folder / GENERATOR_WEIGHTS, weights)
        write_text(folder / GENERATOR_FACTS, json.dumps(facts) + "\n")


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
    if not (folder / GENERATOR_WEIGHTS).exists() and not (folder / GENERATOR_FACTS).exists():
        return None
    try:
        weights = (folder / GENERATOR_WEIGHTS).read_bytes()
        facts = json.loads((folder / GENERATOR_FACTS).read_text(encoding="utf-8"))
        if hashlib.sha256(weights).hexdigest() != facts["weights"]:
            raise ValueError(f"the SHA-256 of {GENERATOR_WEIGHTS} is not the one in {GENERATOR_FACTS}")
        return _assemble(facts, safetensors.load(weights), device)
    except (OSError, ValueError, TypeError, KeyError, RuntimeError, SafetensorError) as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise InputError(f"the generator in {folder} is damaged ({why}); restore it, or learn it again") from None


def _assemble(facts: dict[str, Any], weights: dict[str, Tensor], device: torch.device | str) -> Generator:
    """Put weights into a network without memory of its own: no size in a file makes us reserve any."""
    lexicon = Lexicon(tuple(facts["types"]), tuple(facts["words"]))
    if not all(isinstance(name, str) for name in lexicon.types + lexicon.words):
        raise ValueError(f"types and words in {GENERATOR_FACTS} must be texts")
    with torch.device("meta"):
        network = Network(len(lexicon.names), facts["width"])
    network.load_state_dict(weights, assign=True)
    return Generator(lexicon, network.to(device).eval(), tuple(facts["losses"]), float(facts["temperature"]))
