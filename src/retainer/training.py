"""The only training loop, and `learn`: from a version and some data to the next version."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from retainer.checkpoint import Checkpoint, State, Tensors, key_of, pack_optimizer, unpack_optimizer
from retainer.corpora import Corpus, fingerprint, read
from retainer.errors import InputError
from retainer.files import require_free
from retainer.lesson import Lesson, hold_out, prepare
from retainer.lineage import Lineage
from retainer.methods import IGNORE, METHODS, Clock, Method, Tokens
from retainer.methods import method as find_method
from retainer.model import Tagger
from retainer.outputs import Outputs
from retainer.predict import evaluate, observe
from retainer.progress import Epoch, Silence
from retainer.recipe import Recipe
from retainer.runtime import pick_device, versions
from retainer.tasks import hide, require_types
from retainer.version import Version, load


class Diverged(InputError):
    """The loss is no number any more. ``version`` is the last good epoch, if one was finished."""

    version: Version | None = None


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
            group["lr"] = self.recipe.rate(progress, clock.epoch, base=self.lesson.base)
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
        """Score the dev set; a strictly better epoch becomes the one to keep."""
        self.facts["epoch"] += 1
        value, dev = None, self.lesson.dev
        if dev is not None:
            value = evaluate(self.student, dev.sentences, dev.encoded, dev.types).micro_of(dev.types)
        better = value is not None and (self.facts["best"] is None or value > self.facts["best"])
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
    chain = itertools.chain(student.body.parameters(), student.head.parameters())
    parameters = [parameter for parameter in chain if parameter.requires_grad]
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(parameters, recipe.lr, recipe.momentum, weight_decay=recipe.weight_decay)
    matrices = {"params": [p for p in parameters if p.ndim > 1], "weight_decay": recipe.weight_decay}
    vectors = {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0}
    return torch.optim.AdamW([matrices, vectors], lr=recipe.lr, fused=True)


# ------------------------------------------------------------------------------------------------------------- learn


def learn(
    data: Corpus | str | Path,
    start: Version | str | Path = "builtin",
    *,
    types: Sequence[str] | None = None,
    method: Method | str = "rdp",
    dev: Corpus | str | Path | None = None,
    recipe: Recipe | None = None,
    seed: int = 0,
    device: str = "auto",
    out: str | Path | None = None,
    watch: Silence | None = None,
    checkpoint_seconds: float = 60.0,
) -> Version:
    """Teach a version the new types of some data, and return the next version (written to ``out`` if given).

    The data need only the new types annotated: O means "not annotated", not "no entity". A bare encoder learns its
    first types with plain cross-entropy, whatever the method. A run that was killed goes on where it was, if it is
    started again with the same data, numbers and ``out``.
    """
    recipe, watch = recipe or Recipe(), watch or Silence()
    folder = None if out is None else require_free(out)
    corpus = data if isinstance(data, Corpus) else read(data)
    dev = read(dev) if isinstance(dev, str | Path) else dev
    way = find_method(method) if isinstance(method, str) else method
    version = start if isinstance(start, Version) else load(start, device=device, head=recipe.head)
    version.tagger.to(pick_device(device))
    if way.joint and version.types:
        version = _from_encoder(version, corpus, device, recipe)
    new = _new_types(version, corpus, types)
    shown = hide(corpus, types or corpus.types)
    train, dev = hold_out(shown, recipe.holdout, seed) if dev is None else (shown, dev)
    lesson = prepare(version.tagger, train, dev, new, way, recipe)
    facts = _facts(version, corpus, dev, new, way, recipe, seed)
    training = Training(lesson, recipe, seed, watch)
    watch.start(f"learning {', '.join(new)}", training.steps * recipe.epochs)
    checkpoint = folder and Checkpoint(_partial(folder), key_of(facts), checkpoint_seconds)
    try:
        student = training.run(checkpoint or None)
    except Diverged as error:
        raise _keep_last_good(error, training, version, facts, folder) from None
    finally:
        watch.finish()
    learned = Version(student, _lineage(version, training, facts))
    if folder is not None:
        learned.save(folder)
    if checkpoint:
        checkpoint.remove()
    return learned


def _partial(folder: Path) -> Path:
    return folder.with_name(folder.name + ".partial")


def _new_types(version: Version, corpus: Corpus, types: Sequence[str] | None) -> tuple[str, ...]:
    chosen = tuple(types) if types else corpus.types
    require_types(corpus, chosen)
    new = tuple(type_ for type_ in chosen if type_ not in version.types)
    if not new:
        raise InputError(
            f"no type of {corpus.source} ({', '.join(chosen)}) is new to the model, which already knows "
            f"{', '.join(version.types)}"
        )
    return new


def _from_encoder(version: Version, corpus: Corpus, device: str, recipe: Recipe) -> Version:
    """Go back to the bare encoder a version began with: joint training starts over, with all types annotated."""
    if missing := [type_ for type_ in version.types if type_ not in corpus.counts]:
        raise InputError(
            f"method joint learns all types at once and needs them all annotated, but {corpus.source} has no "
            f"{missing[0]!r}; use another method, or --from a bare encoder"
        )
    if not version.lineage.encoder:
        raise InputError("this model does not say which encoder it began with; give method joint a bare one (--from)")
    return load(version.lineage.encoder, device=device, head=recipe.head)


def _facts(
    version: Version, corpus: Corpus, dev: Corpus | None, new: Sequence[str], way: Method, recipe: Recipe, seed: int
) -> dict[str, Any]:
    """Collect everything that determines the run."""
    return {
        "parent": _weights_hash(version.tagger),
        "new": list(new),
        "data": {
            "sha256": fingerprint(corpus),
            "sentences": len(corpus),
            "entities": dict(sorted(corpus.counts.items())),
            "dev": fingerprint(dev) if dev is not None else "",
        },
        "method": next((name for name, known in METHODS.items() if known == way), type(way).__name__),
        "fields": dataclasses.asdict(way),
        "recipe": dataclasses.asdict(recipe),
        "seed": seed,
    }


def _weights_hash(tagger: Tagger) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(tagger.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _lineage(version: Version, training: Training, facts: dict[str, Any]) -> Lineage:
    before = version.lineage
    tasks = before.tasks or ((tuple(version.types),) if version.types else ())
    return Lineage(
        encoder=before.encoder,
        parent=before.weights or facts["parent"],
        task=len(tasks) + 1,
        tasks=(*tasks, tuple(facts["new"])),
        data=facts["data"],
        method=facts["method"],
        fields=facts["fields"],
        recipe=facts["recipe"],
        seed=facts["seed"],
        scores={
            "dev": training.facts["best"],
            "epoch": training.facts["best_epoch"] or training.facts["epoch"],
            "changed_by_growing": training.lesson.changed,
            "history": training.facts["history"],
        },
        versions=versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _keep_last_good(
    error: Diverged, training: Training, version: Version, facts: dict[str, Any], folder: Path | None
) -> Diverged:
    """Save the last epoch before the loss broke, and say where."""
    if not training.facts["epoch"]:
        return error
    error.version = Version(training.student.settled().eval(), _lineage(version, training, facts))
    if folder is None:
        return error
    place = _partial(folder) / f"epoch-{training.facts['epoch']}"
    if not place.exists():
        error.version.save(place)
    told = Diverged(f"{error}; the last good epoch is kept in {place}")
    told.version = error.version
    return told
