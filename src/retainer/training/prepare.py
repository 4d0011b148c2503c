"""One task made ready for the loop: the grown student, the slice on the device, and what the teacher says about it."""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from retainer.data.corpus import Corpus
from retainer.data.labels import Labels
from retainer.data.spans import Sentence
from retainer.errors import InputError
from retainer.methods import Finetune, Method, Tokens
from retainer.metrics.f1 import Scores, Spans, gold_spans
from retainer.model.heads import Head, released_head
from retainer.model.predict import run_tagger, score_tags, tag
from retainer.model.tagger import Tagger
from retainer.model.tagger_output import TaggerOutput
from retainer.model.tokenization import Encoded, Tokenization
from retainer.training.oversampling import times
from retainer.training.recipe import Recipe
from retainer.training.teacher_targets import IMPOSSIBLE, OldTypeAnnotation, ruled_out


@dataclass(frozen=True)
class DevSet:
    """Sentences to select an epoch on."""

    encoded: Encoded
    gold: Spans
    types: tuple[str, ...]
    """All types there are."""
    counted: tuple[str, ...]
    """Those an epoch is chosen by."""

    def scores(self, tagger: Tagger) -> Scores:
        """Score a tagger on all types."""
        return score_tags(tagger, tag(tagger, self.encoded), self.gold, self.types)

    def renumbered(self, renumber: Callable[[Encoded], Encoded]) -> DevSet:
        """Return the same set with other numbers for its pieces."""
        return replace(self, encoded=renumber(self.encoded))


@dataclass(frozen=True)
class PreparedTask:
    """Everything that is fixed before the first step."""

    student: Tagger
    method: Method
    slice: Encoded
    tokens: Tokens
    teacher: TaggerOutput
    memory: Any
    dev: DevSet | None
    base: bool
    """Whether this is a first task, with nothing to forget."""
    changed: int
    """Words whose prediction changed by growing the head alone: 0, and measured every time."""
    live: Tagger | None = None
    """The teacher itself, where it cannot be asked beforehand: what it says of a word depends on the batch, or would
    take too much room."""
    informed: bool = False
    """Whether the teacher's scores were conditioned on the annotation of the slice; then the kept ones count."""
    open: Tensor | None = None
    """The words that may be of a new type though they are not annotated, if there are exemplars."""

    @property
    def encoded(self) -> list[Encoded]:
        """All texts of the task."""
        return [self.slice] if self.dev is None else [self.slice, self.dev.encoded]


@dataclass(frozen=True)
class Rehearsal:
    """What a second stage adds to a slice: sentences made up for the old types, and who learned the new ones first."""

    sentences: Sequence[Sentence]
    student: Tagger


@dataclass(frozen=True)
class SplitRows:
    """The rows of types that a split made: they are there, but what they mean is still to be learned."""

    names: tuple[str, ...] = ()
    head: Head | None = None


def set_aside(tagger: Tagger, types: Container[str]) -> tuple[Tagger, SplitRows]:
    """Part a tagger into a teacher that does not know some types, and the rows its student begins them with."""
    waiting = tagger.labels.of(types)
    staying = [index for index in range(len(tagger.labels.names)) if index not in waiting]
    names = [tuple(tagger.labels.names[index] for index in rows) for rows in (staying, waiting)]
    teacher = tagger.like(tagger.network, tagger.head.arranged(staying).to(tagger.device), Labels(names[0]))
    return teacher, SplitRows(names[1], tagger.head.arranged(waiting).to(tagger.device))


def prepare(
    teacher: Tagger,
    train: Corpus,
    dev: Corpus | None,
    new: Sequence[str],
    method: Method,
    recipe: Recipe,
    review: Rehearsal | None = None,
    seeds: SplitRows = SplitRows(),  # noqa: B008 (nobody changes it)
    truth: OldTypeAnnotation = OldTypeAnnotation(),  # noqa: B008 (nor this)
) -> PreparedTask:
    """Encode the slice, run the frozen teacher over it once, and grow the student's head from what it sees."""
    encoder = Tokenization(
        teacher.tokenize.tokenizer, min(teacher.tokenize.limit, recipe.window or teacher.tokenize.limit)
    )
    sentences = (*train.sentences, *truth.exemplars, *(review.sentences if review else ()))
    real = sum(len(sentence.words) for sentence in train)
    encoded = encoder(sentences, teacher.device)
    seeded = Labels((*teacher.labels.names, *seeds.names))
    labels = seeded.grow(type_ for type_ in new if type_ not in seeded.types)
    gold = gold_labels(sentences, labels).to(teacher.device)
    seen = run_tagger(teacher, encoded, hidden=True)
    if review is not None:
        seen = replace(seen, again=run_tagger(review.student, encoded))
    base = not teacher.labels.types
    head = (
        _released(teacher, dev, labels)
        if teacher.quirks.sequence_norm
        else teacher.head.grow(labels, seen.hidden, gold, seeds.head, teacher.labels.of(truth.again))
    )
    used: Method = Finetune() if base else method
    synthetic_sentences = len(train) + len(truth.exemplars) if review else None
    tokens = _tokens(gold, encoded, labels.outside, len(teacher.labels.names), synthetic_sentences)
    with torch.no_grad():
        changed = _changed(head(seen.hidden), seen.logits, len(seeds.names))
        parts = [(real, truth.again), (len(gold) - real, ())]
        heard = _informed(seen, ruled_out(gold, parts, teacher.labels))
        memory = used.begin(tokens, heard)
    return PreparedTask(
        student=teacher.grown(labels, head),
        method=used,
        slice=_shown(encoded, sentences, (*new, *truth.again), recipe.repeat),
        tokens=tokens,
        teacher=_kept(heard, used),
        memory=memory,
        dev=_dev_set(dev, encoder, teacher, new, truth.again, recipe),
        base=base,
        changed=changed,
        live=teacher if not base and (teacher.quirks.batch or used.needs & {"layers", "maps"}) else None,
        informed=heard is not seen,
        open=truth.open(gold, labels.outside, real),
    )


def _shown(encoded: Encoded, sentences: Sequence[Sentence], taught: Sequence[str], most: int) -> Encoded:
    """Return the slice as an epoch shows it: sentences of rare types more than once, where that is asked for."""
    return encoded if most == 1 else encoded.repeated(times(sentences, taught, most))


def _informed(seen: TaggerOutput, out: Tensor | None) -> TaggerOutput:
    """Return what the teacher says, given what the annotation rules out; the very same where that is nothing."""
    return seen if out is None else replace(seen, logits=seen.logits.masked_fill(out, IMPOSSIBLE))


def _changed(grown: Tensor, old: Tensor, seeds: int) -> int:
    """Count the words whose winner is another one than before growing; seeds were there before."""
    before = torch.cat([old, grown[:, old.shape[1] : old.shape[1] + seeds]], dim=-1)
    return int((grown.argmax(-1) != before.argmax(-1)).sum())


def _kept(seen: TaggerOutput, method: Method) -> TaggerOutput:
    """Return what the steps will want of the teacher; its vectors, by far the larger part, only if asked for."""
    vectors = seen.hidden if "vectors" in method.needs else seen.hidden.new_empty(0)  # a view would keep all of them
    return TaggerOutput(seen.logits, vectors)


def _tokens(gold: Tensor, encoded: Encoded, outside: int, old: int, real: int | None) -> Tokens:
    """Return the words of a slice, each with its number and that of its sentence; made-up ones come last."""
    starts = torch.from_numpy(encoded.sentence_starts)
    sentences = torch.repeat_interleave(torch.arange(len(starts) - 1), starts.diff())
    sentences = sentences.to(gold.device)
    synthetic = None if real is None else sentences >= real
    return Tokens(gold, torch.arange(len(gold), device=gold.device), outside, old, sentences, synthetic)


def _released(teacher: Tagger, dev: Corpus | None, labels: Labels) -> Head:
    """Grow the head as released code does, from the dev set."""
    if dev is None:
        raise InputError("the head of the released code is made from a dev set, and there is none")
    encoded = teacher.tokenize(dev.sentences, teacher.device)
    gold = gold_labels(dev.sentences, labels).to(teacher.device)
    hidden = run_tagger(teacher, encoded, hidden=True).hidden
    return released_head(teacher.head, labels, hidden, gold, base=not teacher.labels.types)


def gold_labels(sentences: Sequence[Sentence], labels: Labels) -> Tensor:
    """Return the labels of all words of all sentences in a row."""
    rows = [np.array(labels.ids(sentence), dtype=np.int64) for sentence in sentences]
    return torch.from_numpy(np.concatenate([np.empty(0, dtype=np.int64), *rows]))


def _dev_set(
    dev: Corpus | None, encoder: Tokenization, teacher: Tagger, new: Sequence[str], again: Sequence[str], recipe: Recipe
) -> DevSet | None:
    if dev is None or recipe.select == "last":
        return None
    types = (*teacher.labels.types, *new)
    encoded = encoder(dev.sentences, teacher.device)
    gold = gold_spans(dev.sentences, encoded.sentence_starts, types)
    return DevSet(encoded, gold, types, types if recipe.select == "all" else (*new, *again))


def hold_out(corpus: Corpus, share: float, seed: int) -> tuple[Corpus, Corpus | None]:
    """Set a seeded share of the sentences aside to select on.

    Where they would be too few to tell anything, or would take a type's last entities along, all are kept.
    """
    count = round(len(corpus) * share)
    if count < 10:
        return corpus, None
    chosen = set(random.Random(seed).sample(range(len(corpus)), count))
    parts = [tuple(s for i, s in enumerate(corpus) if (i in chosen) is aside) for aside in (False, True)]
    train, dev = (replace(corpus, sentences=part) for part in parts)
    return (train, dev) if dev.counts and train.types == corpus.types else (corpus, None)
