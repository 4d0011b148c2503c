"""One task made ready for the loop: the grown student, the slice on the device, and what the teacher says about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from retainer.methods.base import Need
from retainer.metrics.f1 import Scores, Spans, gold_spans
from retainer.model.adapters import add_adapters
from retainer.model.batches import Batch, Encoded, Windows
from retainer.model.heads import Head, SequenceNormHead
from retainer.model.predict import run_tagger, score_tags, tag
from retainer.model.tagger import Tagger
from retainer.model.tagger_output import TaggerOutput
from retainer.model.tokenization import Tokenization
from retainer.training.oversampling import times
from retainer.training.recipe import Recipe
from retainer.training.task_data import SplitRows, TaskData
from retainer.training.teacher_targets import IMPOSSIBLE, Completeness, OpenLabels, open_labels, ruled_out


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
class Teacher:
    """What the frozen teacher says about the slice: computed once and kept, or computed anew for every batch."""

    output: TaggerOutput
    """Its output for every word of the slice."""
    live: Tagger | None = None
    """The teacher itself, where its output cannot be kept: it depends on the batch, or would take too much room."""
    informed: bool = False
    """Whether the kept scores were conditioned on the annotation of the slice; then they take precedence."""

    def outputs(self, batch: Batch, needs: frozenset[Need]) -> TaggerOutput:
        """Return its output for the positions of a batch."""
        rows = batch.words.flatten()
        if self.live is None:
            return self.output.at(rows)
        fresh = self.live.outputs(batch, needs)
        return replace(fresh, logits=self.output.at(rows).logits) if self.informed else fresh


@dataclass(frozen=True)
class Beside:
    """Windows that are no part of an epoch; every step shows some beside those of the slice."""

    windows: Windows
    share: float
    """How many a step shows, in batches."""

    def per_step(self, batch: int) -> int:
        """How many a step shows."""
        return max(1, round(self.share * batch))


@dataclass(frozen=True)
class PreparedTask:
    """Everything that is fixed before the first step."""

    student: Tagger
    method: Method
    slice: Encoded
    tokens: Tokens
    teacher: Teacher
    memory: Any
    dev: DevSet | None
    base: bool
    """Whether this is a first task, with nothing to forget."""
    changed: int
    """Words whose prediction changed by growing the head alone: 0, and measured every time."""
    open: OpenLabels | None = None
    """The new labels that stay possible at O words, if there are any."""
    text: Beside | None = None
    """The windows without annotation, if there are any."""
    swaps: Beside | None = None
    """The windows with old entities in the places of new ones, if there are any."""

    @property
    def beside(self) -> list[Beside]:
        """All that is shown beside the slice."""
        return [one for one in (self.text, self.swaps) if one is not None]

    @property
    def slice_windows(self) -> int:
        """The number of windows of the slice itself."""
        return len(self.slice.lengths) - sum(len(one.windows) for one in self.beside)

    def beside_per_step(self, batch: int) -> int:
        """How many windows a step shows beside those of the slice."""
        return sum(one.per_step(batch) for one in self.beside)

    @property
    def encoded(self) -> list[Encoded]:
        """All texts of the task."""
        return [self.slice] if self.dev is None else [self.slice, self.dev.encoded]

    @property
    def mapped(self) -> list[Tagger | None]:
        """The taggers whose attention maps the method compares; none for most methods."""
        return [self.student, self.teacher.live] if "maps" in self.method.needs else []


@dataclass(frozen=True)
class Rehearsal:
    """What a second stage adds: synthetic sentences of the old types, and the student of the first stage."""

    sentences: Sequence[Sentence]
    student: Tagger


def prepare(
    teacher: Tagger, data: TaskData, method: Method, recipe: Recipe, rehearsal: Rehearsal | None = None
) -> PreparedTask:
    """Encode the slice, run the frozen teacher over it once, and grow the student's head from what it sees."""
    tokenize = _windowed(teacher.tokenize, recipe)
    synthetic = [] if rehearsal is None else [sentence.completed(data.new) for sentence in rehearsal.sentences]
    sentences = (*data.sentences, *synthetic)
    encoded = tokenize(sentences, teacher.device)
    labels = _grown_labels(teacher.labels, data)
    gold = gold_labels(sentences, labels).to(teacher.device)
    seen = run_tagger(teacher, encoded, hidden=True)
    if rehearsal is not None:
        seen = replace(seen, second_view=run_tagger(rehearsal.student, encoded))
    base = not teacher.labels.types
    used: Method = Finetune() if base else method
    head = _grown_head(teacher, data, labels, seen.hidden, gold)
    tokens = _tokens(gold, encoded, labels.outside, len(teacher.labels.names), len(data.sentences))
    with torch.no_grad():
        changed = _changed(head(seen.hidden), seen.logits, data.split_rows)
        complete = Completeness.of(sentences, teacher.device)
        informed = _informed(seen, ruled_out(gold, complete, teacher.labels))
        memory = used.begin(tokens, informed)
    text, swaps = _shown_beside(encoded, data, used, recipe)
    return PreparedTask(
        student=_student(teacher.grown(labels, head), recipe.adapter_rank),
        method=used,
        slice=_epoch(encoded, [one for one in (text, swaps) if one], times(sentences, data.taught, recipe.repeat)),
        tokens=tokens,
        teacher=Teacher(
            output=_kept(informed, used),
            live=teacher if not base and (teacher.quirks.batch or used.needs & {"layers", "maps"}) else None,
            informed=informed is not seen,
        ),
        memory=memory,
        dev=_dev_set(data, tokenize, teacher, recipe),
        base=base,
        changed=changed,
        open=open_labels(complete, labels, len(teacher.labels.names)),
        text=text,
        swaps=swaps,
    )


def _student(grown: Tagger, adapter_rank: int) -> Tagger:
    """Return the student, which has adapters if they are asked for; they change nothing yet."""
    if adapter_rank:
        add_adapters(grown.network, adapter_rank)
    return grown


def _windowed(tokenize: Tokenization, recipe: Recipe) -> Tokenization:
    """Return the tokenization with the recipe's windows, if they are shorter than the encoder's own."""
    return Tokenization(tokenize.tokenizer, min(tokenize.limit, recipe.window or tokenize.limit))


def _grown_labels(labels: Labels, data: TaskData) -> Labels:
    """Return the student's labels: the teacher's, those of split types, and those of the other new types."""
    split = Labels((*labels.names, *data.split_rows.names))
    return split.grow(type_ for type_ in data.new if type_ not in split.types)


def _grown_head(teacher: Tagger, data: TaskData, labels: Labels, hidden: Tensor, gold: Tensor) -> Head:
    """Grow the student's head from the slice; that of released code grows from the dev set."""
    head = teacher.head
    if not isinstance(head, SequenceNormHead):
        return head.grow(labels, hidden, gold, data.split_rows.head, teacher.labels.of(data.retaught))
    if data.dev is None:
        raise InputError("the head of the released code is made from a dev set, and there is none")
    encoded = teacher.tokenize(data.dev.sentences, teacher.device)
    dev_gold = gold_labels(data.dev.sentences, labels).to(teacher.device)
    return head.grow_as_released(labels, run_tagger(teacher, encoded, hidden=True).hidden, dev_gold)


def _shown_beside(encoded: Encoded, data: TaskData, method: Method, recipe: Recipe) -> list[Beside | None]:
    """Return the windows of text and of swapped sentences, which stand behind the slice in this order."""
    first, found = len(data.slice), list[Beside | None]()
    for sentences, share in ((data.text, recipe.text_share), (data.swaps, method.swap_share)):
        rows = (encoded.window_sentences >= first) & (encoded.window_sentences < first + len(sentences))
        found.append(Beside(np.flatnonzero(rows), share) if sentences else None)
        first += len(sentences)
    return found


def _epoch(encoded: Encoded, beside: Sequence[Beside], shown: Windows) -> Encoded:
    """Return the slice as an epoch shows it: rare types more than once if that is asked for, and the slice alone."""
    if not beside and (shown == 1).all():
        return encoded
    turns = shown[encoded.window_sentences]
    for one in beside:
        turns[one.windows] = 0
    return encoded.in_turns(turns)


def _informed(seen: TaggerOutput, impossible: Tensor | None) -> TaggerOutput:
    """Return what the teacher says, given what the annotation rules out; the very same where that is nothing."""
    return seen if impossible is None else replace(seen, logits=seen.logits.masked_fill(impossible, IMPOSSIBLE))


def _changed(grown: Tensor, old: Tensor, split_rows: SplitRows) -> int:
    """Count the words whose winner differs from that before growing; split rows were there before."""
    width = old.shape[1]
    before = torch.cat([old, grown[:, width : width + len(split_rows.names)]], dim=-1)
    return int((grown.argmax(-1) != before.argmax(-1)).sum())


def _kept(seen: TaggerOutput, method: Method) -> TaggerOutput:
    """Return what the steps need of the teacher; its vectors, by far the larger part, only if the method needs them."""
    vectors = seen.hidden if "vectors" in method.needs else seen.hidden.new_empty(0)  # a view would keep all of them
    return TaggerOutput(seen.logits, vectors)


def _tokens(gold: Tensor, encoded: Encoded, outside: int, old: int, real: int) -> Tokens:
    """Return the words of a slice, each with its number and that of its sentence; synthetic ones come last."""
    starts = torch.from_numpy(encoded.sentence_starts)
    sentences = torch.repeat_interleave(torch.arange(len(starts) - 1), starts.diff()).to(gold.device)
    synthetic = sentences >= real if real < len(starts) - 1 else None
    return Tokens(gold, torch.arange(len(gold), device=gold.device), outside, old, sentences, synthetic)


def gold_labels(sentences: Sequence[Sentence], labels: Labels) -> Tensor:
    """Return the labels of all words of all sentences in a row."""
    rows = [np.array(labels.ids(sentence), dtype=np.int64) for sentence in sentences]
    return torch.from_numpy(np.concatenate([np.empty(0, dtype=np.int64), *rows]))


def _dev_set(data: TaskData, tokenize: Tokenization, teacher: Tagger, recipe: Recipe) -> DevSet | None:
    dev: Corpus | None = data.dev
    if dev is None or recipe.select == "last":
        return None
    types = (*teacher.labels.types, *data.new)
    encoded = tokenize(dev.sentences, teacher.device)
    gold = gold_spans(dev.sentences, encoded.sentence_starts, types)
    return DevSet(encoded, gold, types, types if recipe.select == "all" else data.taught)
