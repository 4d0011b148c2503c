"""`learn`: from a version and some data to the next version."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from retainer.comparison.task_effect import MeasuredEffect, measure_effect, task_effect
from retainer.data.corpus import Corpus
from retainer.errors import InputError
from retainer.files import require_free
from retainer.methods import Method
from retainer.model.tagger import Tagger
from retainer.runtime import repeatable
from retainer.training.checkpoint import Checkpoint, key_of
from retainer.training.loop import Diverged, TrainingLoop
from retainer.training.prepare import Rehearsal, prepare
from retainer.training.progress import Progress
from retainer.training.recipe import Recipe
from retainer.training.rehearsal import synthetic_sentences, with_generator
from retainer.training.reproduce import Reproduction
from retainer.training.request import LearnTask, job_of
from retainer.versions.lineage import Lineage
from retainer.versions.stored_parent import require_storable_parent
from retainer.versions.version import Version


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
    partial: str | Path | None = None,
    watch: Progress | None = None,
    checkpoint_seconds: float = 60.0,
    keep_parent: bool = False,
    measured: bool = True,
    replay: Reproduction | None = None,
    exemplars: Corpus | str | Path | None = None,
) -> Version:
    """Teach a version the new types of some data, and return the next version (written to ``out`` if given).

    The data need only the new types annotated: O means "not annotated", not "no entity". Old types may be annotated
    too, and are gold where they are; of those that ``types`` names every entity is, so a word without one is none, and
    there need be no new type at all. A bare encoder learns its first types with plain cross-entropy, whatever the
    method. A run that was killed goes on where it was, if it is
    started again with the same data, numbers and ``out`` (or ``partial``, the folder of its state, which is beside
    ``out`` unless given). ``keep_parent`` puts into ``out`` what `retainer rollback` needs to write the version before
    this one again. At the end both versions look at the dev set once, to say what was kept and gained and how scores
    become probabilities; who measures by other means says ``measured=False``. A ``replay`` refuses other data and
    another start than those of the run it repeats. ``exemplars`` are annotated sentences of old types, if some could be
    kept: they join the data, and whether a word without annotation there is of a new type stays open.
    """
    folder = None if out is None else require_free(out)
    job = job_of(data, start, types, method, dev, recipe or Recipe(), seed, device, exemplars)
    if keep_parent and folder is None:
        raise InputError("keep_parent needs a folder to put the version before into (out)")
    parent = require_storable_parent(job.version.place, job.version.types) if keep_parent else None
    watch = watch or Progress()
    if replay is not None:
        replay.check(job.facts, job.version.lineage.own_hash, watch.note)
    for note in job.notes:
        watch.note(note)
    state = Path(partial) if partial is not None else folder and _partial(folder)
    checkpoint = None if state is None else Checkpoint(state, key_of(job.facts), checkpoint_seconds)
    try:
        learned = _learned(job, folder, checkpoint, watch, measured)
    except RuntimeError as error:
        if "deterministic" not in str(error):
            raise
        watch.note(f"the same seed will not give quite the same result here: {str(error).splitlines()[0]}")
        learned = _learned(job, folder, checkpoint, watch, measured, strict=False)
    if folder is not None:
        learned.save(folder, keep_parent=parent)
    if checkpoint is not None:
        checkpoint.remove()
    return learned


def _learned(
    job: LearnTask,
    folder: Path | None,
    checkpoint: Checkpoint | None,
    watch: Progress,
    measured: bool,
    *,
    strict: bool = True,
) -> Version:
    """Learn in one stage, or in two if the method reviews what is old."""
    learn_it = _reviewed if job.method.reviews else _train
    with repeatable(job.version.tagger.device, job.seed, strict=strict):
        student, training = learn_it(job, folder, checkpoint, watch)
        learned = Version(student, _lineage(job, training, student, measured))
        if not job.method.reviews:
            return learned
        return with_generator(
            Version(student, learned.lineage, job.version.generators), job.train, job.taught, job.seed
        )


def _reviewed(
    job: LearnTask, folder: Path | None, checkpoint: Checkpoint | None, watch: Progress
) -> tuple[Tagger, TrainingLoop]:
    """Learn, then learn again with a review of what is old."""
    before = job.version
    if before.generators:
        first, _ = _train(job, folder, None, watch)  # a killed run learns it again, which gives the same
        watch.note("reviewing the old types")
        review = Rehearsal(synthetic_sentences(before, len(job.train), job.seed), first)
        return _train(job, folder, checkpoint, watch, review)
    if before.types:
        watch.note(
            "the model keeps no language model of its old types, so there is nothing to review; versions learned "
            "with this method, the first one too, keep one"
        )
    return _train(job, folder, checkpoint, watch)


def _train(
    job: LearnTask, folder: Path | None, checkpoint: Checkpoint | None, watch: Progress, review: Rehearsal | None = None
) -> tuple[Tagger, TrainingLoop]:
    start, data = job.version.tagger, (job.train, job.chooser)
    lesson = prepare(start, *data, job.new, job.method, job.recipe, review, job.seeds, job.truth)
    training = TrainingLoop(lesson, job.recipe, job.seed, watch)
    watch.start(f"learning {', '.join(job.taught)}", training.steps * job.recipe.epochs)
    try:
        return training.run(checkpoint), training
    except Diverged as error:
        raise _with_last_good(error, training, job, folder) from None
    finally:
        watch.finish()


def _partial(folder: Path) -> Path:
    """Return where an unfinished run keeps its state."""
    return folder.with_name(folder.name + ".partial")


def _lineage(job: LearnTask, training: TrainingLoop, student: Tagger, measured: bool = True) -> Lineage:
    """Write down where the new version comes from."""
    record = job.version.child_record(**{name: value for name, value in job.facts.items() if name != "new"})
    tasks = [tuple(type_ for type_ in task if type_ not in job.new) for task in record.tasks]
    seen = measure_effect(job.version.tagger, student, job.dev or job.train, job.told) if measured else None
    return dataclasses.replace(
        record,
        task=len(tasks) + 1,
        tasks=(*tasks, job.new),
        pending=tuple(type_ for type_ in record.pending if type_ not in job.new),
        scores={
            "dev": training.facts["best"] or (0.0 if training.lesson.dev else None),
            "epoch": training.facts["best_epoch"] or training.facts["epoch"],
            **({"per_type": {}} if seen is None else _scores(job, seen)),
            "changed_by_growing": training.lesson.changed,
            "batch": training.recipe.batch,
            "history": training.facts["history"],
        },
        calibration=_calibration(job, seen),
    )


def _calibration(job: LearnTask, seen: MeasuredEffect | None) -> dict[str, Any]:
    """Return how scores become probabilities: for what was taught as the dev set tells, else as before."""
    before = {t: one for t, one in job.version.lineage.calibration.items() if t in job.version.types}
    found = {} if seen is None or job.dev is None else seen.curves  # of what it has learned by heart, it is too sure
    return {**before, **{type_: one for type_, one in found.items() if type_ in job.taught}}


def _scores(job: LearnTask, seen: MeasuredEffect) -> dict[str, Any]:
    """Return the scores of the types the dev set tells something about, those of old ones before, and the balance."""
    after, before = (one.as_dict()["per_type"] for one in (seen.after, seen.before))
    told = {type_: one for type_, one in after.items() if job.dev and type_ in job.told and one["support"]}
    data = {"sentences": len(job.dev or job.train), "place": job.place}
    old = {type_: before[type_] for type_ in told if type_ in job.version.types}
    return {
        "per_type": told,
        **({"before": old} if old or job.dev_given else {}),
        "balance": task_effect(seen, job.taught, job.told, data),
    }


def _with_last_good(error: Diverged, training: TrainingLoop, job: LearnTask, folder: Path | None) -> Diverged:
    """Save the last epoch before the loss broke, if there is one, and say where."""
    epoch = training.facts["epoch"]
    if folder is None or not epoch:
        return error
    place = _partial(folder) / f"epoch-{epoch}"
    if not place.exists():
        student = training.student.settled().eval()
        Version(student, _lineage(job, training, student)).save(place)
    return Diverged(f"{error}; the last good epoch is kept in {place}")
