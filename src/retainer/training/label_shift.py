"""The prior of text without annotation: how often the taught types occur there, without anybody counting them.

The EM of Saerens et al. (2002): take the shares in the data for granted, reweigh the student's probabilities by the
shares found in the text, find the shares again, and go on until nothing moves. A student is too sure of itself, so its
scores are softened first; and one that finds nothing would lower a type for ever, so an offset has bounds. It is never
above zero: sentences that are picked for a type have more of it than others. Sentences that were drawn as they came
say themselves how often their types occur, better than EM does; there the taught types have no offset.

Of old types the parent says how often they occur, so their offsets are those of the prior correction. What EM says of
the taught types may cost agreement with the parent no more than the prior correction may, or it is refused: words that
are taken from a new type can go to an old one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from retainer.data.corpus import Corpus
from retainer.data.spans import Sentence
from retainer.metrics.calibration import Floats
from retainer.model.predict import run_tagger
from retainer.model.tagger import Tagger
from retainer.training.evidence import Evidence
from retainer.training.prior import Offsets, fit_offsets

SOFTNESS = 1.5
"""What the scores are divided by."""
LOWEST = -2.0
"""The lowest offset."""
ITERATIONS = 200
"""The most iterations of EM; a few dozen do."""
MOST = 5_000
"""The most sentences to look at."""


def shares_in(sentences: Sequence[Sentence], types: Sequence[str]) -> dict[str, float]:
    """Return which share of the words of some annotated sentences is of each type."""
    words = sum(len(sentence.words) for sentence in sentences)
    of = {type_: sum(s.end - s.start for x in sentences for s in x.spans if s.type == type_) for type_ in types}
    return {type_: count / max(words, 1) for type_, count in of.items()}


def text_offsets(
    student: Tagger, parent: Tagger, text: Corpus, shares: Mapping[str, float], *, picked: bool
) -> Offsets:
    """Return the offsets of all types for some text: those that were taught with some share, and the old ones."""
    some = replace(text, sentences=text.sentences[:MOST])
    plain = Evidence.of(student, parent, some, ())
    plain = replace(plain, judged=tuple(type_ for type_ in plain.judged if type_ not in shares))
    if picked:
        offsets = _with_old(plain, _taught_offsets(student, some, shares))
        if plain.keeps_old(plain.shifted(offsets).as_it_is, plain.as_it_is):
            return offsets
    return _with_old(plain, dict.fromkeys(shares, 0.0))


def _with_old(plain: Evidence, taught: Offsets) -> Offsets:
    """Add the offsets of the old types to those of the taught ones; they are measured against no offset at all."""
    return taught | fit_offsets(plain.shifted(taught), plain.judged, plain.as_it_is)


def _taught_offsets(student: Tagger, text: Corpus, shares: Mapping[str, float]) -> Offsets:
    encoded = student.tokenize(text.sentences, student.device)
    scores = run_tagger(student, encoded).logits.double() / SOFTNESS
    p = scores.softmax(dim=-1).cpu().numpy()
    of_type = np.stack([p[:, student.labels.of([type_])].sum(1) for type_ in shares], axis=1)
    moved = label_shift(of_type, np.array(list(shares.values())))
    return dict(zip(shares, np.clip(SOFTNESS * moved, LOWEST, 0.0).round(4).tolist(), strict=True))


def label_shift(p: Floats, shares: Floats) -> Floats:
    """Return how much rarer every type is than its share in the data, as a logarithm beside that of the rest.

    ``p`` has the probabilities of the types, one row per word; what is missing to one is the rest.
    """
    floor = shares * np.exp(LOWEST / SOFTNESS)
    ratio, rest = np.ones(len(shares)), 1.0
    for _ in range(ITERATIONS):
        weighed, other = p * ratio, (1 - p.sum(1)) * rest
        total = weighed.sum(1) + other
        found = np.maximum((weighed / total[:, None]).mean(0), floor)
        before, ratio = ratio, found / np.maximum(shares, 1e-9)
        rest = float((other / total).mean() / max(1 - shares.sum(), 1e-9))
        if np.abs(np.log(np.maximum(ratio, 1e-9) / np.maximum(before, 1e-9))).max() < 1e-4:
            break
    return np.asarray(np.log(np.maximum(ratio, 1e-9) / max(rest, 1e-9)))
