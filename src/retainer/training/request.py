"""What `learn` is asked for: by the verb, the bench, a preview and the public function alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from retainer.data.corpus import Corpus
from retainer.data.io import read
from retainer.data.tasks import hide, require_types, say_complete
from retainer.errors import InputError, nearest
from retainer.methods import DEFAULT_METHOD, Method, name_of, recorded_name, require_learnable_method
from retainer.methods import method as find_method
from retainer.model.adapters import require_adapters
from retainer.model.onnx import Exported
from retainer.runtime import pick_device
from retainer.training.learn_task import LearnTask
from retainer.training.prior_source import prior_source
from retainer.training.progress import Progress
from retainer.training.ranks import ALONE, Ranks
from retainer.training.recipe import ENOUGH_TO_SELECT, Recipe
from retainer.training.reproduce import Reproduction
from retainer.training.task_data import SplitRows, TaskData, hold_out, take_out
from retainer.training.text import Text, draw
from retainer.versions.version import Version, load

Data = Corpus | str | Path


@dataclass(frozen=True)
class RunOptions:
    """How a run is carried out; none of it changes what is learned."""

    out: Path | None = None
    """The folder of the new version."""
    keep_parent: bool = False
    """Put into ``out`` what `retainer rollback` needs to write the previous version again."""
    state_folder: Path | None = None
    """Where an unfinished run keeps its state; beside ``out`` unless given."""
    checkpoint_seconds: float = 60.0
    progress: Progress = field(default_factory=Progress)
    measure: bool = True
    """Whether both versions look at the dev set once in the end."""
    reproduces: Reproduction | None = None
    """The run to repeat: other data and another start than its own are refused."""
    ranks: Ranks = ALONE
    """The processes that learn together; the first of them writes and reports."""

    @property
    def state(self) -> Path | None:
        """The folder of the state of an unfinished run, if it is to be kept."""
        if self.state_folder is None and self.out is not None:
            return self.out.with_name(self.out.name + ".partial")
        return self.state_folder


@dataclass(frozen=True)
class LearnRequest:
    """What to learn from what, and how; paths and names are not looked up yet."""

    data: Data
    start: Version | str | Path = "builtin"
    types: Sequence[str] | None = None
    """The types to learn; of these every entity is annotated. Without them, all types of the data."""
    method: Method | str = DEFAULT_METHOD
    recipe: Recipe = Recipe()
    seed: int = 0
    dev: Data | None = None
    exemplars: Data | None = None
    device: str = "auto"
    text: Text | None = None
    """Texts without annotation, or whose annotation is ignored. They are read here, and some of them are drawn."""
    method_name: str = ""
    """The name a method was asked for by; with other fields it may equal one that has a name of its own."""

    @property
    def given(self) -> set[str]:
        """What a prior can be corrected on."""
        return {name for name in ("dev", "text") if getattr(self, name) is not None}

    def _called(self, method: Method) -> str:
        """Return the name a method was asked for by."""
        return self.method_name or (self.method if isinstance(self.method, str) else name_of(method))

    def resolve(self) -> LearnTask:
        """Look everything up, and check all that can be wrong before anything is computed."""
        method = _named_method(self.method) if isinstance(self.method, str) else self.method
        if self.text is not None and not method.takes_text:
            raise InputError(
                f"method {name_of(method)} does not learn from what the old version says, and text (--text) teaches "
                "nothing else; use another method, or leave the text out"
            )
        corpus = _read(self.data)
        chosen = tuple(self.types) if self.types else corpus.types
        require_types(corpus, chosen)
        dev = None if self.dev is None else _read(self.dev)
        version = self._starting_version(method, corpus)
        self._require_adaptable(version, method)
        named = chosen if self.types else tuple(corpus.complete or ())
        new = _new_types(version, corpus, chosen, named)
        retaught = tuple(type_ for type_ in chosen if type_ in named and type_ not in new)
        exemplars = None if self.exemplars is None else _checked_exemplars(_read(self.exemplars), version, new)
        if dev is not None:
            _require_selectable(dev, version, (*new, *retaught), self.recipe)
        shown, taught = hide(say_complete(corpus), chosen), (*new, *retaught)
        train, held_out = (shown, None) if dev is not None else hold_out(shown, self.recipe.holdout, self.seed, taught)
        text = None if self.text is None else self._drawn_text(self.text, version, len(train))
        given = self.given if text is not None else self.given - {"text"}  # a share of 0 draws none of it
        prior, prior_note = prior_source(self.recipe.prior, method.prior_correction, version.tagger, given)
        version, split_rows = _without_split_types(version, new)
        return LearnTask(
            version=version,
            method=method,
            method_name=recorded_name(self._called(method), method),
            recipe=self.recipe.changed({"prior": prior}),
            seed=self.seed,
            corpus=corpus,
            data=TaskData(
                train,
                new,
                dev if dev is not None else _enough_to_select(held_out, (*new, *retaught)),
                retaught,
                () if exemplars is None else exemplars.sentences,
                () if text is None else text.sentences,
                split_rows,
            ),
            dev=dev if dev is not None else held_out,
            dev_given=dev is not None,
            exemplars=exemplars,
            text=text,
            prior_note=prior_note,
        )

    def _drawn_text(self, text: Text, version: Version, slice_size: int) -> Corpus | None:
        """Draw as many sentences without annotation as the run can show, at most the recipe's limit; None for none."""
        if not version.types:
            raise InputError("the model knows no type yet, so there is nothing that text (--text) could keep")
        shown = math.ceil(self.recipe.text_share * slice_size * self.recipe.epochs)
        drawn = draw(text, min(shown, self.recipe.text_limit), self.seed)
        return drawn if len(drawn) else None

    def _require_adaptable(self, version: Version, method: Method) -> None:
        """Refuse adapters that this encoder cannot have or this method cannot use; a first task uses them always."""
        if self.recipe.adapter_rank:
            require_adapters(version.tagger.network, self.recipe.adapter_rank)
            if version.types:
                self.recipe.require_moving_encoder(method.trainable, self._called(method))

    def _starting_version(self, method: Method, corpus: Corpus) -> Version:
        """Load the version to start from, on its device; an upper bound starts over from the encoder."""
        start = self.start
        version = start if isinstance(start, Version) else load(start, device=self.device, head=self.recipe.head)
        if isinstance(version.tagger, Exported):
            raise InputError("an ONNX export cannot learn; start from the version it came from")
        version.tagger.to(pick_device(self.device))
        if method.quirks != version.tagger.quirks:
            raise InputError(
                "this method repeats the defects of released code and is for `retainer bench` alone; use rdp"
            )
        if method.joint and version.types:
            return _from_encoder(version, corpus, self.device, self.recipe, name_of(method))
        return version


def _named_method(name: str) -> Method:
    """Return a method by its name; a misspelt one is compared with those that can learn here, not with bench's own."""
    require_learnable_method(name)
    return find_method(name)


def _read(data: Data) -> Corpus:
    return data if isinstance(data, Corpus) else read(data)


def _enough_to_select(held_out: Corpus | None, taught: Sequence[str]) -> Corpus | None:
    """Return a held-out part if it has enough entities to choose an epoch on."""
    entities = 0 if held_out is None else sum(held_out.counts[type_] for type_ in taught)
    return held_out if entities >= ENOUGH_TO_SELECT else None


def _checked_exemplars(exemplars: Corpus, version: Version, new: Sequence[str]) -> Corpus:
    """Refuse exemplars of types that are neither known nor taught, and those that could keep nothing."""
    known, source = version.learned_types, exemplars.source
    if not known:
        raise InputError(f"the model knows no type yet, so there is nothing the exemplars ({source}) could keep")
    if strange := [type_ for type_ in exemplars.types if type_ not in (*known, *new)]:
        raise InputError(
            f"{source} has entities of {strange[0]!r}{nearest(strange[0], known)}, which the model does not know "
            f"and this run does not teach; exemplars are about {', '.join(known)}"
        )
    if not set(exemplars.types) & set(known):
        raise InputError(
            f"{source} has no entity of a type the model knows ({', '.join(known)}), so these exemplars keep nothing"
        )
    return exemplars


def _without_split_types(version: Version, new: Sequence[str]) -> tuple[Version, SplitRows]:
    """Take the types out of a version that a split made and that are to be learned now; their rows are kept."""
    waiting = [type_ for type_ in new if type_ in version.types]
    if not waiting:
        return version, SplitRows()
    tagger, rows = take_out(version.tagger, waiting)
    return Version(tagger, version.lineage, version.generators, version.place), rows


def _new_types(version: Version, corpus: Corpus, chosen: Sequence[str], named: Sequence[str]) -> tuple[str, ...]:
    """Return the new types; if there are none, the model may be the wrong one, unless some were named.

    Types are named on request, or by data that say which types are complete in a sentence.
    """
    new = tuple(type_ for type_ in chosen if type_ not in version.learned_types)
    if not new and not set(named) & set(chosen):
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


def _from_encoder(version: Version, corpus: Corpus, device: str, recipe: Recipe, method: str) -> Version:
    """Go back to the bare encoder a version began with: an upper bound starts over, with all types in the data."""
    if missing := [type_ for type_ in version.types if type_ not in corpus.counts]:
        raise InputError(
            f"method {method} learns all types at once and needs them all annotated, but {corpus.source} has no "
            f"{missing[0]!r}; use another method, or --from a bare encoder"
        )
    if not version.lineage.encoder:
        raise InputError(
            f"this model does not say which encoder it began with; give method {method} a bare one (--from)"
        )
    return load(version.lineage.encoder, device=device, head=recipe.head)
