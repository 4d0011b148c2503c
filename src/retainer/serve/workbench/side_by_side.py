"""Two versions on the texts that were held back: both look, and what they find is compared in another thread."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from retainer.comparison.changes import CHANGE_KINDS, Case, Change
from retainer.serve.registry import ServedVersion
from retainer.serve.workbench.documents import entity_document
from retainer.serve.workbench.refusals import in_thread
from retainer.serve.workbench.served_project import ServedProject
from retainer.workbench.annotation import AnnotatedText
from retainer.workbench.texts import StoredText
from retainer.workbench.version_comparison import ComparedText, TypesOfBoth, VersionComparison, compare_versions

MOST_JUDGED, MOST_PLAIN = 1000, 500
"""Texts with and without a decision on which versions are compared, drawn by their hash."""
MOST_SENTENCES, MOST_CHARACTERS = 200, 500_000
"""Texts with a difference that are shown, and characters of them all."""
_KEPT_COMPARISONS = 8


async def side_by_side(served: ServedProject, old: str, new: str) -> dict[str, Any]:
    """Compare two versions, or one with nothing; the same question about the same texts is answered at once."""
    async with served.comparing:
        before, after = await served.version(old) if old else None, await served.version(new)
        key = (before and before.hash, after.hash, old, new, *await in_thread(lambda: _state(served)))
        if key not in served.comparisons:
            found = await _compared(served, before, after)
            document = await asyncio.to_thread(_document, found, old, new)
            while len(served.comparisons) >= _KEPT_COMPARISONS:
                served.comparisons.pop(next(iter(served.comparisons)))
            served.comparisons[key] = document
        return served.comparisons[key]


def _state(served: ServedProject) -> tuple[object, ...]:
    """Return what a comparison depends on besides the versions."""
    project = served.project
    with project.database.reading():
        return project.annotations.last_change(), project.texts.count(), project.types.names()


async def _compared(served: ServedProject, old: ServedVersion | None, new: ServedVersion) -> VersionComparison:
    texts, said, names = await in_thread(lambda: _held_back(served))
    before = await served.predictions.found(old, texts, names) if old else {}
    after = await served.predictions.found(new, texts, names)
    types = TypesOfBoth(_learned(old, names) if old else (), _learned(new, names))
    compared = [
        ComparedText(
            text,
            said[text.id].annotation if said[text.id].annotation.decided else None,
            sorted(before.get(text.id, ())),
            sorted(after[text.id]),
        )
        for text in texts
    ]
    return await asyncio.to_thread(compare_versions, types, compared)


def _learned(served: ServedVersion, names: Mapping[str, str]) -> tuple[str, ...]:
    """Return what a version was taught to find, by the names of today, under which two may have become one."""
    return tuple(dict.fromkeys(names.get(type_, type_) for type_ in served.version.learned_types))


def _held_back(served: ServedProject) -> tuple[Sequence[StoredText], dict[int, AnnotatedText], dict[str, str]]:
    project = served.project
    with project.database.reading():
        texts = (
            *project.texts.draw_held_back(MOST_JUDGED, decided=True),
            *project.texts.draw_held_back(MOST_PLAIN, decided=False),
        )
        return texts, project.annotations.many([text.id for text in texts]), project.types.renamed()


def _document(found: VersionComparison, old: str, new: str) -> dict[str, Any]:
    difference = found.difference
    scores = [
        {
            "type": one.type,
            "before": one.before,
            "after": one.after,
            "gold": one.scope.entities,
            "texts": one.scope.texts,
            "real": one.real,
            "few": one.few,
        }
        for one in found.rows
    ]
    return {
        "old": old,
        "new": new,
        "gold": {"texts": found.judged, "types": scores},
        "texts": {
            "all": difference.texts,
            **{kind: difference.kinds[kind] for kind in CHANGE_KINDS},
            "agreement": difference.agreement,
        },
        "sentences": list(_sentences(found)),
        "verdict": {"use": found.verdict.use, "answer": found.verdict.answer, "sentence": found.verdict.sentence},
    }


def _sentences(found: VersionComparison) -> Iterator[dict[str, Any]]:
    """Yield texts in which the versions differ, as many as a page can show."""
    room, characters = MOST_SENTENCES, MOST_CHARACTERS
    for case in found.difference.cases:
        if case.differs and room and characters >= len(case.text):
            room, characters = room - 1, characters - len(case.text)
            yield _sentence(case)


def _sentence(case: Case) -> dict[str, Any]:
    return {"id": case.number, "text": case.text, "changes": [_change(one) for one in case.changes]}


def _change(change: Change) -> dict[str, Any]:
    sides = {"old": change.old, "new": change.new}
    return {"kind": change.kind, **{name: span and entity_document(span) for name, span in sides.items()}}
