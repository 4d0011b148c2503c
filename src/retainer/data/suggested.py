"""Sentences annotated by a model, for a person to correct."""

from __future__ import annotations

from dataclasses import dataclass

from retainer.data.spans import Sentence


@dataclass(frozen=True, slots=True)
class Suggested(Sentence):
    """A sentence with the entities that a model found, and how sure it is of each, in their order."""

    scores: tuple[float, ...] = ()
