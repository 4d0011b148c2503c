"""`learn`: from a version and some data to the next version."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from retainer.checkpoint import Checkpoint, key_of
from retainer.corpora import Corpus, fingerprint, read
from retainer.errors import InputError
from retainer.files import require_free
from retainer.keep import require_keepable
from retainer.lesson import Review, Seeds, hold_out, prepare, set_aside
from retainer.lineage import Lineage
from retainer.methods import METHODS, Method
from retainer.methods import method as find_method
from retainer.onnx import Exported
from retainer.progress import Silence
from retainer.recipe import Recipe
from retainer.review import made_up, remember
from retainer.runtime import pick_device, repeatable
from retainer.tasks import hide, require_types
from retainer.training import Diverged, Training
from retainer.version import Version, load


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
    watch: Silence | None = None,
    checkpoint_seconds: float = 60.0,
    keep_parent: bool = False,
) -> Version:
    """Teach a version the new types of some data, and return the next version (written to ``out`` if given).

    The data need only the new types annotated: O means "not annotated", not "no entity". A bare encoder learns its
    first types with plain cross-entropy, whatever the method. A run that was killed goes on where it was, if it is
    started again with the same data, numbers and ``out`` (or ``partial``, the folder of its state, which is beside
    ``out`` unless given). ``keep_parent`` puts into ``out`` what `retainer rollback` needs to write the version before
    this one again.
    """
    folder = None if out is None else require_free(out)
    job = _job(data, start, types, method, dev, recipe or Recipe(), seed, device)
    if keep_parent and folder is None:
        raise InputError("keep_parent needs a folder to put the version before into (out)")
    parent = require_keepable(job.version.place, job.version.types) if keep_parent else None
    watch = watch or Silence()
    state = Path(partial) if partial is not None else folder and _partial(folder)
    checkpoint = None if state is None else Checkpoint(state, key_of(job.facts), checkpoint_seconds)
    try:
        learned = _learned(job, folder, checkpoint, watch)
    except RuntimeError as error:
        if "deterministic" not in str(error):
            raise
        watch.note(f"the same seed will not give quite the same result here: {str(error).splitlines()[0]}")
        learned = _learned(job, folder, checkpoint, watch, strict=False)
    if folder is not None:
        learned.save(folder, keep_parent=parent)
    if checkpoint is not None:
        checkpoint.remove()
    return learned


def _learned(
    job: _Job, folder: Path | None, checkpoint: Checkpoint | None, watch: Silence, *, strict: bool = True
) -> Version:
    """Learn in one stage, or in two if the method reviews what is old."""
    learn_it = _reviewed if job.method.reviews else _train
    with repeatable(job.version.tagger.device, job.seed, strict=strict):
        return learn_it(job, folder, checkpoint, watch)


def _reviewed(job: _Job, folder: Path | None, checkpoint: Checkpoint | None, watch: Silence) -> Version:
    """Learn, then learn again with a review of what is old; and remember what is new for the next time."""
    before = job.version
    if before.generators:
        first = _train(job, folder, None, watch)  # a killed run learns it again, which gives the same
        watch.note("reviewing the old types")
        review = Review(made_up(before, len(job.train), job.seed), first.tagger)
        learned = _train(job, folder, checkpoint, watch, review)
    else:
        if before.types:
            watch.note(
                "the model keeps no language model of its old types, so there is nothing to review; versions learned "
                "with this method, the first one too, keep one"
            )
        learned = _train(job, folder, checkpoint, watch)
    return remember(Version(learned.tagger, learned.lineage, before.generators), job.train, job.new, job.seed)


def _train(
    job: _Job, folder: Path | None, checkpoint: Checkpoint | None, watch: Silence, review: Review | None = None
) -> Version:
    lesson = prepare(job.version.tagger, job.train, job.dev, job.new, job.method, job.recipe, review, job.seeds)
    training = Training(lesson, job.recipe, job.seed, watch)
    watch.start(f"learning {', '.join(job.new)}", training.steps * job.recipe.epochs)
    try:
        student = training.run(checkpoint)
    except Diverged as error:
        raise _with_last_good(error, training, job, folder) from None
    finally:
        watch.finish()
    return Version(student, _lineage(job, training))


@dataclass(frozen=True)
class _Job:
    """What `learn` was asked to do, looked up and checked."""

    version: Version
    new: tuple[str, ...]
    corpus: Corpus
    train: Corpus
    dev: Corpus | None
    method: Method
    recipe: Recipe
    seed: int
    dev_given: bool
    """Whether the dev set was given, and not set aside."""
    seeds: Seeds = Seeds()

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Collect everything that determines the result."""
        return {
            "parent": self.version.fingerprint,
            "new": list(self.new),
            "data": {
                "sha256": fingerprint(self.train),
                "sentences": len(self.train),
                "entities": dict(sorted(self.train.counts.items())),
                "dev_sha256": "" if self.dev is None else fingerprint(self.dev),
                "dev_sentences": 0 if self.dev is None else len(self.dev),
            },
            "method": next((name for name, one in METHODS.items() if one == self.method), type(self.method).__name__),
            "fields": dataclasses.asdict(self.method),
            "recipe": dataclasses.asdict(self.recipe),
            "seed": self.seed,
        }


def _job(
    data: Corpus | str | Path,
    start: Version | str | Path,
    types: Sequence[str] | None,
    method: Method | str,
    dev: Corpus | str | Path | None,
    recipe: Recipe,
    seed: int,
    device: str,
) -> _Job:
    """Check everything that can be wrong before anything is computed."""
    way = find_method(method) if isinstance(method, str) else method
    corpus = data if isinstance(data, Corpus) else read(data)
    chosen = tuple(types) if types else corpus.types
    require_types(corpus, chosen)
    dev_set = dev if isinstance(dev, Corpus) or dev is None else read(dev)
    version = start if isinstance(start, Version) else load(start, device=device, head=recipe.head)
    if isinstance(version.tagger, Exported):
        raise InputError("an ONNX export cannot learn; start from the version it came from")
    version.tagger.to(pick_device(device))
    if way.quirks != version.tagger.quirks:
        raise InputError("this method repeats the defects of released code and is for `retainer bench` alone; use rdp")
    if way.joint and version.types:
        version = _from_encoder(version, corpus, device, recipe)
    new = _new_types(version, corpus, chosen)
    shown = hide(corpus, chosen)
    if dev_set is not None:
        _require_selectable(dev_set, version, new, recipe)
    given = dev_set is not None
    train, dev_set = (shown, dev_set) if given else hold_out(shown, recipe.holdout, seed)
    version, seeds = _parted(version, new)
    return _Job(version, new, corpus, train, dev_set, way, recipe, seed, given, seeds)


def _parted(version: Version, new: Sequence[str]) -> tuple[Version, Seeds]:
    """Take the types out of a version that a split made and that are to be learned now; their rows are kept."""
    waiting = [type_ for type_ in new if type_ in version.types]
    if not waiting:
        return version, Seeds()
    tagger, seeds = set_aside(version.tagger, waiting)
    return Version(tagger, version.lineage, version.generators, version.place), seeds


def _new_types(version: Version, corpus: Corpus, chosen: Sequence[str]) -> tuple[str, ...]:
    new = tuple(type_ for type_ in chosen if type_ not in version.learned_types)
    if not new:
        raise InputError(
            f"no type of {corpus.source} ({', '.join(chosen)}) is new to the model, which already knows "
            f"{', '.join(version.types)}"
        )
    return new


def _require_selectable(dev: Corpus, version: Version, new: Sequence[str], recipe: Recipe) -> None:
    """Refuse a dev set on which no epoch would be better than another."""
    wanted = {"new": [new], "all": [new, version.types or new], "last": []}[recipe.select]
    for types in wanted:
        if not any(type_ in dev.counts for type_ in types):
            raise InputError(
                f"{dev.source} has no entity of {' or '.join(types)}, so no epoch can be chosen on it; annotate some, "
                f"or leave the dev set out"
            )


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


def _partial(folder: Path) -> Path:
    """Return where an unfinished run keeps its state."""
    return folder.with_name(folder.name + ".partial")


def _lineage(job: _Job, training: Training) -> Lineage:
    """Write down where the new version comes from."""
    record = job.version.heir(**{name: value for name, value in job.facts.items() if name != "new"})
    tasks = [tuple(type_ for type_ in task if type_ not in job.new) for task in record.tasks]
    return dataclasses.replace(
        record,
        task=len(tasks) + 1,
        tasks=(*tasks, job.new),
        pending=tuple(type_ for type_ in record.pending if type_ not in job.new),
        scores={
            "dev": training.facts["best"] or (0.0 if training.lesson.dev else None),
            "epoch": training.facts["best_epoch"] or training.facts["epoch"],
            **_per_type(job, training),
            "changed_by_growing": training.lesson.changed,
            "batch": training.recipe.batch,
            "history": training.facts["history"],
        },
    )


def _per_type(job: _Job, training: Training) -> dict[str, Any]:
    """Return the scores of all types the dev set tells something about, and what the old ones had before.

    In a part set aside of the training data old types may be annotated here and there, which measures nothing.
    """
    told = {type_: one for type_, one in training.facts.get("per_type", {}).items() if one["support"]}
    if not job.dev_given or job.dev is None:
        return {"per_type": {type_: one for type_, one in told.items() if type_ in job.new}}
    old = [type_ for type_ in told if type_ not in job.new]
    before = job.version.evaluate(hide(job.dev, old)).as_dict()["per_type"] if old else {}
    return {"per_type": told, "before": {type_: before[type_] for type_ in old}}


def _with_last_good(error: Diverged, training: Training, job: _Job, folder: Path | None) -> Diverged:
    """Save the last epoch before the loss broke, if there is one, and say where."""
    epoch = training.facts["epoch"]
    if folder is None or not epoch:
        return error
    place = _partial(folder) / f"epoch-{epoch}"
    if not place.exists():
        Version(training.student.settled().eval(), _lineage(job, training)).save(place)
    return Diverged(f"{error}; the last good epoch is kept in {place}")
