"""Versions that say what they are told to, so that a test knows what must come out."""

import random

from retainer.data.spans import Span
from retainer.versions.version import Version

KNOWN = ("artist", "city", "movie")
EVERY = (*KNOWN, "dish")


class Scripted(Version):
    """A version without a model."""

    def __init__(self, types, said):
        self._types, self.said, self.asked = tuple(types), said, []

    @property
    def types(self):
        return self._types

    def tag(self, sentences):
        self.asked.append(len(sentences))
        return [tuple(span for span in self.said(sentence) if span.type in self._types) for sentence in sentences]


def noisy(seed, skill):
    """Find most of what is annotated; miss, rename, shorten or invent the rest."""

    def say(sentence):
        rng = random.Random(f"{seed} {' '.join(sentence.words)}")
        found = []
        for span in sentence.spans:
            luck = rng.random()
            if luck < skill:
                found.append(span)
            elif luck < skill + 0.1:
                found.append(Span(span.start, span.end, rng.choice(EVERY)))
            elif luck < skill + 0.2 and span.end - span.start > 1:
                found.append(Span(span.start, span.end - 1, span.type))
        if not sentence.spans and rng.random() < 0.3:
            found.append(Span(0, 1, rng.choice(EVERY)))
        return found

    return say
