"""One step of training, as work for the device alone.

A step reads everything that changes from step to step out of tensors and never asks the device for a number. So it
can be recorded once for every shape of a batch and replayed (``speed.cuda_graph``).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from retainer.methods import IGNORE, Clock, Tokens
from retainer.model.adapters import FASTER, adapter_parameters
from retainer.model.batches import Batch, Encoded
from retainer.model.predict import run_tagger
from retainer.model.tagger import Tagger
from retainer.model.tagger_output import TaggerOutput
from retainer.training.embedding_gradient import repeatable_embeddings
from retainer.training.prepare import PreparedTask
from retainer.training.ranks import ALONE, Ranks
from retainer.training.recipe import Recipe
from retainer.training.second_look import SecondLook
from retainer.training.speed.mixed_precision import FullPrecision, MixedPrecision, has_bfloat16
from retainer.training.teacher_targets import merge_into_outside


class TrainingStep:
    """Forward, losses, backward, update. ``log`` holds the terms of every step of the epoch, in the order of names."""

    names: tuple[str, ...] = ()
    log: Tensor

    def __init__(self, task: PreparedTask, slice_: Encoded, recipe: Recipe, ranks: Ranks = ALONE) -> None:
        self.task, self.slice, self.recipe, self.ranks = task, slice_, recipe, ranks
        student, device = task.student, task.student.device
        _freeze(student, recipe, task)
        half = recipe.precision == "auto" and has_bfloat16(device)
        self.arithmetic = MixedPrecision(student) if half else FullPrecision(student)
        self.optimizer = _optimizer(student, recipe, recipe.head_factor * task.method.head_speed)
        self.asks = device.type == "cpu"
        """Whether a step may ask the device for a number; one that is recorded cannot."""
        self.steps = slice_.steps(recipe.batch)
        self.rates = _rates(recipe, self.steps, self.optimizer, task.base).to(device)
        self.rate = self.rates[0].clone()
        self.step = torch.zeros(1, dtype=torch.long, device=device)
        wanted = "epoch_vectors" in task.method.needs
        self.epoch_vectors = torch.empty(slice_.word_count if wanted else 0, student.width, device=device)

    def begin(self, epoch: int) -> None:
        """Get ready for the first step of an epoch."""
        self.step.fill_(epoch * self.steps)
        if len(self.epoch_vectors):
            self.epoch_vectors.copy_(run_tagger(self.task.student, self.slice, hidden=True).hidden)
        self.arithmetic.tagger.train()
        self.arithmetic.refresh()

    def __call__(self, windows: Tensor, length: int) -> None:
        """Make one step; nothing in here waits for the device."""
        self.arithmetic.clear()
        with repeatable_embeddings(windows.device):
            terms = self._terms(windows, length)
        values = torch.stack(list(terms.values()))
        values.sum().backward()  # type: ignore[no-untyped-call]
        self.arithmetic.collect()
        values = self.ranks.add_up(self._parameters, values.detach())
        self._update()
        self.arithmetic.refresh()
        self._note(terms, values)
        self.step += 1

    def _terms(self, windows: Tensor, length: int) -> dict[str, Tensor]:
        task = self.task
        batch = self.slice.batch(self.ranks.part(windows), length)
        if idle := self.ranks.is_idle(windows):
            batch = replace(batch, words=torch.full_like(batch.words, -1))
        rows = batch.words.flatten()
        labels = task.tokens.labels[rows.clamp(min=0)].masked_fill(rows < 0, IGNORE)
        given = Tokens(labels, rows, task.tokens.outside, task.tokens.old, total=self.ranks.total)
        student = self._with_open_labels(self._student_output(batch, given, len(windows)), given)
        if idle and student.mask is not None:
            student = replace(student, mask=torch.zeros_like(student.mask))
        clock = Clock(self.step // self.steps, self.recipe.epochs, self.step, self.recipe.epochs * self.steps)
        with torch.no_grad():
            teacher = task.teacher.outputs(batch, task.method.needs)
            targets = task.method.targets(given, teacher, task.memory, clock)
        return task.method.losses(student, teacher, given, targets)

    def _student_output(self, batch: Batch, given: Tokens, size: int) -> TaggerOutput:
        """Return the student's output for a batch, and for what else the method wants it to look at.

        ``size`` is that of the batch of all processes.
        """
        method, tagger = self.task.method, self.arithmetic.tagger
        gone = method.leave_out(given)
        look = None if gone is None else self._second_look(batch, gone.view_as(batch.ids), size)
        if look is None:
            student = tagger.outputs(batch, method.needs)
        else:
            student = look.outputs(tagger, batch, method.needs, at_once=self.asks)
        if (matches := method.matches(given, self.task.memory)) is not None:
            with torch.no_grad():
                student = replace(student, matched=tagger.head(self.epoch_vectors[matches.clamp(min=0)]))
        return student

    def _second_look(self, batch: Batch, gone: Tensor, size: int) -> SecondLook | None:
        """Return the second look at a batch, or at a part of it; None where nothing is left out.

        The part is a random one, for batches are shuffled.
        """
        share = self.task.method.look_share
        if share is None:
            return SecondLook.at_all(self.slice, batch, gone)
        most = self.ranks.rows_among(max(1, round(share * self._own_rows(size))))
        return SecondLook.at_first(self.slice, batch, gone, most, asks=self.asks)

    def _own_rows(self, rows: int) -> int:
        """Return how many windows of a batch are of the slice; those shown beside it come behind them."""
        return rows - self.task.beside_per_step(self.recipe.batch)

    def _with_open_labels(self, student: TaggerOutput, given: Tokens) -> TaggerOutput:
        """Merge into O the new labels that stay possible at O words; where none does, return the very same."""
        if self.task.open is None:
            return student
        open_ = self.task.open.at(given.rows) & given.unannotated.unsqueeze(-1)
        logits = merge_into_outside(student.logits, open_, given.outside)
        second = student.second_view and self._with_open_labels(student.second_view, given)
        return replace(student, logits=logits, second_view=second)

    @cached_property
    def _parameters(self) -> list[Tensor]:
        """What the optimizer moves."""
        return [parameter for group in self.optimizer.param_groups for parameter in group["params"]]

    def _update(self) -> None:
        groups = self.optimizer.param_groups
        self.rate.copy_(self.rates.index_select(0, self.step)[0])
        for group, rate in zip(groups, self.rate.unbind(), strict=True):
            group["lr"] = rate
        if self.recipe.clip:
            nn.utils.clip_grad_norm_((p for group in groups for p in group["params"]), self.recipe.clip)
        self.optimizer.step()

    def _note(self, terms: dict[str, Tensor], values: Tensor) -> None:
        if not self.names:
            self.names, self.log = tuple(terms), values.new_zeros(self.steps, len(values))
        self.log.index_copy_(0, self.step % self.steps, values.unsqueeze(0))


def _freeze(student: Tagger, recipe: Recipe, task: PreparedTask) -> None:
    """Take what must not move out of training, and back in what did not move in an earlier task."""
    only_new = task.method.trainable == "new rows"
    student.body.requires_grad_(not only_new and not recipe.adapter_rank)
    for parameter in adapter_parameters(student.body):
        parameter.requires_grad_(True)
    if (recipe.freeze_old_rows or only_new) and not task.base:
        student.head.old.requires_grad_(False)
    if recipe.freeze_embeddings:
        student.network.get_input_embeddings().requires_grad_(False)


def _rates(recipe: Recipe, steps: int, optimizer: torch.optim.Optimizer, base: bool) -> Tensor:
    """Return the learning rate of every step of the run and every group of the optimizer."""
    total = recipe.epochs * steps
    rates = torch.tensor([recipe.rate(step / total, step // steps, base=base) for step in range(total)])
    return rates.unsqueeze(1) * torch.tensor([group["factor"] for group in optimizer.param_groups])


def _optimizer(student: Tagger, recipe: Recipe, head_factor: float) -> torch.optim.Optimizer:
    """Return the optimizer; each group knows by ``factor`` how much faster than the encoder it learns."""
    groups: list[dict[str, Any]] = []
    body_factor = FASTER if recipe.adapter_rank else 1.0
    for module, factor in ((student.body, body_factor), (student.head, head_factor)):
        parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        matrices, vectors = [p for p in parameters if p.ndim > 1], [p for p in parameters if p.ndim <= 1]
        spared = 0.0 if recipe.optimizer == "adamw" else recipe.weight_decay
        groups.append({"params": matrices, "weight_decay": recipe.weight_decay, "factor": factor})
        groups.append({"params": vectors, "weight_decay": spared, "factor": factor})
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(groups, recipe.lr, recipe.momentum, fused=True)
    return torch.optim.AdamW(groups, recipe.lr, fused=True, capturable=student.device.type == "cuda")
