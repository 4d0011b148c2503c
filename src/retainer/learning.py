"""`learn`: from a version and some data to the next version."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from retainer.checkpoint import Checkpoint, key_of
from retainer.corpora import Corpus, fingerprint, read
from retainer.errors import InputError
from retainer.files import require_free
from retainer.lesson import Review, hold_out, prepare
from retainer.lineage import Lineage
from retainer.methods import METHODS, Method
from retainer.methods import method as find_method
from retainer.model import Tagger
from retainer.onnx import Exported
from retainer.progress import Silence
from retainer.recipe import Recipe
from retainer.review import made_up, remember
from retainer.runtime import pick_device, repeatable, versions
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
) -> Version:
    """Teach a version the new types of some data, and return the next version (written to ``out`` if given).

    The data need only the new types annotated: O means "not annotated", not "no entity". A bare encoder learns its
    first types with plain cross-entropy, whatever the method. A run that was killed goes on where it was, if it is
    started again with the same data, numbers and ``out`` (or ``partial``, the folder of its state, which is beside
    ``out`` unless given).
    """
    folder = None if out is None else require_free(out)
    job = _job(data, start, types, method, dev, recipe or Recipe(), seed, device)
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
        learned.save(folder)
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
    lesson = prepare(job.version.tagger, job.train, job.dev, job.new, job.method, job.recipe, review)
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

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Collect everything that determines the result."""
        return {
            "parent": self.version.lineage.weights or _weights_hash(self.version.tagger),
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
    train, dev_set = hold_out(shown, recipe.holdout, seed) if dev_set is None else (shown, dev_set)
    return _Job(version, new, corpus, train, dev_set, way, recipe, seed)


def _new_types(version: Version, corpus: Corpus, chosen: Sequence[str]) -> tuple[str, ...]:
    new = tuple(type_ for type_ in chosen if type_ not in version.types)
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


def _weights_hash(tagger: Tagger) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(tagger.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _lineage(job: _Job, training: Training) -> Lineage:
    """Write down where the new version comes from."""
    before = job.version.lineage
    tasks = before.tasks or ((job.version.types,) if job.version.types else ())
    return Lineage(
        **{name: value for name, value in job.facts.items() if name != "new"},
        encoder=before.encoder,
        task=len(tasks) + 1,
        tasks=(*tasks, job.new),
        scores={
            "dev": training.facts["best"] or (0.0 if training.lesson.dev else None),
            "epoch": training.facts["best_epoch"] or training.facts["epoch"],
            "changed_by_growing": training.lesson.changed,
            "history": training.facts["history"],
        },
        versions=versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _with_last_good(error: Diverged, training: Training, job: _Job, folder: Path | None) -> Diverged:
    """Save the last epoch before the loss broke, if there is one, and say where."""
    epoch = training.facts["epoch"]
    if folder is None or not epoch:
        return error
    place = _partial(folder) / f"epoch-{epoch}"
    if not place.exists():
        Version(training.student.settled().eval(), _lineage(job, training)).save(place)
    return Diverged(f"{error}; the last good epoch is kept in {place}")
