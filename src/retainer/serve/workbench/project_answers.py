"""The bodies of responses about a project."""

from __future__ import annotations

from typing import Any, Literal

from retainer.serve.responses import ErrorDetail
from retainer.serve.schemas import ResponseModel
from retainer.serve.workbench.teach_answers import JobAnswer


class PlainEntity(ResponseModel):
    """An entity, in characters (code points)."""

    start: int
    end: int
    type: str


class FoundEntity(PlainEntity):
    """An entity that a version finds."""

    score: float


class StoredAnnotation(ResponseModel):
    """What is said about a text."""

    entities: list[PlainEntity]
    decided: bool
    complete: list[str]


class Item(ResponseModel):
    """A text with what is known of it."""

    id: int
    text: str
    source: str
    held_back: bool
    """Whether versions are compared on it; then none is trained on it."""
    words: list[tuple[int, int]]
    revision: int
    annotation: StoredAnnotation
    who: str | None
    """Who changed it last."""
    when: str | None
    found: list[FoundEntity]
    """What the version in use finds."""
    why: str | None
    """Why it is worth looking at."""


class Items(ResponseModel):
    """Texts, in their order."""

    items: list[Item]


class ItemPage(Items):
    """A page of texts."""

    more: bool
    count: int
    """How many there are, on all pages."""


class ProjectType(ResponseModel):
    """A type."""

    name: str
    colour: int
    entities: int
    """In texts with a decision."""
    complete: int
    """Texts in which every one of its entities is marked."""


class TypesAnswer(ResponseModel):
    """All types, in their order."""

    types: list[ProjectType]


class VersionAnswer(ResponseModel):
    """A version of the project."""

    name: str
    parent: str | None
    job: int | None
    when: str
    types: list[str]
    in_use: bool
    texts: int | None
    """How many texts it was taught from."""
    hash: str


class ProjectAnswer(ResponseModel):
    """What a project holds."""

    folder: str
    types: list[ProjectType]
    texts: dict[str, int]
    """``all``, ``decided`` and ``held_back``."""
    in_use: str | None
    versions: list[VersionAnswer]
    job: JobAnswer | None
    """The one that runs."""
    queue: int
    change: int
    """The number of the newest change."""


class AddedAnswer(ResponseModel):
    """What became of texts."""

    new: int
    known: int
    ids: list[int]


class RemovedAnswer(ResponseModel):
    """What became of texts that were removed."""

    ids: list[int]
    jobs: list[int]
    """Past jobs whose files had one of them, and have it no more."""
    versions: list[str]
    """Versions that were taught from one of them; they cannot unlearn it."""


class ReversedAnswer(ResponseModel):
    """What was undone or redone; null if there was nothing."""

    item: Item | None


class ConflictAnswer(ResponseModel):
    """Somebody else changed the text meanwhile; nothing was overwritten."""

    error: ErrorDetail
    current: Item
    change: int | None = None
    """Pass it as ``before`` to go past it."""


class TextChange(ResponseModel):
    """A change of a text."""

    id: int
    who: str
    when: str
    kind: str
    before: StoredAnnotation
    after: StoredAnnotation


class TextHistory(ResponseModel):
    """All changes of a text, the first one first."""

    changes: list[TextChange]


class ChangeNotice(ResponseModel):
    """That a text was changed."""

    id: int
    text: int
    who: str
    when: str
    kind: str
    revision: int


class ChangeNotices(ResponseModel):
    """What happened since."""

    changes: list[ChangeNotice]
    last: int


class ScoredType(ResponseModel):
    """F1 of a type in percent."""

    type: str
    before: float | None
    """Null for a version that never learned the type; ``after`` too."""
    after: float | None
    gold: int
    """Entities in the texts it was measured on."""
    texts: int
    """Those texts: held back, decided and complete for the type."""
    real: bool
    """Whether the difference is more than chance gives."""
    few: bool
    """Whether there are too few entities to tell anything."""


class GoldAnswer(ResponseModel):
    """The scores on held-back texts with a decision."""

    texts: int
    types: list[ScoredType]


class ComparedSentence(ResponseModel):
    """A text in which the versions differ."""

    id: int
    text: str
    changes: list[dict[str, Any]]


class Verdict(ResponseModel):
    """Whether to use the newer version, and why."""

    use: bool
    answer: Literal["yes", "no", "unknown"]
    """``unknown`` where there is not enough evidence for either."""
    sentence: str


class ComparisonAnswer(ResponseModel):
    """Two versions side by side."""

    old: str
    new: str
    gold: GoldAnswer
    texts: dict[str, float | None]
    """How many texts (``all``) and entities: ``kept``, ``moved``, and so on; ``agreement`` in percent."""
    sentences: list[ComparedSentence]
    verdict: Verdict


class InUseAnswer(ResponseModel):
    """The version in use."""

    in_use: str


class UseAnswer(ResponseModel):
    """A version was put into use."""

    version: str
    who: str
    when: str


class TaughtAnswer(ResponseModel):
    """What a version was taught from."""

    version: str
    texts: list[int]
    """The numbers of texts; none for a version that was brought along."""


class HistoryAnswer(ResponseModel):
    """When which version was put into use, the newest first, and all versions."""

    back: str | None
    """The version that going back would put into use."""
    uses: list[UseAnswer]
    versions: list[VersionAnswer]
