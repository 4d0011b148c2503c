"""The texts to look at next, with what versions find in them; the time for that is bounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retainer.serve.workbench.documents import item_document
from retainer.serve.workbench.refusals import in_thread
from retainer.serve.workbench.served_project import ServedProject
from retainer.workbench.next_texts import SAMPLE, Candidate, NextText, VersionNames, order_by_worth, unseen
from retainer.workbench.texts import StoredText

SECONDS = 0.5
"""How long a version looks at texts for one request; the next request goes on from there."""


async def next_items(served: ServedProject, limit: int, skip: Sequence[int]) -> list[dict[str, Any]]:
    """Choose among texts without a decision those that are worth looking at next."""
    project = served.project
    drawn = await in_thread(lambda: project.texts.draw(SAMPLE, skip))
    chosen = (await _ordered(served, drawn))[:limit]
    said = await in_thread(lambda: project.annotations.many([one.text.id for one in chosen]))
    found = await served.found([one.text for one in chosen])
    return [item_document(one.text, said[one.text.id], found.get(one.text.id, {}), one.why) for one in chosen]


async def _ordered(served: ServedProject, drawn: Sequence[StoredText]) -> list[NextText]:
    """Put texts into order by what the version in use, and the one it was made from, find in them."""
    project, version = served.project, served.in_use()
    if version is None:
        return [unseen(text) for text in drawn]
    counts, names, facts = await in_thread(
        lambda: (project.annotations.counts(), project.types.renamed(), project.versions.get(version.name))
    )
    now = await served.predictions.found(version, drawn, names, SECONDS)
    seen = [text for text in drawn if text.id in now]
    parent = None if facts.parent is None else await served.version(facts.parent)
    before = {} if parent is None else await served.predictions.found(parent, seen, names, SECONDS)
    candidates = [Candidate(text, now[text.id], before.get(text.id)) for text in seen]
    examples = {name: count.entities for name, count in counts.items()}
    return order_by_worth(candidates, examples, VersionNames(version.name, facts.parent or ""))
