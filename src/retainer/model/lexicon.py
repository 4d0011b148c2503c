"""The tokens of a sentence generator: sentences with their entities as one line of tokens, and back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from retainer.data.spans import Sentence
from retainer.data.tags import OUTSIDE, spans_of, tags_of

BEGIN, PLAIN, END, UNKNOWN, _TAGS = range(5)
"""The tokens before a sentence with entities, before one without, after a sentence, in the place of a word too rare to
have a token, and the first tag. Two beginnings let us learn from all sentences and draw only such as have entities."""


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
