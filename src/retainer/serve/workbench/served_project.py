"""A project behind HTTP: its versions in the registry, what they find in its texts, and the job that runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from retainer.errors import InputError
from retainer.serve.registry import Registry, ServedVersion
from retainer.serve.workbench.job_runner import JobRunner
from retainer.serve.workbench.predictions import Predictions
from retainer.serve.workbench.refusals import in_thread, refusal
from retainer.workbench.next_texts import FoundEntities
from retainer.workbench.project import Project
from retainer.workbench.texts import StoredText
from retainer.workbench.versions import ProjectVersion

MOST_LOADED = 4
"""Versions in memory at once, the one in use among them; the one that was asked for least recently goes first."""


class ServedProject:
    """A project, its versions that are loaded, and the jobs that run beside them. For the thread of one event loop."""

    def __init__(self, project: Project, registry: Registry, current: str | None = None) -> None:
        """Take a project, and the name of its version in use, if there is one and the registry has it."""
        self.project, self.registry, self.current = project, registry, current
        self.predictions = Predictions()
        self.runner = JobRunner(project, registry.log, registry.device)
        self.comparisons: dict[tuple[object, ...], dict[str, Any]] = {}
        """The last comparisons, by what they depend on."""
        self.comparing = asyncio.Lock()
        """One comparison at a time: each keeps two versions busy."""
        self.followers = 0
        """Clients that follow the events of a job."""
        self.looking_ahead: asyncio.Task[None] | None = None
        """Looks at the texts that may come next."""
        self._asked: list[str] = [served.name for served in registry]
        self._switching = asyncio.Lock()

    def in_use(self) -> ServedVersion | None:
        """Return the version in use, if there is one and it could be loaded."""
        return self.loaded(self.current)

    def loaded(self, name: str | None) -> ServedVersion | None:
        """Return a version if it is loaded now."""
        return self.registry.get(name) if name in self.registry.paths else None

    async def version(self, name: str) -> ServedVersion:
        """Return a version of the project, loaded if it was not."""
        place = await in_thread(lambda: self.project.versions.place(name))
        try:
            served = await self.registry.add(name, place)
        except InputError as error:
            raise refusal(error) from None
        self._asked = [*(one for one in self._asked if one != name), name]
        await self._make_room(name)
        return served

    async def _make_room(self, wanted: str) -> None:
        """Let go of versions that were not asked for lately; never of the one in use."""
        spared = {wanted, self.current}
        loaded = [name for name in self._asked if name in self.registry.paths]
        for name in [name for name in loaded if name not in spared][: max(0, len(loaded) - MOST_LOADED)]:
            await self.registry.drop(name)

    async def use(self, name: str, who: str) -> str:
        """Put a version into use: loaded first, recorded then, and from the next request on it answers."""
        async with self._switching:
            await self.version(name)
            await in_thread(lambda: self._used(self.project.versions.use(name, who), who))
            return self._lead(name)

    async def go_back(self, who: str) -> str:
        """Put the version into use again that was in use before."""
        async with self._switching:
            before = await in_thread(self.project.versions.require_before)
            await self.version(before.name)
            await in_thread(lambda: self._used(self.project.versions.go_back(who), who))
            return self._lead(before.name)

    def _used(self, version: ProjectVersion, who: str) -> None:
        """Let a type be there again that was removed, where the version finds it."""
        self.project.types.ensure_found(version.types, who)

    def _lead(self, name: str) -> str:
        self.registry.lead(name)
        self.current = name
        return name

    async def found(self, texts: Sequence[StoredText]) -> dict[int, FoundEntities]:
        """Return what the version in use finds in some texts; without one, nothing."""
        names = await in_thread(self.project.types.renamed)
        served = self.in_use()
        return {} if served is None else await self.predictions.found(served, texts, names)
