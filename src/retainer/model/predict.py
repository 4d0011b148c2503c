"""From text to entities: tag every word, stitch the windows, and say it the way transformers' pipeline says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from retainer.data.spans import Sentence, Span
from retainer.data.suggested import Suggested
from retainer.metrics.f1 import Array, Scores, Spans, score
from retainer.model.batches import Encoded
from retainer.model.decode import flat_spans, predicted_spans
from retainer.model.tagger import Tagger
from retainer.model.tagger_output import TaggerOutput

BUDGET = {"cpu": 1024, "cuda": 65536}
"""Pieces per batch when nothing is learned: a batch that fits the cache of a CPU, one that fills a GPU."""
ANOTHER = {"cpu": 48, "cuda": 1_000_000}
"""How many pieces of padding cost as much as one more batch. Not measured on a GPU, where batches are full."""


@torch.no_grad()
def run_tagger(tagger: Tagger, encoded: Encoded, *, hidden: bool = False) -> TaggerOutput:
    """Run a tagger over a corpus in evaluation mode and collect its outputs word by word, in full precision.

    Masks make the outputs of a word independent of the batch it stands in, so they may be computed once and kept.
    """
    was_training = tagger.training
    tagger.eval()
    size = encoded.word_count
    logits = torch.empty(size + 1, len(tagger.labels.names), device=encoded.device)
    vectors = logits.new_empty(size + 1, tagger.width) if hidden else logits.new_empty(0)
    budget, another = (table.get(encoded.device.type, table["cpu"]) for table in (BUDGET, ANOTHER))
    quirk = tagger.quirks.batch
    for windows, length in encoded.in_order(quirk) if quirk else encoded.longest_first(budget, another):
        batch = encoded.batch(windows, length)
        rows = batch.words.flatten() % (size + 1)  # positions that are not a first piece land in the spare last row
        seen = tagger.outputs(batch)
        logits[rows] = seen.logits
        if hidden:
            vectors[rows] = seen.hidden
    tagger.train(was_training)
    return TaggerOutput(logits[:size], vectors[:size])


@dataclass(frozen=True)
class Tagged:
    """The predicted label of every word of a corpus and the probability the tagger gives it."""

    ids: Array
    probabilities: np.ndarray[Any, np.dtype[np.float32]]
    sentence_starts: Array


def tag(tagger: Tagger, encoded: Encoded) -> Tagged:
    """Predict a label for every word; each word is seen in the one window where it has most context."""
    best = run_tagger(tagger, encoded).logits.softmax(dim=-1).max(dim=-1)
    return Tagged(best.indices.cpu().numpy(), best.values.cpu().numpy(), encoded.sentence_starts)


def find(tagger: Tagger, sentences: Sequence[Sentence], types: Sequence[str]) -> tuple[Spans, Tagged]:
    """Predict the entities of some sentences."""
    tagged = tag(tagger, tagger.tokenize(sentences, tagger.device))
    return predicted_spans(tagged.ids, tagger.labels, tagged.sentence_starts, types), tagged


def score_tags(tagger: Tagger, tagged: Tagged, gold: Spans, types: Sequence[str]) -> Scores:
    """Score predictions: sentence by sentence, or with the quirk of taking all of them for one."""
    if tagger.quirks.flat_scores:
        return score(gold, flat_spans(tagged.ids, tagger.labels, gold, types), types)
    return score(gold, predicted_spans(tagged.ids, tagger.labels, tagged.sentence_starts, types), types)


def scores_of(spans: Spans, tagged: Tagged) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the mean probability over the words of every entity."""
    sums = np.concatenate([[0.0], tagged.probabilities.cumsum(dtype=np.float64)])
    return np.asarray((sums[spans.end] - sums[spans.start]) / (spans.end - spans.start))


def find_entities(tagger: Tagger, sentences: Sequence[Sentence]) -> list[list[dict[str, Any]]]:
    """Return the entities of each sentence with the keys of transformers' token-classification pipeline.

    The score is the mean probability over the entity's words; ``word`` is the text itself, not what a tokenizer
    made of it.
    """
    types = tagger.labels.types
    spans, tagged = find(tagger, sentences, types)
    owners = np.searchsorted(tagged.sentence_starts, spans.start, side="right") - 1
    scores = scores_of(spans, tagged)
    found: list[list[dict[str, Any]]] = [[] for _ in sentences]
    columns = (column.tolist() for column in (owners, spans.start, spans.end, spans.type, scores))
    for row, start, end, type_, mean in zip(*columns, strict=True):
        text, offsets = sentences[row].located()
        base = int(tagged.sentence_starts[row])
        first, last = offsets[start - base][0], offsets[end - base - 1][1]
        found[row].append(
            {
                "entity_group": types[type_],
                "score": mean,
                "word": text[first:last],
                "start": first,
                "end": last,
            }
        )
    return found


def suggested(tagger: Tagger, sentences: Sequence[Sentence]) -> list[Suggested]:
    """Return sentences with the entities a tagger finds in them, for a person to correct."""
    return [_suggested(*pair) for pair in zip(sentences, find_entities(tagger, sentences), strict=True)]


def _suggested(sentence: Sentence, found: list[dict[str, Any]]) -> Suggested:
    text, offsets = sentence.located()
    spans = [Span(entity["start"], entity["end"], entity["entity_group"]) for entity in found]
    placed = Sentence.from_offsets(text, offsets, spans)
    scores = tuple(entity["score"] for entity in found)
    return Suggested(placed.words, placed.spans, text, offsets, scores=scores)
