"""The served versions. A new one is loaded beside the old one and takes over between two requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from starlette.types import ASGIApp

from retainer.errors import InputError, nearest
from retainer.serve.batches import MAX_BATCH_CHARACTERS, Batches
from retainer.serve.folder_watch import watch_folders
from retainer.serve.metrics import Gauge, Metrics, Samples
from retainer.serve.model_paths import folder_state
from retainer.serve.responses import ApiError
from retainer.versions.card import on_one_line
from retainer.versions.lineage import CARD_FILE, has_record
from retainer.versions.own_files import holds
from retainer.versions.version import Version, load

WARM_UP_TEXT = "A first text , so that no client waits for what happens only once ."
MAX_CARD_LENGTH = 2**18

ReloadOutcome = Literal["swapped", "unchanged", "failed"]


@dataclass(frozen=True, eq=False)
class ServedVersion:
    """A version that answers requests: loaded, warm, with a queue of its own."""

    name: str
    version: Version
    hash: str
    """Identifies it whatever its folder is called: the hash of its record, or of its weights if it has none."""
    batches: Batches
    card: str
    loaded_at: datetime


class Registry:
    """The served versions by name; the first is the default. To be used in the thread of one event loop."""

    def __init__(
        self, paths: Mapping[str, str], metrics: Metrics, log: Callable[[str], None], *, device: str = "auto"
    ) -> None:
        """Load all versions; one that cannot be loaded is an error, because there is no old one to serve instead."""
        self.paths, self.metrics, self.device = dict(paths), metrics, device
        self.log: Callable[[str], None] = lambda line: log(on_one_line(line))  # names of types may hold any character
        self.failed: dict[str, datetime] = {}
        """Since when the folder of a version holds something that cannot be loaded; the old one is still served."""
        self.draining = False
        self._states = {name: folder_state(path) for name, path in paths.items()}
        self._served = {name: self._load(name, path) for name, path in paths.items()}
        self._loader = ThreadPoolExecutor(1, thread_name_prefix="loader")
        self._reloading = asyncio.Lock()
        metrics.gauges += self._gauges()

    def __iter__(self) -> Iterator[ServedVersion]:
        """Iterate over the versions in the order of the command line."""
        return iter(list(self._served.values()))

    def get(self, name: str | None = None) -> ServedVersion:
        """Return a version by name, or the default."""
        if name is None and self._served:
            return next(iter(self))
        if name is None or not self._served:
            raise ApiError(422, "no_version", "there is no version yet; teach one, or start the server with a model")
        if name not in self._served:
            known = ", ".join(self._served)
            raise ApiError(
                422, "unknown_version", f"no such version is served{nearest(name, self._served)}; there are {known}"
            )
        return self._served[name]

    async def add(self, name: str, path: str) -> ServedVersion:
        """Load one more version beside the others; one that is served under this name stays."""
        async with self._reloading:
            if name not in self._served:
                state = folder_state(path)
                new = await asyncio.get_running_loop().run_in_executor(self._loader, self._load, name, path)
                self.paths[name], self._states[name], self._served[name] = path, state, new
            return self._served[name]

    async def drop(self, name: str) -> None:
        """Serve a version no longer; the texts in its queue are still computed."""
        async with self._reloading:
            for table in (self.paths, self._states, self.failed):
                table.pop(name, None)
            if (old := self._served.pop(name, None)) is not None:
                old.batches.close()

    def lead(self, name: str) -> None:
        """Make a version the first one, so that it answers requests that name none, from the next one on."""
        self._served = {name: self._served[name], **self._served}

    async def reload(self, names: Iterable[str] = ()) -> dict[str, ReloadOutcome]:
        """Check some folders, or all; load what has changed, and swap. What cannot be loaded changes nothing."""
        async with self._reloading:
            chosen = [name for name in tuple(names) or tuple(self.paths) if name in self.paths]
            return {name: await self._reload(name, retry=not names) for name in chosen}

    async def watch(self, seconds: float) -> None:
        """Check all folders at intervals, and reload what has changed."""
        await watch_folders(self.paths, self._states, self.reload, seconds)

    async def exposition(self) -> str:
        """Return all metrics of the server in the text format of Prometheus."""
        return self.metrics.exposition()

    def before_routes(self, app: ASGIApp) -> ASGIApp:
        """Return the routes with what a request passes before it may ask for a version: here, nothing."""
        return app

    def close(self, seconds: float | None = None) -> None:
        """Take no more texts; those in the queues are still computed."""
        for served in self:
            served.batches.close()
        for served in self:
            served.batches.join(seconds)
        self._loader.shutdown(wait=False, cancel_futures=True)

    async def _reload(self, name: str, *, retry: bool) -> ReloadOutcome:
        """Load one version in another thread and put it in the place of the old one.

        A reload on request retries what failed before: "unchanged" would suggest that the folder is fine.
        """
        now = folder_state(self.paths[name])
        if now == self._states[name] and not (retry and name in self.failed):
            return "unchanged"
        before, self._states[name] = self._states[name], now
        try:
            new = await asyncio.get_running_loop().run_in_executor(self._loader, self._load, name, self.paths[name])
        except Exception as error:
            if not retry and folder_state(self.paths[name]) != now:
                self._states[name] = before  # it is still being written: a watch looks again
                return "unchanged"
            reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            self.failed[name] = datetime.now(UTC)
            self.log(f"{name}: the new version cannot be loaded, so the old one is still served: {reason}")
            self.metrics.reloads.add(name, "failed")
            return "failed"
        old, self._served[name] = self._served[name], new
        old.batches.close()  # it finishes the requests it has; later ones go to the new version
        self.failed.pop(name, None)
        self.log(f"{name}: {new.hash[:12]} replaces {old.hash[:12]}; it knows {', '.join(new.version.types)}")
        self.metrics.reloads.add(name, "swapped")
        return "swapped"

    def _load(self, name: str, path: str) -> ServedVersion:
        """Load a version and run it once, so that a broken one is noticed before it is served."""
        version = load(path, device=self.device, need_head=True)
        version.generators = ()  # only learning needs them
        _copy_weights(version)
        version.predict(WARM_UP_TEXT)
        version.require_unchanged()
        max_characters = MAX_BATCH_CHARACTERS.get(version.tagger.device.type, MAX_BATCH_CHARACTERS["cpu"])
        batches = Batches(name, version.predict, self.metrics, max_characters=max_characters)
        hash_ = version.lineage.own_hash or version.fingerprint
        return ServedVersion(name, version, hash_, batches, _read_card(version.place or Path(path)), datetime.now(UTC))

    def _gauges(self) -> tuple[Gauge, ...]:
        """Return the metrics that are read off the registry at each scrape."""
        return (
            Gauge(
                "retainer_queue_texts",
                "Texts that wait in the queue.",
                lambda: self._samples(lambda served: served.batches.waiting),
                "version",
            ),
            Gauge(
                "retainer_version_loaded_timestamp_seconds",
                "When the served version was loaded.",
                lambda: self._samples(lambda served: served.loaded_at.timestamp()),
                "version",
                across="max",
            ),
            Gauge(
                "retainer_version_stale",
                "1 if the files in the folder could not be loaded, so that an older version is served.",
                lambda: self._samples(lambda served: served.name in self.failed),
                "version",
                across="max",
            ),
            Gauge(
                "retainer_version_info",
                "Which version is served.",
                lambda: [((served.name, served.hash), 1) for served in self],
                "version",
                "hash",
                across="max",
            ),
        )

    def _samples(self, read: Callable[[ServedVersion], float]) -> Samples:
        return [((served.name,), read(served)) for served in self]


def _copy_weights(version: Version) -> None:
    """Copy weights that are mapped from a file: overwriting the file would otherwise change or crash the server."""
    for tensor in (*version.tagger.parameters(), *version.tagger.buffers()):
        tensor.data = tensor.data.clone()


def _read_card(folder: Path) -> str:
    """Return the model card, if there is one; people may have edited it. That of a version is no link elsewhere."""
    if not (folder / CARD_FILE).is_file() or (has_record(folder) and not holds(folder, CARD_FILE)):
        return ""
    try:
        with (folder / CARD_FILE).open(encoding="utf-8", errors="replace") as file:
            return file.read(MAX_CARD_LENGTH)
    except OSError:
        return ""
