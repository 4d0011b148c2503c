"""Text without annotation: read once, drawn by the seed."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from retainer.data.corpus import Corpus
from retainer.data.spans import Sentence
from retainer.data.texts import Texts, read_texts
from retainer.errors import InputError

Text = Corpus | Texts | str | Path | Iterable[str]
"""A file or folder of any format, a corpus, or texts; annotation is ignored."""


def draw(text: Text, most: int, seed: int) -> Corpus:
    """Read some text once, and return at most so many of its sentences, every one as likely as any other.

    Texts without a word are passed over. What is drawn stays in its order, and leaves its annotation behind: its
    entities, and of which types all are annotated.
    """
    source, sentences = _opened(text)
    rng, kept = random.Random(seed), list[tuple[int, Sentence]]()
    seen = 0
    for sentence in sentences:
        if not sentence.words:
            continue
        seen += 1
        if len(kept) < most:
            kept.append((seen, sentence))
        elif (place := rng.randrange(seen)) < most:
            kept[place] = (seen, sentence)
    if not seen:
        raise InputError(f"{source} has no word, so there is no text to learn from")
    in_order = [sentence for _, sentence in sorted(kept, key=lambda pair: pair[0])]
    return Corpus(tuple(replace(sentence, spans=(), complete=None) for sentence in in_order), source)


def _opened(text: Text) -> tuple[str, Iterable[Sentence]]:
    """Return what the text is called, and its sentences as they come."""
    if isinstance(text, Corpus):
        return text.source, text.sentences
    if isinstance(text, str | Path):
        text = read_texts(text)
    texts = text if isinstance(text, Texts) else Texts.of(text, "text")
    return texts.source, (sentence for _, sentence in texts)
