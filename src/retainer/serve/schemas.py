"""The bodies of requests and responses, as the OpenAPI document describes them. Unknown fields are refused."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

MAX_NAMES = 10_000
"""Of types in a request: more than any version knows."""
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
BoundedName = Annotated[str, Field(max_length=500)]
"""Of a version or a type: long enough for any, and short enough to be looked up."""


def _not_many_more(value: Any) -> Any:
    """Cut an object that has too many names to one that just has too many: each wrong value costs an error."""
    return dict(islice(value.items(), MAX_NAMES + 1)) if isinstance(value, dict) else value


ThresholdsByType = Annotated[
    dict[BoundedName, Probability], Field(max_length=MAX_NAMES), BeforeValidator(_not_many_more)
]
OneOrManyTexts = Annotated[
    str | Annotated[list[str], Field(fail_fast=True)],
    Field(description="One text, or a list of texts.", examples=[["play songs by boston on the drive to paris"]]),
]


class StrictRequest(BaseModel):
    """What all requests have in common."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _keep_one_unknown_field(cls, document: Any) -> Any:
        """Leave out all unknown fields but the first, which is enough to refuse: each one costs an error."""
        if not isinstance(document, dict):
            return document
        more = {name for name in document if name not in cls.model_fields}
        more.difference_update([next((name for name in document if name in more), None)])
        return {name: value for name, value in document.items() if name not in more}


class RequestModel(StrictRequest):
    """A request with texts."""

    texts: OneOrManyTexts

    @property
    def text_list(self) -> list[str]:
        """The texts as a list."""
        return [self.texts] if isinstance(self.texts, str) else self.texts


class PredictRequest(RequestModel):
    """Texts in which to find entities."""

    version: BoundedName | None = Field(None, description="The name of a served version; the first one by default.")
    types: Annotated[list[BoundedName], Field(fail_fast=True)] | None = Field(
        None, min_length=1, max_length=MAX_NAMES, description="Only entities of these types."
    )
    calibrated: bool = Field(False, description="Scores that are the probability that an entity is right.")
    threshold: Probability | ThresholdsByType = Field(
        0.0, description='Leave out entities that score less: one value, or by type; "all" stands for the other types.'
    )


class CompareRequest(RequestModel):
    """Texts for two versions."""

    old: BoundedName = Field(description="The name of the version to compare with.")
    new: BoundedName = Field(description="The name of the version in question.")


class ResponseModel(BaseModel):
    """A response, or a part of one."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Entity(ResponseModel):
    """An entity, with the keys of transformers' token-classification pipeline; offsets count code points."""

    entity_group: str
    score: float
    word: str
    start: int
    end: int


class VersionReference(ResponseModel):
    """The name of a version on this server, and the hash that identifies it anywhere."""

    name: str
    hash: str


class TextEntities(ResponseModel):
    """The entities of one text."""

    entities: list[Entity]


class PredictResponse(ResponseModel):
    """The entities of all texts, in the order of the texts; all of them found by one version."""

    version: VersionReference
    results: list[TextEntities]


class EntityChange(ResponseModel):
    """One entity in the old and the new version: kept, moved (other boundaries), relabelled, lost or gained."""

    kind: str
    old: Entity | None
    new: Entity | None


class TextChanges(ResponseModel):
    """The changes of one text."""

    changes: list[EntityChange]


class CompareResponse(ResponseModel):
    """Two versions side by side, in the order of the texts."""

    old: VersionReference
    new: VersionReference
    types: dict[str, list[str]]
    """``old``, ``gained`` (only the new version knows them) and ``dropped`` (only the old one does)."""
    changes: dict[str, int]
    """How many entities were kept, moved, relabelled, lost and gained."""
    agreement: dict[str, Any]
    """As in ``retainer compare --json``: of ``all`` old types and ``per_type``."""
    results: list[TextChanges]


class VersionInfo(ResponseModel):
    """A served version."""

    name: str
    folder: str
    """Its folder or hub name as the server was given it; of a path that says where on the machine it lies, the last
    part."""
    hash: str
    default: bool
    """Whether it answers requests that name no version."""
    types: list[str]
    new_types: list[str]
    pending_types: list[str]
    calibrated_types: list[str]
    loaded: str
    reload_failed: str | None
    """Since when its folder holds something that cannot be loaded; null if it can."""
    scores: dict[str, Any]
    """By type: the version of the lineage that brought it, its scores ``then``, ``before`` and ``now``, if known."""
    lineage: list[dict[str, Any]]
    """The versions it comes from, newest first, itself included; ``served_as`` names those that are served here."""
    card: str
    """The model card in Markdown, which people may have edited: show it as text."""


class VersionsResponse(ResponseModel):
    """All served versions, in the order of the command line."""

    versions: list[VersionInfo]


class ReloadResponse(ResponseModel):
    """What the reload did, by name: swapped, unchanged or failed."""

    versions: dict[str, str]


class HealthResponse(ResponseModel):
    """The process runs."""

    alive: bool


class VersionState(ResponseModel):
    """Whether a version is ready, or stale because a newer one in its folder could not be loaded."""

    name: str
    hash: str
    state: str


class ReadinessResponse(ResponseModel):
    """Whether requests are answered."""

    ready: bool
    versions: list[VersionState]
