"""The only training loop. Methods supply targets and losses; everything that moves is here."""

from __future__ import annotations

import hashlib
import time
from typing import Any

import torch
from torch import Tensor, nn

from retainer.checkpoint import Checkpoint, State, Tensors, pack_optimizer, unpack_optimizer
from retainer.errors import InputError
from retainer.lesson import Lesson
from retainer.methods import IGNORE, Clock, Tokens
from retainer.model import Tagger
from retainer.outputs import Outputs
from retainer.predict import evaluate, observe
from retainer.progress import Epoch, Silence
from retainer.recipe import Recipe


class Diverged(InputError):
    """The loss is no number any more. The student is back at its last good epoch."""


class Training:
    """One task's loop. It alone owns the optimizer, the schedule, the clock and the choice of the epoch."""

    def __init__(self, lesson: Lesson, recipe: Recipe, seed: int, watch: Silence) -> None:
        self.lesson, self.recipe, self.seed, self.watch = lesson, recipe, seed, watch
        self.student = lesson.student
        _freeze(self.student, recipe, lesson.base)
        self.optimizer = _optimizer(self.student, recipe)
        self.best: Tensors = {}
        self.facts: dict[str, Any] = {"epoch": 0, "best": None, "best_epoch": 0, "history": []}

    @property
    def steps(self) -> int:
        """Steps per epoch."""
        return -(-len(self.lesson.slice.lengths) // self.recipe.batch)

    def run(self, checkpoint: Checkpoint | None = None) -> Tagger:
        """Train until the epochs are over or nothing gets better, and return the student of the chosen epoch."""
        if checkpoint is not None and (state := checkpoint.load(self.student.device)):
            self._resume(state)
        elif checkpoint is not None and checkpoint.file.exists():
            self.watch.note("an unfinished run with other settings, or a damaged one, is replaced")
        while self.facts["epoch"] < self.recipe.epochs and not self._stale():
            good = _clone(self.student.state_dict())
            try:
                self._epoch()
            except Diverged:
                self.student.load_state_dict(good)
                raise
            if checkpoint is not None and checkpoint.due():
                checkpoint.save(self._state())
        if self.best:
            self.student.load_state_dict(self.best)
        self.optimizer.zero_grad(set_to_none=True)
        self._measure_norm()
        return self.student.settled().eval()

    def _stale(self) -> bool:
        waited = self.facts["epoch"] - self.facts["best_epoch"]
        return bool(self.recipe.patience and self.lesson.dev and waited >= self.recipe.patience)

    def _state(self) -> State:
        return State(self.student.state_dict(), pack_optimizer(self.optimizer), self.best, self.facts)

    def _resume(self, state: State) -> None:
        self.student.load_state_dict(state.student)
        unpack_optimizer(self.optimizer, state.optimizer)
        self.best, self.facts = state.best, state.facts
        self.watch.note(f"going on after epoch {self.facts['epoch']} of an unfinished run")

    def _epoch(self) -> None:
        """Make one pass over the slice, then look at the dev set."""
        began, epoch = time.perf_counter(), self.facts["epoch"]
        seed = _mix(self.seed, epoch)
        torch.manual_seed(seed)
        self.student.train()
        batches = self.lesson.slice.shuffled(self.recipe.batch, seed)
        total: dict[str, Tensor] = {}
        for step, (windows, length) in enumerate(batches):
            clock = Clock(epoch, self.recipe.epochs, epoch * self.steps + step, self.recipe.epochs * self.steps)
            terms = self._step(windows, length, clock)
            total = {name: total.get(name, 0) + value.detach() for name, value in terms.items()}
            if self.student.device.type == "cpu" or step == len(batches) - 1:
                self._require_finite(total, epoch, step, windows)
            self.watch.step()
        losses = {name: float(value) / len(batches) for name, value in total.items()}
        self._finish_epoch(losses, time.perf_counter() - began)

    def _step(self, windows: Tensor, length: int, clock: Clock) -> dict[str, Tensor]:
        """Make one step; nothing in here waits for the device."""
        lesson = self.lesson
        batch = lesson.slice.batch(windows, length)
        rows = batch.words.flatten()
        labels = lesson.tokens.labels[rows.clamp(min=0)].masked_fill(rows < 0, IGNORE)
        given = Tokens(labels, rows, lesson.tokens.outside, lesson.tokens.old)
        hidden = self.student.hidden(batch).flatten(0, 1)
        student = Outputs(self.student.head(hidden), hidden)
        with torch.no_grad():
            targets = lesson.method.targets(given, lesson.memory, clock)
        terms = lesson.method.losses(student, lesson.teacher.at(rows), given, targets)
        self._descend(torch.stack(list(terms.values())).sum(), clock)
        return terms

    def _descend(self, loss: Tensor, clock: Clock) -> None:
        progress = clock.step / clock.steps
        for group in self.optimizer.param_groups:
            group["lr"] = group["factor"] * self.recipe.rate(progress, clock.epoch, base=self.lesson.base)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.recipe.clip:
            nn.utils.clip_grad_norm_((p for g in self.optimizer.param_groups for p in g["params"]), self.recipe.clip)
        self.optimizer.step()

    def _require_finite(self, total: dict[str, Tensor], epoch: int, step: int, windows: Tensor) -> None:
        broken = [name for name, value in total.items() if not torch.isfinite(value)]
        if broken:
            rows = sorted({int(row) + 1 for row in self.lesson.slice.window_sentences[windows.cpu().numpy()]})
            raise Diverged(
                f"the loss ({', '.join(broken)}) is not finite in epoch {epoch + 1}, batch {step + 1} "
                f"(training sentences {', '.join(map(str, rows[:8]))}{', …' if len(rows) > 8 else ''}); training "
                f"stopped, lower the learning rate or look at these sentences"
            )

    def _finish_epoch(self, losses: dict[str, float], seconds: float) -> None:
        """Score the dev set; a strictly better epoch becomes the one to keep, and one that finds nothing never does."""
        self.facts["epoch"] += 1
        value, dev = None, self.lesson.dev
        if dev is not None:
            value = evaluate(self.student, dev.sentences, dev.encoded, dev.types).micro_of(dev.types)
        better = value is not None and value > (self.facts["best"] or 0.0)
        if better:
            self.best = _clone(self.student.state_dict())
            self.facts.update(best=value, best_epoch=self.facts["epoch"])
        self.facts["history"].append({"losses": losses, "dev": value, "seconds": seconds})
        self.watch.epoch(Epoch(self.facts["epoch"], self.recipe.epochs, losses, value, better, seconds))

    def _measure_norm(self) -> None:
        """Find the usual length of a token vector, which folding a cosine head needs."""
        if self.student.head.kind == "cosine":
            self.student.head.norm.fill_(
                observe(self.student, self.lesson.slice, hidden=True).hidden.norm(dim=-1).mean()
            )


def _clone(state: Tensors) -> Tensors:
    return {name: tensor.detach().clone() for name, tensor in state.items()}


def _mix(*numbers: int) -> int:
    """Make one seed out of several numbers, so that no two epochs or runs share one by accident."""
    return int.from_bytes(hashlib.sha256(repr(numbers).encode()).digest()[:4], "big")


def _freeze(student: Tagger, recipe: Recipe, base: bool) -> None:
    """Take what must not move out of training."""
    if recipe.freeze_old_rows and not base:
        student.head.old.requires_grad_(False)
    if recipe.freeze_embeddings:
        student.network.get_input_embeddings().requires_grad_(False)


def _optimizer(student: Tagger, recipe: Recipe) -> torch.optim.Optimizer:
    """Return the optimizer; each group knows by ``factor`` how much faster than the encoder it learns."""
    groups: list[dict[str, Any]] = []
    for module, factor in ((student.body, 1.0), (student.head, recipe.head_factor)):
        parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        matrices, vectors = [p for p in parameters if p.ndim > 1], [p for p in parameters if p.ndim <= 1]
        spared = 0.0 if recipe.optimizer == "adamw" else recipe.weight_decay
        groups.append({"params": matrices, "weight_decay": recipe.weight_decay, "factor": factor})
        groups.append({"params": vectors, "weight_decay": spared, "factor": factor})
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(groups, recipe.lr, recipe.momentum)
    return torch.optim.AdamW(groups, recipe.lr, fused=True)
