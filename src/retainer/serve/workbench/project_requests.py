"""The bodies of requests about a project."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from retainer.serve.schemas import MAX_NAMES, BoundedName, StrictRequest
from retainer.workbench.teach_request import MOST_EPOCHS, TEACH_METHOD

MAX_ENTITIES = 25_000
"""Entities of a text: one for every two characters."""
Who = Annotated[str, Field(min_length=1, max_length=80, pattern=r"\S", description="The name of a person.")]
Number = Annotated[int, Field(ge=0, lt=2**63)]


class MarkedEntity(StrictRequest):
    """An entity of a text, in characters (code points)."""

    start: Number
    end: Number
    type: BoundedName


class WrittenAnnotation(StrictRequest):
    """What somebody says about a text."""

    entities: Annotated[list[MarkedEntity], Field(max_length=MAX_ENTITIES, fail_fast=True)]
    decided: bool = Field(description="Whether this is right; then it is taught.")
    complete: Annotated[list[BoundedName], Field(max_length=MAX_NAMES, fail_fast=True)] = Field(
        [], description="The types of which every entity is marked."
    )


class AddTexts(StrictRequest):
    """Texts to add to the project."""

    texts: Annotated[list[str], Field(fail_fast=True, description="The texts.")]
    source: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        "page", description="Where they come from: the name of a file, say."
    )


class RemoveTexts(StrictRequest):
    """Texts to remove for good."""

    ids: Annotated[list[Number], Field(min_length=1, max_length=1000, fail_fast=True, description="Their numbers.")]
    who: Who


class Annotate(StrictRequest):
    """A change of what is said about a text."""

    id: Number = Field(description="The number of the text.")
    revision: Number = Field(description="The revision that its author saw.")
    annotation: WrittenAnnotation
    who: Who


class Reverse(StrictRequest):
    """Something to undo or redo."""

    who: Who
    before: Number | None = Field(None, description="Go on with what was done before this change.")


class ChangeType(StrictRequest):
    """Something to do to a type."""

    action: Literal["add", "rename", "recolour", "merge", "remove"] = Field(
        description="merge makes it part of another; remove takes out one that no entity has."
    )
    name: BoundedName
    new_name: BoundedName | None = Field(None, description="For rename.")
    into: BoundedName | None = Field(None, description="For merge: the type that it becomes part of.")
    confirmed: bool = Field(
        False, description="For add and rename: whether the name may differ only by case or spaces from another."
    )
    colour: Annotated[int, Field(ge=0, lt=10_000)] | None = Field(None, description="For recolour, and perhaps add.")
    who: Who


class CheckRequest(StrictRequest):
    """Nothing need be said."""


class Teach(StrictRequest):
    """How to teach."""

    method: BoundedName = Field(TEACH_METHOD, description="The name of a method.")
    epochs: Annotated[int, Field(ge=1, le=MOST_EPOCHS)] = Field(10, description="Passes over the texts.")
    text: bool = Field(True, description="Whether texts without a decision help to keep old types.")
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    who: Who


class Person(StrictRequest):
    """Who asks."""

    who: Who


class UseVersion(StrictRequest):
    """A version to put into use."""

    version: BoundedName
    who: Who
