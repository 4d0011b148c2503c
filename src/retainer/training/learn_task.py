"""A task `learn` is about to do: everything looked up and checked, nothing computed yet."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from retainer.comparison.effect_words import TRAINING_PLACE
from retainer.data.corpus import Corpus, fingerprint
from retainer.data.picked import are_picked
from retainer.data.scarcity import scarcity
from retainer.methods import Method
from retainer.training.oversampling import uneven
from retainer.training.prior_source import TIP
from retainer.training.recipe import Recipe
from retainer.training.task_data import TaskData
from retainer.versions.version import Version


@dataclass(frozen=True)
class LearnTask:
    """What a request resolves to."""

    version: Version
    """The version to start from, without the types it has yet to learn."""
    method: Method
    method_name: str
    """What the method was asked for by."""
    recipe: Recipe
    seed: int
    corpus: Corpus
    """The data as they were given."""
    data: TaskData
    dev: Corpus | None
    """The sentences both versions are measured on in the end."""
    dev_given: bool
    """Whether the dev set was given, and not held out."""
    exemplars: Corpus | None = None
    text: Corpus | None = None
    """What was drawn of the text without annotation."""
    prior_note: str = ""
    """What to tell people where the prior is not corrected though the method would."""

    @property
    def new(self) -> tuple[str, ...]:
        """The types the model does not know yet."""
        return self.data.new

    @property
    def taught(self) -> tuple[str, ...]:
        """The new types, and the old ones there are more data for."""
        return self.data.taught

    @property
    def measured_on(self) -> Corpus:
        """The sentences both versions are measured on: the dev set or, without one, the data."""
        return self.dev or self.data.train

    @property
    def place(self) -> str:
        """Where those sentences come from, in words."""
        return "of the dev set" if self.dev_given else TRAINING_PLACE if self.dev is None else "set aside"

    @cached_property
    def annotated(self) -> tuple[str, ...]:
        """The types of which every entity in the dev set is annotated, as far as can be known.

        In a part held out of the training data, old types may be annotated here and there, which measures nothing.
        """
        return self.dev.types if self.dev_given and self.dev is not None else self.taught

    @property
    def never_complete(self) -> list[str]:
        """The new types that are complete in no sentence, where the data say what is."""
        said = self.data.train.complete
        return [] if said is None else [type_ for type_ in self.new if not said[type_]]

    @property
    def warnings(self) -> list[str]:
        """What will hardly go well, said before anything is learned."""
        little = scarcity(self.corpus, self.new)
        return [f"warning: {little}"] if little else []

    @property
    def notes(self) -> list[str]:
        """What is worth knowing about the data before anything is learned."""
        unnamed = [type_ for type_ in self.data.train.types if type_ not in self.taught]
        rare = uneven(self.data.train.sentences, self.taught) if self.recipe.repeat == 1 else ""
        notes = [f"{rare}; --set.repeat 5 shows the rarer ones up to five times an epoch"] if rare else []
        if self.prior_note:
            notes.append(self.prior_note + self._swaps_instead)
        if self.never_complete:
            notes.append(
                f"no sentence of {self.corpus.source} names {', '.join(self.never_complete)} as complete, so nothing "
                "says what is not of this type; name it under complete where every entity of it is annotated"
            )
        if unnamed:
            notes.append(
                f"{self.corpus.source} also has entities of {', '.join(unnamed)}, which the model knows: they are gold "
                f"where they stand, and elsewhere the model goes by what it knew; if all of them are annotated, say so "
                f"(--types {','.join((*self.taught, *unnamed))})"
            )
        return notes

    @property
    def _swaps_instead(self) -> str:
        """Say what may help without a dev file and text, where sentences were picked for what they teach."""
        fields = dataclasses.asdict(self.method)
        if (
            self.prior_note != TIP
            or fields.get("swap_share") != 0
            or not are_picked(self.data.train.sentences, self.new)
        ):
            return ""
        return (
            "; without either, --set.swap_share 0.5 may help, since these sentences seem to be picked for what they "
            "teach: compare both (docs/methods.md#retain)"
        )

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Collect everything that determines the result, under the keys of the record."""
        return {
            "parent": self.version.fingerprint,
            "new": list(self.new),
            "again": self.data.retaught,
            "data": {
                **_described(self.data.train),
                "dev_sha256": "" if self.dev is None else fingerprint(self.dev),
                "dev_sentences": 0 if self.dev is None else len(self.dev),
                "dev_given": self.dev_given,
                "dev_chooses": self.data.dev is not None and self.recipe.select != "last",
                **({} if self.exemplars is None else {"exemplars": _described(self.exemplars)}),
                **({} if self.text is None else {"text": _counted(self.text)}),
            },
            "method": self.method_name,
            "fields": dataclasses.asdict(self.method),
            "recipe": dataclasses.asdict(self.recipe),
            "seed": self.seed,
        }


def _described(corpus: Corpus) -> dict[str, Any]:
    """Return fingerprint and counts of some data; no text."""
    return {**_counted(corpus), "entities": dict(sorted(corpus.counts.items()))}


def _counted(corpus: Corpus) -> dict[str, Any]:
    return {"sha256": fingerprint(corpus), "sentences": len(corpus)}
