"""A job: what `learn` was asked to do, looked up and checked before anything is computed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from retainer.data.corpus import Corpus, fingerprint
from retainer.data.io import read
from retainer.data.tasks import hide, require_types
from retainer.errors import InputError, nearest
from retainer.methods import Method, name_of
from retainer.methods import method as find_method
from retainer.model.onnx import Exported
from retainer.runtime import pick_device
from retainer.training.oversampling import uneven
from retainer.training.prepare import SplitRows, hold_out, set_aside
from retainer.training.recipe import ENOUGH, Recipe
from retainer.training.teacher_targets import OldTypeAnnotation
from retainer.versions.version import Version, load


@dataclass(frozen=True)
class LearnTask:
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
    seeds: SplitRows = SplitRows()
    truth: OldTypeAnnotation = OldTypeAnnotation()
    exemplars: Corpus | None = None

    @property
    def taught(self) -> tuple[str, ...]:
        """The types this task is about: the new ones, and the old ones there are more data for."""
        return (*self.new, *self.truth.again)

    @cached_property
    def chooser(self) -> Corpus | None:
        """The sentences an epoch is chosen on: the dev set that was given, or the part set aside if it tells enough."""
        told = 0 if self.dev is None else sum(self.dev.counts[type_] for type_ in self.taught)
        return self.dev if self.dev_given or told >= ENOUGH else None

    @property
    def notes(self) -> list[str]:
        """What is worth knowing about the data before anything is learned."""
        some = [type_ for type_ in self.train.types if type_ not in self.taught]
        rare = uneven(self.train.sentences, self.taught) if self.recipe.repeat == 1 else ""
        told = [f"{rare}; --set.repeat 5 shows the rarer ones up to five times an epoch"] if rare else []
        if not some:
            return told
        return told + [
            f"{self.corpus.source} also has entities of {', '.join(some)}, which the model knows: they are gold where "
            f"they stand, and elsewhere the model goes by what it knew; if all of them are annotated, say so (--types "
            f"{','.join((*self.taught, *some))})"
        ]

    @property
    def place(self) -> str:
        """Where the sentences come from that both versions look at in the end."""
        return "of the dev set" if self.dev_given else "it learned from" if self.dev is None else "set aside"

    @cached_property
    def told(self) -> tuple[str, ...]:
        """The types of which every entity in the dev set is annotated, as far as anybody can know.

        In a part set aside of the training data old types may be annotated here and there, which measures nothing.
        """
        return self.dev.types if self.dev_given and self.dev is not None else self.taught

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Collect everything that determines the result."""
        return {
            "parent": self.version.fingerprint,
            "new": list(self.new),
            "again": self.truth.again,
            "data": {
                **_described(self.train),
                "dev_sha256": "" if self.dev is None else fingerprint(self.dev),
                "dev_sentences": 0 if self.dev is None else len(self.dev),
                "dev_given": self.dev_given,
                "dev_chooses": self.chooser is not None and self.recipe.select != "last",
                **({} if self.exemplars is None else {"exemplars": _described(self.exemplars)}),
            },
            "method": name_of(self.method),
            "fields": dataclasses.asdict(self.method),
            "recipe": dataclasses.asdict(self.recipe),
            "seed": self.seed,
        }


def job_of(
    data: Corpus | str | Path,
    start: Version | str | Path,
    types: Sequence[str] | None,
    method: Method | str,
    dev: Corpus | str | Path | None,
    recipe: Recipe,
    seed: int,
    device: str,
    exemplars: Corpus | str | Path | None = None,
) -> LearnTask:
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
    new = _new_types(version, corpus, chosen, named=bool(types))
    again = tuple(type_ for type_ in chosen if type_ not in new) if types else ()
    kept = exemplars if isinstance(exemplars, Corpus) or exemplars is None else read(exemplars)
    truth = OldTypeAnnotation(again) if kept is None else _with_exemplars(kept, version, new, again)
    shown = hide(corpus, chosen)
    if dev_set is not None:
        _require_selectable(dev_set, version, (*new, *again), recipe)
    given = dev_set is not None
    train, dev_set = (shown, dev_set) if given else hold_out(shown, recipe.holdout, seed)
    version, seeds = _parted(version, new)
    return LearnTask(version, new, corpus, train, dev_set, way, recipe, seed, given, seeds, truth, kept)


def _described(corpus: Corpus) -> dict[str, Any]:
    """Return fingerprint and counts of some data; no text."""
    counts = dict(sorted(corpus.counts.items()))
    return {"sha256": fingerprint(corpus), "sentences": len(corpus), "entities": counts}


def _with_exemplars(kept: Corpus, version: Version, new: Sequence[str], again: Sequence[str]) -> OldTypeAnnotation:
    """Check the exemplars: they are about types the model knows, and about none that nobody teaches."""
    known = version.learned_types
    if not known:
        raise InputError(f"the model knows no type yet, so there is nothing the exemplars ({kept.source}) could keep")
    if strange := [type_ for type_ in kept.types if type_ not in (*known, *new)]:
        raise InputError(
            f"{kept.source} has entities of {strange[0]!r}{nearest(strange[0], known)}, which the model does not know "
            f"and this run does not teach; exemplars are about {', '.join(known)}"
        )
    if not set(kept.types) & set(known):
        raise InputError(
            f"{kept.source} has no entity of a type the model knows ({', '.join(known)}), so these exemplars keep "
            f"nothing"
        )
    return OldTypeAnnotation(tuple(again), kept.sentences)


def _parted(version: Version, new: Sequence[str]) -> tuple[Version, SplitRows]:
    """Take the types out of a version that a split made and that are to be learned now; their rows are kept."""
    waiting = [type_ for type_ in new if type_ in version.types]
    if not waiting:
        return version, SplitRows()
    tagger, seeds = set_aside(version.tagger, waiting)
    return Version(tagger, version.lineage, version.generators, version.place), seeds


def _new_types(version: Version, corpus: Corpus, chosen: Sequence[str], named: bool) -> tuple[str, ...]:
    """Return the new types; if there are none, somebody may have given the wrong model, unless the types were named."""
    new = tuple(type_ for type_ in chosen if type_ not in version.learned_types)
    if not new and not named:
        raise InputError(
            f"no type of {corpus.source} ({', '.join(chosen)}) is new to the model, which already knows "
            f"{', '.join(version.types)}; to teach it more of what it knows, name the types (--types "
            f"{','.join(chosen)})"
        )
    return new


def _require_selectable(dev: Corpus, version: Version, taught: Sequence[str], recipe: Recipe) -> None:
    """Refuse a dev set on which no epoch would be better than another."""
    wanted = {"new": [taught], "all": [taught, version.types or taught], "last": []}[recipe.select]
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
