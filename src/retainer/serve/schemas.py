"""What is asked and answered, as the OpenAPI document tells it. Whoever misspells a field hears about it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Name = Annotated[str, Field(max_length=500)]
"""Of a version or a type: long enough for any, and short enough to be looked up."""
Texts = Annotated[
    str | list[str],
    Field(description="One text, or a list of texts.", examples=[["play songs by boston on the drive to paris"]]),
]


class Told(BaseModel):
    """An answer, or a part of one."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Asked(BaseModel):
    """What every question has in common."""

    model_config = ConfigDict(extra="forbid", strict=True)

    texts: Texts

    @property
    def all(self) -> list[str]:
        """The texts as a list."""
        return [self.texts] if isinstance(self.texts, str) else self.texts


class Predict(Asked):
    """Texts in which to find entities."""

    version: Name | None = Field(None, description="The name of a version on duty; the first one if left out.")
    types: list[Name] | None = Field(None, min_length=1, description="Only entities of these types.")
    calibrated: bool = Field(False, description="Scores that say how probably an entity is right.")
    threshold: Score | dict[Name, Score] = Field(
        0.0, description='Leave out what scores less: one number, or by type; "all" stands for the other types.'
    )


class Compare(Asked):
    """Texts through two versions."""

    old: Name = Field(description="The name of the version to compare with.")
    new: Name = Field(description="The name of the version in question.")


class Entity(Told):
    """An entity, with the keys of transformers' token-classification pipeline; places are characters (code points)."""

    entity_group: str
    score: float
    word: str
    start: int
    end: int


class Named(Told):
    """A version: what it is called here, and the hash that names it everywhere."""

    name: str
    hash: str


class Found(Told):
    """What was found in one text."""

    entities: list[Entity]


class Prediction(Told):
    """What was found, in the order of the texts; all of it by one version."""

    version: Named
    results: list[Found]


class Fate(Told):
    """One entity before and after: kept, moved (other boundaries), relabelled, lost or gained."""

    kind: str
    old: Entity | None
    new: Entity | None


class Compared(Told):
    """What became of the entities of one text."""

    changes: list[Fate]


class Comparison(Told):
    """Two versions side by side, in the order of the texts."""

    old: Named
    new: Named
    types: dict[str, list[str]]
    """``old``, ``gained`` (only the new version knows them) and ``dropped`` (only the old one does)."""
    changes: dict[str, int]
    """How many entities were kept, moved, relabelled, lost and gained."""
    agreement: dict[str, Any]
    """As in ``retainer compare --json``: of ``all`` old types and ``per_type``."""
    results: list[Compared]


class VersionInfo(Told):
    """A version on duty."""

    name: str
    hash: str
    default: bool
    """Whether it answers where no version is named."""
    types: list[str]
    new_types: list[str]
    pending_types: list[str]
    calibrated_types: list[str]
    loaded: str
    reload_failed: str | None
    """Since when its folder holds something that cannot be loaded; null if all is well."""
    scores: dict[str, Any]
    """By type: the version of the lineage that brought it, its scores ``then``, ``before`` and ``now``, if known."""
    lineage: list[dict[str, Any]]
    """The versions it comes from, newest first, itself included; ``served_as`` names those that are on duty here."""
    card: str
    """The model card, Markdown as people wrote it: to be shown as text."""


class Versions(Told):
    """Everybody on duty, in the order they were named."""

    versions: list[VersionInfo]


class Reloaded(Told):
    """By name what became of each version: swapped, unchanged or failed."""

    versions: dict[str, str]


class Health(Told):
    """The process runs."""

    alive: bool


class State(Told):
    """Whether a version answers: it is ready, or stale where a newer one in its folder could not be loaded."""

    name: str
    hash: str
    state: str


class Readiness(Told):
    """Whether requests are answered."""

    ready: bool
    versions: list[State]
