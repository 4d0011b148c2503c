"""The versions on duty. A new one is loaded beside the old one and takes over between two requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from retainer.errors import InputError, nearest
from retainer.serve.batches import CHARACTERS, Batches
from retainer.serve.metrics import Gauge, Metrics, Reading
from retainer.serve.model_paths import Stamp, stamp
from retainer.serve.responses import Refusal
from retainer.versions.card import on_one_line
from retainer.versions.lineage import CARD_FILE
from retainer.versions.version import Version, load

WARM_UP = "A first text, so that nobody waits for what happens only once ."
CARD_LENGTH = 2**18

Outcome = Literal["swapped", "unchanged", "failed"]


@dataclass(frozen=True, eq=False)
class ServedVersion:
    """A version that answers: loaded, warm, with a queue of its own."""

    name: str
    version: Version
    hash: str
    """The name that no folder can change: of its record, or of its weights where it has none."""
    batches: Batches
    card: str
    since: datetime


class Registry:
    """Who is on duty, by name; the first answers where nobody is named. To be used in one event loop's thread."""

    def __init__(
        self, places: Mapping[str, str], counters: Metrics, tell: Callable[[str], None], *, device: str = "auto"
    ) -> None:
        """Load all versions; one that cannot be loaded is refused, for nobody is on duty in its place yet."""
        self.places, self.counters, self.device = dict(places), counters, device
        self.tell: Callable[[str], None] = lambda line: tell(on_one_line(line))  # names of types may hold any character
        self.failed: dict[str, datetime] = {}
        """Versions whose folder changed to something that cannot be loaded, since when; the old one goes on."""
        self.draining = False
        self._stamps = {name: stamp(place) for name, place in places.items()}
        self._duties = {name: self._load(name) for name in places}
        self._loader = ThreadPoolExecutor(1, thread_name_prefix="loader")
        self._busy = asyncio.Lock()
        counters.more += self._gauges()

    def __iter__(self) -> Iterator[ServedVersion]:
        """Walk through the versions on duty, in the order they were named."""
        return iter(list(self._duties.values()))

    def pick(self, name: str | None = None) -> ServedVersion:
        """Return a version by name, the first without."""
        if name is None:
            return next(iter(self))
        if name not in self._duties:
            known = ", ".join(self._duties)
            raise Refusal(
                422,
                "unknown_version",
                f"there is no such version on duty{nearest(name, self._duties)}; there are {known}",
            )
        return self._duties[name]

    async def reload(self, names: Iterable[str] = ()) -> dict[str, Outcome]:
        """Look at some folders, or all; load what changed, and swap. What cannot be loaded changes nothing."""
        async with self._busy:
            asked = tuple(names) or self.places
            return {name: await self._renew(name, again=not names) for name in asked}

    async def watch(self, seconds: float) -> None:
        """Look at all folders every so often; what has changed must look the same twice, lest it is half written."""
        seen: dict[str, Stamp] = {}
        while True:
            await asyncio.sleep(seconds)
            now = {name: stamp(place) for name, place in self.places.items()}
            if settled := [name for name in now if now[name] != self._stamps[name] and now[name] == seen.get(name)]:
                await self.reload(settled)
            seen = now

    def close(self, seconds: float | None = None) -> None:
        """End all work; what waits is still done."""
        for duty in self:
            duty.batches.close()
        for duty in self:
            duty.batches.join(seconds)
        self._loader.shutdown(wait=False, cancel_futures=True)

    async def _renew(self, name: str, *, again: bool) -> Outcome:
        """Load one version in another thread and put it in the place of the old one.

        What failed before is tried again where somebody asks: "unchanged" would sound as if all were well.
        """
        now = stamp(self.places[name])
        if now == self._stamps[name] and not (again and name in self.failed):
            return "unchanged"
        self._stamps[name] = now
        try:
            duty = await asyncio.get_running_loop().run_in_executor(self._loader, self._load, name)
        except Exception as error:
            what = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            self.failed[name] = datetime.now(UTC)
            self.tell(f"{name}: the new version cannot be loaded, the old one stays on duty: {what}")
            self.counters.reloads.add(name, "failed")
            return "failed"
        old, self._duties[name] = self._duties[name], duty
        old.batches.close()  # what it has begun it ends; who comes now gets the new one
        self.failed.pop(name, None)
        self.tell(
            f"{name}: {old.hash[:12]} hands over to {duty.hash[:12]}, which knows {', '.join(duty.version.types)}"
        )
        self.counters.reloads.add(name, "swapped")
        return "swapped"

    def _load(self, name: str) -> ServedVersion:
        """Load a version and try it, before anybody depends on it."""
        place = self.places[name]
        version = load(place, device=self.device, need_head=True)
        version.generators = ()  # only learning needs them
        _let_go_of_files(version)
        version.predict(WARM_UP)
        characters = CHARACTERS.get(version.tagger.device.type, CHARACTERS["cpu"])
        batches = Batches(name, version.predict, self.counters, characters=characters)
        hash_ = version.lineage.own_hash or version.fingerprint
        return ServedVersion(name, version, hash_, batches, _card(place), datetime.now(UTC))

    def _gauges(self) -> tuple[Gauge, ...]:
        """Return what can be read off the roster at any moment."""
        return (
            Gauge(
                "retainer_queue_texts",
                "Texts that wait.",
                lambda: self._read(lambda one: one.batches.waiting),
                "version",
            ),
            Gauge(
                "retainer_version_loaded_timestamp_seconds",
                "When the version on duty was loaded.",
                lambda: self._read(lambda one: one.since.timestamp()),
                "version",
            ),
            Gauge(
                "retainer_version_stale",
                "1 where what lies in the folder now could not be loaded.",
                lambda: self._read(lambda one: one.name in self.failed),
                "version",
            ),
            Gauge(
                "retainer_version_info",
                "Which version is on duty.",
                lambda: [((one.name, one.hash), 1) for one in self],
                "version",
                "hash",
            ),
        )

    def _read(self, fact: Callable[[ServedVersion], float]) -> Reading:
        return [((one.name,), fact(one)) for one in self]


def _let_go_of_files(version: Version) -> None:
    """Copy weights that lie in a file's memory: whoever overwrites the file would otherwise change or break us."""
    for tensor in (*version.tagger.parameters(), *version.tagger.buffers()):
        tensor.data = tensor.data.clone()


def _card(place: str) -> str:
    """Return the model card, if there is one: people may have edited it."""
    try:
        with (Path(place) / CARD_FILE).open(encoding="utf-8", errors="replace") as file:
            return file.read(CARD_LENGTH)
    except OSError:
        return ""
