"""The only training loop. Methods supply targets and losses; everything that moves is here and in ``descent``."""

from __future__ import annotations

import hashlib
import time
from typing import Any

import torch
from torch import Tensor

from retainer.errors import InputError
from retainer.model.predict import run_tagger
from retainer.model.tagger import Tagger
from retainer.training.checkpoint import Checkpoint, State, Tensors, pack_optimizer, unpack_optimizer
from retainer.training.prepare import PreparedTask
from retainer.training.progress import Epoch, Progress
from retainer.training.recipe import Recipe
from retainer.training.speed.attention_maps import attention_maps
from retainer.training.speed.cuda_graph import CudaGraphStep, StepFunction
from retainer.training.speed.embedding_subset import EmbeddingSubset
from retainer.training.step import TrainingStep


class Diverged(InputError):
    """The loss is no number any more. The student is back at its last good epoch."""


class TrainingLoop:
    """One task's loop. It alone owns the optimizer, the schedule, the clock and the choice of the epoch."""

    def __init__(self, lesson: PreparedTask, recipe: Recipe, seed: int, watch: Progress) -> None:
        self.lesson, self.seed, self.watch = lesson, seed, watch
        self.recipe = recipe.fitted(len(lesson.slice.lengths))
        self.student = lesson.student
        self.vocabulary = EmbeddingSubset(self.student.network, lesson.encoded, narrow=lesson.live is None)
        self.slice = self.vocabulary.renumber(lesson.slice)
        self.dev = lesson.dev and lesson.dev.renumbered(self.vocabulary.renumber)
        if self.recipe.batch < recipe.batch:
            size = len(lesson.slice.lengths)
            small = f"batch size reduced from {recipe.batch} to {self.recipe.batch}"
            watch.note(f"{small}: {size} texts give too few steps per epoch")
        self.best: Tensors = {}
        self.facts: dict[str, Any] = {"epoch": 0, "best": None, "best_epoch": 0, "history": []}

    @property
    def steps(self) -> int:
        """Steps per epoch."""
        return self.slice.steps(self.recipe.batch)

    def run(self, checkpoint: Checkpoint | None = None) -> Tagger:
        """Train until the epochs are over or nothing gets better, and return the student of the chosen epoch."""
        self.vocabulary.narrow()
        lesson = self.lesson
        try:
            with attention_maps([self.student, lesson.live] if "maps" in lesson.method.needs else []):
                self._descend(checkpoint)
            self._measure_norm()
        finally:
            self.vocabulary.widen()
        self.student.zero_grad(set_to_none=True)
        return self.student.settled().eval()

    def _descend(self, checkpoint: Checkpoint | None) -> None:
        descent = TrainingStep(self.lesson, self.slice, self.recipe)
        if checkpoint is not None and (state := checkpoint.load(self.student.device)):
            self._resume(state, descent)
        elif checkpoint is not None and checkpoint.file.exists():
            self.watch.note("an unfinished run with other settings, or a damaged one, is replaced")
        step = self._step(descent)
        while self.facts["epoch"] < self.recipe.epochs and not self._stale():
            good = _clone(self.student.state_dict())
            try:
                self._epoch(descent, step)
            except Diverged:
                self.student.load_state_dict(good)
                raise
            if checkpoint is not None and checkpoint.due():
                checkpoint.save(self._state(descent))
        if self.facts["epoch"] < self.recipe.epochs:
            self.watch.note(f"  stopped early: epoch {self.facts['best_epoch']} was the best so far")
        if self.best:
            self.student.load_state_dict(self.best)

    def _stale(self) -> bool:
        """Say whether the best epoch is long past; as long as nothing at all is found, the best is still to come."""
        waited = self.facts["epoch"] - self.facts["best_epoch"]
        return bool(self.recipe.patience and self.facts["best"] and waited >= self.recipe.patience)

    def _state(self, descent: TrainingStep) -> State:
        return State(self.student.state_dict(), pack_optimizer(descent.optimizer), self.best, self.facts)

    def _resume(self, state: State, descent: TrainingStep) -> None:
        self.student.load_state_dict(state.student)
        unpack_optimizer(descent.optimizer, state.optimizer)
        self.best, self.facts = state.best, state.facts
        self.watch.note(f"going on after epoch {self.facts['epoch']} of an unfinished run")

    def _step(self, descent: TrainingStep) -> StepFunction:
        """Return the step; recorded and replayed where that is faster."""
        if self.recipe.capture and self.student.device.type == "cuda":
            return CudaGraphStep(descent, self.recipe.batch, self.student.device, self.watch.note)
        return descent

    def _epoch(self, descent: TrainingStep, step: StepFunction) -> None:
        """Make one pass over the slice, then look at the dev set."""
        began, epoch = time.perf_counter(), self.facts["epoch"]
        seed = _mix(self.seed, epoch)
        torch.manual_seed(seed)
        descent.begin(epoch)
        batches = self._batches(seed)
        for number, (windows, length) in enumerate(batches):
            step(windows, length)
            if self.student.device.type == "cpu":
                self._require_finite(descent, number, windows)
            self.watch.step()
        log = descent.log.cpu()
        for number in (~log.isfinite()).any(dim=1).nonzero().flatten()[:1].tolist():
            self._require_finite(descent, number, batches[number][0])
        losses = dict(zip(descent.names, log.mean(dim=0).tolist(), strict=True))
        self._finish_epoch(descent.arithmetic.tagger, losses, time.perf_counter() - began)

    def _batches(self, seed: int) -> list[tuple[Tensor, int]]:
        if self.student.quirks.batch:
            return self.slice.in_order(self.recipe.batch, seed)
        return self.slice.shuffled(self.recipe.batch, seed, few_shapes=self.student.device.type == "cuda")

    def _require_finite(self, descent: TrainingStep, number: int, windows: Tensor) -> None:
        values = zip(descent.names, descent.log[number].isfinite().tolist(), strict=True)
        if broken := [name for name, finite in values if not finite]:
            rows = sorted({int(row) + 1 for row in self.slice.window_sentences[windows.cpu().numpy()]})
            raise Diverged(
                f"the loss ({', '.join(broken)}) is not finite in epoch {self.facts['epoch'] + 1}, batch {number + 1} "
                f"(training sentences {', '.join(map(str, rows[:8]))}{', …' if len(rows) > 8 else ''}); training "
                f"stopped, lower the learning rate or look at these sentences"
            )

    def _finish_epoch(self, tagger: Tagger, losses: dict[str, float], seconds: float) -> None:
        """Score the dev set; a strictly better epoch becomes the one to keep, and one that finds nothing never does.

        The student is looked at in the arithmetic it is trained in. On a GPU, a look in full precision
        takes as long as an epoch of a small slice.
        """
        self.facts["epoch"] += 1
        value = None if self.dev is None else self.dev.scores(tagger).micro_of(self.dev.counted)
        better = value is not None and value > (self.facts["best"] or 0.0)
        if better:
            self.best = _clone(self.student.state_dict())
            self.facts.update(best=value, best_epoch=self.facts["epoch"])
        self.facts["history"].append({"losses": losses, "dev": value, "seconds": seconds})
        self.watch.epoch(Epoch(self.facts["epoch"], self.recipe.epochs, losses, value, better, seconds))

    def _measure_norm(self) -> None:
        """Find the usual length of a token vector, which folding a cosine head needs."""
        if self.student.head.kind == "cosine":
            self.student.head.norm.fill_(run_tagger(self.student, self.slice, hidden=True).hidden.norm(dim=-1).mean())


def _clone(state: Tensors) -> Tensors:
    return {name: tensor.detach().clone() for name, tensor in state.items()}


def _mix(*numbers: int) -> int:
    """Make one seed out of several numbers, so that no two epochs or runs share one by accident."""
    return int.from_bytes(hashlib.sha256(repr(numbers).encode()).digest()[:4], "big")
