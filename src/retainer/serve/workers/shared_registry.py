"""The versions of one worker. It loads, but the supervisor says what and when, so that all workers serve the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime

from starlette.types import ASGIApp

from retainer.serve.metrics import Metrics
from retainer.serve.registry import Registry, ReloadOutcome, ServedVersion
from retainer.serve.workers.channel import Channel
from retainer.serve.workers.orders import Orders
from retainer.serve.workers.turnstile import Turnstile


class SharedRegistry(Registry):
    """A registry that swaps together with those of the other workers."""

    def __init__(self, orders: Orders, channel: Channel, log: Callable[[str], None]) -> None:
        """Load all versions from where the other workers have loaded them."""
        self._places = dict(orders.places)
        super().__init__(orders.paths, Metrics(), log, device=orders.device)
        self.failed = dict(orders.failed)
        self.turnstile = Turnstile()
        self._channel = channel
        self._prepared: dict[str, ServedVersion] = {}

    def before_routes(self, app: ASGIApp) -> ASGIApp:
        """Put the turnstile in front of the routes."""
        return self.turnstile.around(app)

    async def reload(self, names: Iterable[str] = ()) -> dict[str, ReloadOutcome]:
        """Let the supervisor reload all workers."""
        outcomes: dict[str, ReloadOutcome] = await self._channel.call("reload")
        return outcomes

    async def exposition(self) -> str:
        """Return the metrics of all workers together."""
        text: str = await self._channel.call("metrics")
        return text

    async def prepare(self, name: str, place: str) -> ServedVersion:
        """Load a version beside the one that is served, and keep it ready."""
        self.discard(name)
        self._places[name] = place
        loop = asyncio.get_running_loop()
        self._prepared[name] = await loop.run_in_executor(self._loader, self._load, name, place)
        return self._prepared[name]

    def swap(self, name: str) -> None:
        """Serve what was prepared; the old version finishes the requests it has."""
        old, self._served[name] = self._served[name], self._prepared.pop(name)
        old.batches.close()

    def discard(self, name: str) -> None:
        """Forget what was prepared."""
        if (unused := self._prepared.pop(name, None)) is not None:
            unused.batches.close()

    def mark_failed(self, failed: dict[str, datetime]) -> None:
        """Know which folders hold something that cannot be loaded."""
        self.failed = failed

    def _load(self, name: str, path: str) -> ServedVersion:
        return super()._load(name, self._places.get(name, path))
