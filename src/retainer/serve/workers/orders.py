"""What a worker is told at its start: all that a server needs to know, as JSON."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from retainer.errors import InputError
from retainer.serve.settings import Limits, Settings

MOST_WORKERS = 64


@dataclass(frozen=True)
class Orders:
    """The same for all workers."""

    settings: Settings
    """With the worker's share of the limits."""
    paths: dict[str, str]
    """The folders or hub names of the versions, as they were given."""
    device: str
    places: dict[str, str] = field(default_factory=dict)
    """Where each version was loaded from: a link that was given may point elsewhere by now."""
    failed: dict[str, datetime] = field(default_factory=dict)
    """Since when a folder holds something that cannot be loaded."""

    def as_json(self) -> dict[str, Any]:
        """Return the orders as a document."""
        failed = {name: since.isoformat() for name, since in self.failed.items()}
        return {**asdict(self), "failed": failed}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Orders:
        """Read a document."""
        settings = document["settings"]
        several = {name: tuple(settings[name]) for name in ("origins", "hosts")}
        return cls(
            Settings(**{**settings, **several, "limits": Limits(**settings["limits"])}),
            document["paths"],
            document["device"],
            document["places"],
            {name: datetime.fromisoformat(since) for name, since in document["failed"].items()},
        )


def shared_settings(settings: Settings, workers: int) -> Settings:
    """Return the settings of one of so many workers: all together allow no more than one server does."""
    limits = settings.limits
    if not 1 <= workers <= MOST_WORKERS:
        raise InputError(f"--workers {workers}: expected 1 to {MOST_WORKERS}")
    if workers > limits.requests:
        raise InputError(
            f"--workers {workers} with --max-requests {limits.requests}: each worker answers at least one request"
        )
    share = {"requests": limits.requests // workers, "connections": max(limits.connections // workers, 1)}
    return replace(settings, limits=replace(limits, **share))


def followed_path(path: str) -> str:
    """Return where a version lies right now: what a link on the way there points to, or else the path as it is."""
    if not Path(path).exists():  # a name on the hub
        return path
    real = os.path.realpath(path)
    return path if real == os.path.abspath(path) else real
