"""Reloads that reach all workers as one.

First every worker loads the new version beside the old one; if one of them cannot, all keep the old one. Then all let
no request in, all swap, and all let requests in again: no request that comes after an answer of the new version meets
the old one. A reload ends only when the requests that came before the swap are answered, so after it nobody answers
from the old version.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from retainer.errors import InputError
from retainer.serve.folder_watch import watch_folders
from retainer.serve.metrics import Metrics
from retainer.serve.model_paths import folder_state
from retainer.serve.workers.channel import Failed, Gone
from retainer.serve.workers.crew import WorkerCrew
from retainer.serve.workers.member import Member
from retainer.serve.workers.orders import Orders, followed_path

ANSWER_PATIENCE = 10.0
"""How long a worker may take for each step of a swap before it is killed; the steps take milliseconds."""

Facts = dict[str, Any]
"""Of a version that a worker has loaded: its hash and its types."""


class Reloads:
    """Knows what all workers serve, and changes it."""

    def __init__(self, crew: WorkerCrew, orders: Orders, metrics: Metrics, log: Callable[[str], None]) -> None:
        """Begin with the versions as they lie there now."""
        self._crew, self._metrics, self._log = crew, metrics, log
        self._states = {name: folder_state(path) for name, path in orders.paths.items()}
        self._orders = replace(orders, places={name: followed_path(path) for name, path in orders.paths.items()})
        self._hashes: dict[str, str] = {}
        self._lock = asyncio.Lock()

    async def reload(self, names: Sequence[str] = ()) -> dict[str, str]:
        """Check some folders, or all; load what has changed everywhere, and swap. A failure changes nothing."""
        async with self._lock:
            return {name: await self._reload(name, retry=not names) for name in names or self._orders.paths}

    async def watch(self, seconds: float) -> None:
        """Check all folders at intervals, and reload what has changed."""
        await watch_folders(self._orders.paths, self._states, self.reload, seconds)

    async def welcome(self, member: Member) -> Facts:
        """Let a new worker load what the others serve; only then may it answer."""
        facts: Facts = await member.call("start", orders=self._orders.as_json())
        async with self._lock:
            found = {name: one["hash"] for name, one in facts["versions"].items()}
            for name, hash_ in self._hashes.items():
                if found[name] != hash_:  # the others have swapped meanwhile
                    found[name] = await self._catch_up(member, name)
            if self._hashes and found != self._hashes:
                changed = ", ".join(name for name in found if found[name] != self._hashes[name])
                raise Failed(f"the files of {changed} are no longer those that the others serve; reload them")
            self._hashes = found
            await member.call("mark_failed", failed=self._failed())
        return facts

    async def _catch_up(self, member: Member, name: str) -> str:
        made: Facts = await member.call("prepare", name=name, place=self._orders.places[name])
        await member.call("swap", name=name)
        return str(made["hash"])

    async def _reload(self, name: str, *, retry: bool) -> str:
        """Do for all workers what a registry does for one; a reload on request retries what failed before."""
        path = self._orders.paths[name]
        now = folder_state(path)
        if now == self._states[name] and not (retry and name in self._orders.failed):
            return "unchanged"
        before, self._states[name] = self._states[name], now
        place = followed_path(path)
        try:
            made = await self._prepare(name, place)
        except (InputError, Failed) as error:
            await self._crew.all("discard", ANSWER_PATIENCE, name=name)
            if not retry and folder_state(path) != now:
                self._states[name] = before  # it is still being written: a watch looks again
                return "unchanged"
            self._orders.failed[name] = datetime.now(UTC)
            await self._crew.all("mark_failed", ANSWER_PATIENCE, failed=self._failed())
            self._log(f"{name}: the new version cannot be loaded, so the old one is still served: {error}")
            self._metrics.reloads.add(name, "failed")
            return "failed"
        old, self._hashes[name], self._orders.places[name] = self._hashes[name], made["hash"], place
        self._orders.failed.pop(name, None)
        await self._swap(name)
        self._log(f"{name}: {made['hash'][:12]} replaces {old[:12]}; it knows {', '.join(made['types'])}")
        self._metrics.reloads.add(name, "swapped")
        return "swapped"

    async def _prepare(self, name: str, place: str) -> Facts:
        """Let all workers load a version, and make sure that it is the same one.

        One that ends meanwhile is passed over: who takes its place loads what the others serve by then.
        """
        made = await asyncio.gather(
            *(member.call("prepare", name=name, place=place) for member in self._crew.ready), return_exceptions=True
        )
        for one in made:
            if isinstance(one, BaseException) and not isinstance(one, Gone):
                raise one
        whole: list[Facts] = [one for one in made if not isinstance(one, BaseException)]
        if not whole:
            raise Failed("no worker is left that could load it; reload again")
        if any(one != whole[0] for one in whole):
            raise InputError("its files changed while they were loaded; reload again")
        return whole[0]

    async def _swap(self, name: str) -> None:
        """Swap everywhere between two moments in which no worker lets a request in."""
        await self._crew.all("hold", ANSWER_PATIENCE)
        await self._crew.all("swap", ANSWER_PATIENCE, name=name)
        await self._crew.all("release", ANSWER_PATIENCE)
        await self._crew.all("mark_failed", ANSWER_PATIENCE, failed=self._failed())
        await self._crew.all("clear", self._orders.settings.limits.answer_seconds + ANSWER_PATIENCE)

    def _failed(self) -> dict[str, str]:
        return {name: since.isoformat() for name, since in self._orders.failed.items()}
