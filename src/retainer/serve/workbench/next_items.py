"""The texts to look at next, with what versions find in them: a glance while somebody waits, the rest ahead of that."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from retainer.serve.responses import ApiError
from retainer.serve.workbench.documents import item_document
from retainer.serve.workbench.predictions import FEW_AT_ONCE
from retainer.serve.workbench.refusals import in_thread
from retainer.serve.workbench.served_project import ServedProject
from retainer.workbench.next_texts import SAMPLE, Candidate, NextText, VersionNames, order_by_worth, unseen
from retainer.workbench.texts import StoredText

LEAST = 2
"""Texts among which the first request of all chooses, while somebody waits."""


async def next_items(served: ServedProject, limit: int, skip: Sequence[int]) -> list[dict[str, Any]]:
    """Choose among texts without a decision those that are worth looking at next."""
    project = served.project
    drawn = await in_thread(lambda: project.texts.draw(SAMPLE, skip))
    chosen = (await _ordered(served, drawn, max(limit, LEAST)))[:limit]
    said = await in_thread(lambda: project.annotations.many([one.text.id for one in chosen]))
    found = await served.found([one.text for one in chosen])
    look_ahead(served, drawn)
    return [item_document(one.text, said[one.text.id], found.get(one.text.id, {}), one.why) for one in chosen]


async def _ordered(served: ServedProject, drawn: Sequence[StoredText], least: int) -> list[NextText]:
    """Put texts into order by what the version in use, and the one it was made from, find in them; some at least."""
    project, version = served.project, served.in_use()
    if version is None:
        return [unseen(text) for text in drawn]
    counts, names, facts = await in_thread(
        lambda: (project.annotations.counts(), project.types.renamed(), project.versions.get(version.name))
    )
    now = served.predictions.known(version, drawn, names)
    if len(now) < least:  # the first request of all; the others find what was looked at ahead
        now |= await served.predictions.found(version, drawn[:least], names, at_once=FEW_AT_ONCE)
    seen = [text for text in drawn if text.id in now]
    parent = served.loaded(facts.parent)
    before = {} if parent is None else served.predictions.known(parent, seen, names)
    candidates = [Candidate(text, now[text.id], before.get(text.id)) for text in seen]
    examples = {name: count.entities for name, count in counts.items()}
    return order_by_worth(candidates, examples, VersionNames(version.name, facts.parent or ""))


def look_ahead(served: ServedProject, texts: Sequence[StoredText]) -> None:
    """Let the version in use, and the one it was made from, look at texts beside the requests, unless they do."""
    if served.looking_ahead is None or served.looking_ahead.done():
        served.looking_ahead = asyncio.ensure_future(_looked_ahead(served, texts))


async def _looked_ahead(served: ServedProject, texts: Sequence[StoredText]) -> None:
    version = served.in_use()
    if version is None:
        return
    try:
        await served.predictions.found(version, texts, {}, at_once=FEW_AT_ONCE)
        facts = await in_thread(lambda: served.project.versions.get(version.name))
        if facts.parent is not None:
            parent = await served.version(facts.parent)
            await served.predictions.found(parent, texts, {}, at_once=FEW_AT_ONCE)
    except ApiError:  # a version was replaced, or cannot be loaded: who asks for it is told
        return


async def look_at_first_texts(served: ServedProject) -> None:
    """Look at the texts that come first, before anybody asks."""
    _, drawn = await in_thread(lambda: (served.project.annotations.counts(), served.project.texts.draw(SAMPLE)))
    await _looked_ahead(served, drawn)
