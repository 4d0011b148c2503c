"""Entities of a version on the tokens of spaCy: how they are aligned, and which of two that overlap stays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

SPANS_KEY = "retainer"
"""Under which name a document holds all entities that were found, with their scores."""


@dataclass
class AlignedEntities:
    """What a version found in a document, on the tokens of spaCy, and what could not be put there."""

    spans: list[Any] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    moved: int = 0
    """Entities whose edges were moved to edges of tokens."""
    dropped: int = 0
    """Entities without a token of their own."""


def align_entities(doc: Any, found: Iterable[dict[str, Any]], alignment: str) -> AlignedEntities:
    """Put entities on tokens; ``alignment`` says what to do where spaCy cuts words elsewhere.

    ``expand`` takes all tokens that an entity touches, ``contract`` only those it covers, ``strict`` moves no edge.
    An entity that no token is left for is dropped, and so is one that touches an earlier one after it was expanded.
    """
    aligned, taken = AlignedEntities(), 0
    for entity in found:
        span = doc.char_span(entity["start"], entity["end"], entity["entity_group"], alignment_mode=alignment)
        if span is None or not len(span) or span.start < taken:
            aligned.dropped += 1
            continue
        taken = span.end
        aligned.moved += (span.start_char, span.end_char) != (entity["start"], entity["end"])
        aligned.spans.append(span)
        aligned.scores.append(float(entity["score"]))
    return aligned


def set_entities(doc: Any, aligned: AlignedEntities, *, overwrite: bool) -> None:
    """Put entities into a document: beside those it has, or in place of those they overlap.

    Tokens that an earlier component has blocked stay without an entity. ``doc.spans["retainer"]`` holds all that were
    found, with ``attrs`` as spaCy's span categorizer writes them: ``scores``, one per span; besides ``moved`` and
    ``dropped``, which count what did not align, and ``overlapping``, which counts what is not among ``doc.ents``.
    """
    blocked = [doc[at : at + 1] for at, token in enumerate(doc) if token.ent_iob_ == "B" and not token.ent_type]
    before, found = list(doc.ents), aligned.spans
    closed = _tokens([*blocked, *([] if overwrite else before)])
    new = [span for span in found if closed.isdisjoint(range(span.start, span.end))]
    covered = _tokens(new)
    kept = [entity for entity in before if covered.isdisjoint(range(entity.start, entity.end))]
    doc.set_ents(sorted([*kept, *new]), blocked=blocked)
    counted = {"moved": aligned.moved, "dropped": aligned.dropped, "overlapping": len(found) - len(new)}
    doc.spans[SPANS_KEY] = found
    doc.spans[SPANS_KEY].attrs.update(scores=aligned.scores, **counted)


def _tokens(spans: Iterable[Any]) -> set[int]:
    return {at for span in spans for at in _range(span)}


def _range(span: Any) -> Iterator[int]:
    return iter(range(span.start, span.end))
