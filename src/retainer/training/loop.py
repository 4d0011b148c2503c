"""The only training loop. Methods supply targets and losses; everything that moves is here and in ``step``."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from retainer.errors import InputError
from retainer.model.adapters import learned_state, load_learned
from retainer.model.batches import Windows
from retainer.model.heads import CosineHead
from retainer.model.predict import run_tagger
from retainer.model.tagger import Tagger
from retainer.plurals import amount
from retainer.training.checkpoint import Checkpoint, State, pack_optimizer, unpack_optimizer
from retainer.training.early_stopping import EarlyStopping, cloned
from retainer.training.prepare import Beside, PreparedTask
from retainer.training.progress import Epoch, Progress
from retainer.training.ranks import ALONE, Ranks
from retainer.training.recipe import Recipe
from retainer.training.speed.attention_maps import attention_maps
from retainer.training.speed.cuda_graph import CudaGraphStep, StepFunction
from retainer.training.speed.embedding_subset import EmbeddingSubset
from retainer.training.step import TrainingStep


class Diverged(InputError):
    """The loss is not finite any more. The student is back at its last good epoch."""


class TrainingLoop:
    """The loop over one task. It alone owns the optimizer, the schedule, the clock and the choice of the epoch."""

    def __init__(self, task: PreparedTask, recipe: Recipe, seed: int, progress: Progress, ranks: Ranks = ALONE) -> None:
        self.task, self.seed, self.progress, self.ranks = task, seed, progress, ranks
        self.recipe = recipe.fitted(task.slice_windows)
        ranks.require_work(self.recipe.batch)
        self.student = task.student
        self.embeddings = EmbeddingSubset(self.student.network, task.encoded, narrow=task.teacher.live is None)
        self.slice = self.embeddings.renumber(task.slice)
        self.dev = task.dev and task.dev.renumbered(self.embeddings.renumber)
        if self.recipe.batch < recipe.batch:
            give = amount(task.slice_windows, "text gives", "texts give")
            progress.note(
                f"batch size reduced from {recipe.batch} to {self.recipe.batch}: {give} too few steps per epoch"
            )
        self.epoch = 0
        self.history: list[dict[str, Any]] = []
        self.stopping = EarlyStopping(self.recipe.patience)

    @property
    def steps(self) -> int:
        """Steps per epoch."""
        return self.slice.steps(self.recipe.batch)

    @property
    def kept_epoch(self) -> int:
        """The epoch whose weights are kept: the best, or the last where none was chosen."""
        return self.stopping.best_epoch or self.epoch

    def run(self, checkpoint: Checkpoint | None = None) -> Tagger:
        """Train until the epochs are over or nothing gets better, and return the student of the chosen epoch."""
        self.embeddings.narrow()
        try:
            with attention_maps(self.task.mapped):
                self._train(checkpoint)
            self._measure_norm()
        finally:
            self.embeddings.widen()
        self.student.zero_grad(set_to_none=True)
        return self.student.settled().eval()

    def _train(self, checkpoint: Checkpoint | None) -> None:
        step = TrainingStep(self.task, self.slice, self.recipe, self.ranks)
        self._resume(checkpoint, step)
        self.ranks.same_weights(self.student)
        run_step = self._step_function(step)
        good = self._state()
        while self.epoch < self.recipe.epochs and not self.stopping.should_stop(self.epoch):
            try:
                self._run_epoch(step, run_step)
            except Diverged:
                load_learned(self.student, good.student)
                raise
            good = self._state()
            if checkpoint is not None:
                checkpoint.keep(replace(good, optimizer=cloned(pack_optimizer(step.optimizer))))
        if self.epoch < self.recipe.epochs:
            self.progress.note(f"  stopped early: epoch {self.stopping.best_epoch} was the best so far")
        self.stopping.restore(self.student)

    def _state(self) -> State:
        """Return a copy of what the next epoch begins with, the optimizer aside."""
        facts = {
            "epoch": self.epoch,
            "best": self.stopping.best,
            "best_epoch": self.stopping.best_epoch,
            "history": list(self.history),
        }
        return State(cloned(learned_state(self.student)), {}, self.stopping.weights, facts)

    def _resume(self, checkpoint: Checkpoint | None, step: TrainingStep) -> None:
        """Go on where an earlier run was, if it left a whole state that fits."""
        state = self.ranks.same_state(self._kept_state(checkpoint), self.student.device)
        if state is None or state.student.keys() != learned_state(self.student).keys():
            if checkpoint is not None and checkpoint.file.exists():
                self.progress.note("an unfinished run with other settings is replaced")
            return
        load_learned(self.student, state.student)
        unpack_optimizer(step.optimizer, state.optimizer)
        facts = state.facts
        self.epoch, self.history = facts["epoch"], facts["history"]
        self.stopping = EarlyStopping(self.recipe.patience, facts["best"], facts["best_epoch"], state.best)
        self.progress.note(f"resuming an unfinished run after epoch {self.epoch}")

    def _kept_state(self, checkpoint: Checkpoint | None) -> State | None:
        """Return the state an earlier run has kept; the first process reads it for all."""
        return checkpoint.load(self.student.device) if checkpoint is not None and self.ranks.leads else None

    @property
    def _batch(self) -> int:
        """The most windows of a step."""
        return self.recipe.batch + self.task.beside_per_step(self.recipe.batch)

    def _step_function(self, step: TrainingStep) -> StepFunction:
        """Return the step; recorded and replayed where that is faster, and no other process is waited for in it."""
        if self.recipe.capture and self.student.device.type == "cuda" and self.ranks.size == 1:
            return CudaGraphStep(step, self._batch, self.student.device, self.progress.note)
        return step

    def _run_epoch(self, step: TrainingStep, run_step: StepFunction) -> None:
        """Make one pass over the slice, then look at the dev set."""
        began = time.perf_counter()
        seed = _mix(self.seed, self.epoch)
        torch.manual_seed(_mix(seed, self.ranks.rank) if self.ranks.rank else seed)  # dropout differs, batches do not
        step.begin(self.epoch)
        batches = self.batches(seed)
        for number, (windows, length) in enumerate(batches):
            run_step(windows, length)
            if self.student.device.type == "cpu":
                self._require_finite(step, number, windows)
            self.progress.step()
        log = step.log.cpu()
        for number in (~log.isfinite()).any(dim=1).nonzero().flatten()[:1].tolist():
            self._require_finite(step, number, batches[number][0])
        losses = dict(zip(step.names, log.mean(dim=0).tolist(), strict=True))
        self._finish_epoch(step.arithmetic.tagger, losses, time.perf_counter() - began)

    def batches(self, seed: int) -> list[tuple[Tensor, int]]:
        """Return the batches of the next epoch."""
        if self.student.quirks.batch:
            return self.slice.in_order(self.recipe.batch, seed)
        few_shapes = self.student.device.type == "cuda"
        return self.slice.shuffled(self.recipe.batch, seed, few_shapes=few_shapes, beside=self._beside())

    def _beside(self) -> Windows | None:
        """Return the windows that stand beside the next epoch, if there are any."""
        shown = [self._next_of(one) for one in self.task.beside]
        return np.concatenate(shown) if shown else None

    def _next_of(self, beside: Beside) -> Windows:
        """Return the windows that are next, in an order fixed by the seed; from the start when all were shown."""
        order = np.random.default_rng(self.seed).permutation(beside.windows)
        count = self.steps * beside.per_step(self.recipe.batch)
        return np.asarray(order[np.arange(self.epoch * count, (self.epoch + 1) * count) % len(order)])

    def _require_finite(self, step: TrainingStep, number: int, windows: Tensor) -> None:
        values = zip(step.names, step.log[number].isfinite().tolist(), strict=True)
        if broken := [name for name, finite in values if not finite]:
            rows = sorted({int(row) + 1 for row in self.slice.window_sentences[windows.cpu().numpy()]})
            raise Diverged(
                f"the loss ({', '.join(broken)}) is not finite in epoch {self.epoch + 1}, batch {number + 1} "
                f"(training sentences {', '.join(map(str, rows[:8]))}{', …' if len(rows) > 8 else ''}); training "
                f"stopped, lower the learning rate or look at these sentences"
            )

    def _finish_epoch(self, tagger: Tagger, losses: dict[str, float], seconds: float) -> None:
        """Score the dev set and keep the epoch if it is the best.

        The student is scored in the arithmetic it is trained in. On a GPU, full precision takes as long as an epoch of
        a small slice.
        """
        self.epoch += 1
        score = self.ranks.from_first(lambda: self._dev_score(tagger))
        better = self.stopping.update(self.epoch, score, self.student)
        self.history.append({"losses": losses, "dev": score, "seconds": seconds})
        self.progress.epoch(Epoch(self.epoch, self.recipe.epochs, losses, score, better, seconds))

    def _dev_score(self, tagger: Tagger) -> float | None:
        return None if self.dev is None else self.dev.scores(tagger).micro_of(self.dev.counted)

    def _measure_norm(self) -> None:
        """Find the usual length of a token vector, which folding a cosine head needs."""
        if isinstance(head := self.student.head, CosineHead):
            head.norm.fill_(run_tagger(self.student, self.slice, hidden=True).hidden.norm(dim=-1).mean())


def _mix(*numbers: int) -> int:
    """Make one seed out of several numbers, so that no two epochs or runs share one by accident."""
    return int.from_bytes(hashlib.sha256(repr(numbers).encode()).digest()[:4], "big")
