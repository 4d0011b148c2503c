"""`learn`: from a version and some data to the next version."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from retainer.comparison.task_effect import MeasuredEffect, measure_effect, task_effect
from retainer.errors import InputError, LostProcess, disk_refusals
from retainer.files import require_free, require_room
from retainer.methods import DEFAULT_METHOD, Method
from retainer.model.tagger import Tagger
from retainer.runtime import repeatable, versions
from retainer.training.checkpoint import Checkpoint, key_of
from retainer.training.learn_task import LearnTask
from retainer.training.loop import Diverged, TrainingLoop
from retainer.training.mention_swaps import with_swaps
from retainer.training.prepare import Rehearsal, prepare
from retainer.training.prevalence import prevalence
from retainer.training.progress import Progress
from retainer.training.recipe import Recipe
from retainer.training.rehearsal import synthetic_sentences, with_generator
from retainer.training.reproduce import Reproduction, record_of
from retainer.training.request import Data, LearnRequest, RunOptions
from retainer.training.run_lock import lock_file, run_lock
from retainer.training.settled import settled
from retainer.training.text import Text
from retainer.versions.lineage import RECORD_FILE, Lineage
from retainer.versions.stored_parent import require_storable_parent
from retainer.versions.version import Version

Trained = tuple[Tagger, TrainingLoop]
"""A trained student, and the loop that trained it."""


def learn(
    data: Data,
    start: Version | str | Path = "builtin",
    *,
    types: Sequence[str] | None = None,
    method: Method | str = DEFAULT_METHOD,
    dev: Data | None = None,
    recipe: Recipe | None = None,
    seed: int = 0,
    device: str = "auto",
    out: str | Path | None = None,
    state_folder: str | Path | None = None,
    progress: Progress | None = None,
    checkpoint_seconds: float = 60.0,
    keep_parent: bool = False,
    measure: bool = True,
    reproduces: Reproduction | None = None,
    exemplars: Data | None = None,
    text: Text | None = None,
) -> Version:
    """Teach a version the new types of some data, and return the next version (written to ``out`` if given).

    The data need only the new types annotated: O means "not annotated", not "no entity". Old types may be annotated
    too, and are gold where they are; of those that ``types`` names every entity is, so a word without one is truly not
    of that type, and there need be no new type at all. A bare encoder learns its first types with plain cross-entropy,
    whatever the method. A run that was killed resumes where it was, if it is started again with the same data, values
    and ``out`` (or ``state_folder``, where its state is kept; beside ``out`` unless given). ``keep_parent`` puts into
    ``out`` what `retainer rollback` needs to write the previous version again. At the end both versions look at the dev
    set once, to report what was kept and gained and how scores become probabilities; ``measure=False`` leaves that out.
    ``reproduces`` refuses other data and another start than those of the run it repeats. ``exemplars`` are annotated
    sentences of old types, if some could be kept: they join the data, and whether a word without annotation there is of
    a new type stays open. ``text`` has no annotation, or none that counts: a file, a folder, a corpus or strings. Every
    step shows some of it, and the student learns there what the old version says about old types.
    """
    request = LearnRequest(data, start, types, method, recipe or Recipe(), seed, dev, exemplars, device, text)
    options = RunOptions(
        out=None if out is None else Path(out),
        keep_parent=keep_parent,
        state_folder=None if state_folder is None else Path(state_folder),
        checkpoint_seconds=checkpoint_seconds,
        progress=progress or Progress(),
        measure=measure,
        reproduces=reproduces,
    )
    return learn_version(request, options)


def learn_version(request: LearnRequest, options: RunOptions) -> Version:
    """Carry out a request, and return the next version."""
    if options.out is not None and options.ranks.leads:
        _forget_finished_run(request, options.out, options.state)
        require_free(options.out)
    if options.reproduces is not None:
        options.reproduces.require_prior_source(request.given)
    task = request.resolve()
    if options.keep_parent and options.out is None:
        raise InputError("keep_parent needs a folder (out) to store the previous version in")
    parent = require_storable_parent(task.version.place, task.version.types) if options.keep_parent else None
    if options.reproduces is not None:
        options.reproduces.check(task.facts, task.version.lineage.own_hash, options.progress)
    for warning in task.warnings:
        options.progress.warn(warning)
    for note in task.notes:
        options.progress.note(note)
    run = _Run(task, options)
    if options.state is None or not options.ranks.leads:
        return run.without_writing()
    with run_lock(options.state, options.out or options.state):
        return _learn_and_write(run, options, parent)


def _forget_finished_run(request: LearnRequest, out: Path, state: Path | None) -> None:
    """Remove the state of a run that was killed when its version was already written; of any other it stays."""
    if state is None or not lock_file(state).is_file() or not (out / RECORD_FILE).is_file():
        return
    with contextlib.suppress(InputError):
        record, facts = record_of(out / RECORD_FILE).record, json.loads(json.dumps(request.resolve().facts))
        if all(record.get(name, value) == value for name, value in facts.items()):
            with run_lock(state, out):
                shutil.rmtree(state, ignore_errors=True)


def _learn_and_write(run: _Run, options: RunOptions, parent: Path | None) -> Version:
    """Learn, and write the version if that was asked for; whatever stops this, the last finished epoch is kept."""
    if options.out is not None:
        require_free(options.out)  # another process may have been there before the lock
        require_room(options.out, _size(run.task.version.tagger))
    try:
        version = run.repeatable_if_possible()
        if options.out is not None:
            with disk_refusals(options.out):
                version.save(options.out, keep_parent=parent)
    except Diverged:
        raise
    except (KeyboardInterrupt, InputError, LostProcess, OSError):
        if run.checkpoint is not None:
            run.checkpoint.flush()
        raise
    if run.checkpoint is not None:
        run.checkpoint.remove()
    if options.out is not None:
        options.progress.learned(version, options.out)
    return version


@dataclass(frozen=True)
class _Run:
    """One task on its way to a version: in one stage, or in two if the method rehearses what is old."""

    task: LearnTask
    options: RunOptions

    @cached_property
    def checkpoint(self) -> Checkpoint | None:
        """Where the state of the run is kept, if anywhere."""
        folder, seconds = self.options.state, self.options.checkpoint_seconds
        if folder is None:
            return None
        interval = seconds if self.options.ranks.leads else math.inf
        return Checkpoint(folder, key_of(self.task.facts), interval, self.options.progress.warn)

    def without_writing(self) -> Version:
        """Learn without writing anything; if the first process of the run is gone, keep the state in its place."""
        try:
            return self.repeatable_if_possible()
        except LostProcess:
            if self.checkpoint is not None and self.options.ranks.takes_over():
                self.checkpoint.flush()
            raise

    def repeatable_if_possible(self) -> Version:
        """Train with repeatable kernels alone; an encoder that has an operation without one trains all the same."""
        try:
            return self.learned()
        except RuntimeError as error:
            if "deterministic" not in str(error):
                raise
            reason = str(error).splitlines()[0]
            self.options.progress.note(f"the same seed will not give quite the same result here: {reason}")
            return self.learned(strict=False)

    def learned(self, *, strict: bool = True) -> Version:
        """Train, and return the new version with its lineage."""
        task = self.task
        with repeatable(task.version.tagger.device, task.seed, strict=strict):
            student, loop = self._rehearsed() if task.method.reviews else self._trained(self.checkpoint)
            student, offsets, share = settled(student, task, self.options.ranks)
            lineage = _lineage(task, loop, student, self.options.measure and self.options.ranks.leads)
            version = Version(student, dataclasses.replace(lineage, prior=offsets, blend=share))
            if not task.method.reviews:
                return version
            version = Version(student, version.lineage, task.version.generators)
            return with_generator(version, task.data.train, task.taught, task.seed)

    def _rehearsed(self) -> Trained:
        """Learn, then learn again with a rehearsal of what is old."""
        task, note = self.task, self.options.progress.note
        previous = task.version
        if previous.generators:
            first, _ = self._trained(None)  # a killed run learns it again, which gives the same
            note("reviewing the old types")
            sentences = synthetic_sentences(previous, len(task.data.train), task.seed)
            return self._trained(self.checkpoint, Rehearsal(sentences, first))
        if previous.types:
            note(
                "the model keeps no language model of its old types, so there is nothing to review; versions learned "
                "with this method, the first one too, keep one"
            )
        return self._trained(self.checkpoint)

    def _trained(self, checkpoint: Checkpoint | None, rehearsal: Rehearsal | None = None) -> Trained:
        task, progress = self.task, self.options.progress
        prepared = prepare(task.version.tagger, with_swaps(task), task.method, task.recipe, rehearsal)
        loop = TrainingLoop(prepared, task.recipe, task.seed, progress, self.options.ranks)
        progress.start(f"learning {', '.join(task.taught)}", loop.steps * task.recipe.epochs)
        try:
            return loop.run(checkpoint), loop
        except Diverged as error:
            raise self._with_last_good(error, loop) from None
        finally:
            progress.finish()

    def _with_last_good(self, error: Diverged, loop: TrainingLoop) -> Diverged:
        """Save the last epoch before the loss broke, if there is one, and say where."""
        if self.options.out is None or self.options.state is None or not loop.epoch:
            return error
        place = self.options.state / f"epoch-{loop.epoch}"
        if self.options.ranks.leads and not place.exists():
            student = loop.student.settled().eval()
            Version(student, _lineage(self.task, loop, student)).save(place)
        return Diverged(f"{error}; the last good epoch is kept in {place}")


def _size(tagger: Tagger) -> int:
    """Return the bytes of the weights of a tagger, which the next version will have too, and a little more."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tagger.state_dict().values())


def _lineage(task: LearnTask, loop: TrainingLoop, student: Tagger, measured: bool = True) -> Lineage:
    """Write down where the new version comes from."""
    record = task.version.child_record(**{name: value for name, value in task.facts.items() if name != "new"})
    tasks = [tuple(type_ for type_ in types if type_ not in task.new) for types in record.tasks]
    seen = measure_effect(task.version.tagger, student, task.measured_on, task.annotated) if measured else None
    return dataclasses.replace(
        record,
        task=len(tasks) + 1,
        tasks=(*tasks, task.new),
        pending=tuple(type_ for type_ in record.pending if type_ not in task.new),
        scores={
            "dev": loop.stopping.best or (0.0 if loop.task.dev else None),
            "epoch": loop.kept_epoch,
            **({"per_type": {}} if seen is None else _scores(task, seen) | {"prevalence": prevalence(student, task)}),
            "changed_by_growing": loop.task.changed,
            "batch": loop.recipe.batch,
            **({} if loop.ranks.size == 1 else {"processes": loop.ranks.size}),
            "history": loop.history,
        },
        calibration=_calibration(task, seen),
        versions=versions("peft") if task.recipe.adapter_rank else record.versions,
    )


def _calibration(task: LearnTask, seen: MeasuredEffect | None) -> dict[str, Any]:
    """Return how scores become probabilities: for what was taught as the dev set shows, else as before."""
    before = {t: curve for t, curve in task.version.lineage.calibration.items() if t in task.version.types}
    found = {} if seen is None or task.dev is None else seen.curves  # on its training data a model is too sure
    return {**before, **{type_: curve for type_, curve in found.items() if type_ in task.taught}}


def _scores(task: LearnTask, seen: MeasuredEffect) -> dict[str, Any]:
    """Return the scores of the types annotated in the dev set, those of old ones before, and what the task did."""
    after, before = (scores.as_dict()["per_type"] for scores in (seen.after, seen.before))
    new = {type_: row for type_, row in after.items() if task.dev and type_ in task.annotated and row["support"]}
    data = {"sentences": len(task.measured_on), "place": task.place}
    old = {type_: before[type_] for type_ in new if type_ in task.version.types}
    return {
        "per_type": new,
        **({"before": old} if old or task.dev_given else {}),
        "balance": task_effect(seen, task.taught, task.annotated, data),
    }
