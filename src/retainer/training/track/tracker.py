"""What a tracker takes of a run, and the one that survives a tracker's failure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from retainer.errors import shortened

Numbers = Mapping[str, float]
"""Numbers by name."""


class Tracker:
    """One run in a tracker. All may fail; whoever calls uses a ``SafeTracker``."""

    def begin(self, title: str, params: Mapping[str, Any]) -> None:
        """Open the run, with what was asked for."""
        raise NotImplementedError

    def numbers(self, values: Numbers, step: int) -> None:
        """Take what was measured at a step: an epoch, or a task."""
        raise NotImplementedError

    def text(self, name: str, text: str) -> None:
        """Take something to read."""
        raise NotImplementedError

    def artifact(self, path: Path, names: Sequence[str] = ()) -> None:
        """Take a file that the run has made, or of a folder the files that are named."""
        raise NotImplementedError

    def end(self, *, good: bool) -> None:
        """Close the run."""
        raise NotImplementedError


class SafeTracker(Tracker):
    """Passes everything on until the tracker fails: then it warns once, and the run goes on without it."""

    def __init__(self, name: str, open_tracker: Callable[[], Tracker], warn: Callable[[str], None]) -> None:
        self._name, self._open, self._warn = name, open_tracker, warn
        self._tracker: Tracker | None = None
        self.failed = False

    def begin(self, title: str, params: Mapping[str, Any]) -> None:
        """Open the tracker, and the run in it."""
        self._try(lambda: self._opened().begin(title, params))

    def numbers(self, values: Numbers, step: int) -> None:
        """Pass numbers on."""
        self._call("numbers", values, step)

    def text(self, name: str, text: str) -> None:
        """Pass a text on."""
        self._call("text", name, text)

    def artifact(self, path: Path, names: Sequence[str] = ()) -> None:
        """Pass a file on, or files of a folder."""
        self._call("artifact", path, names)

    def end(self, *, good: bool) -> None:
        """Close the run, if it is open."""
        self._call("end", good=good)

    def _opened(self) -> Tracker:
        self._tracker = self._open()
        return self._tracker

    def _call(self, what: str, *arguments: Any, **named: Any) -> None:
        if self._tracker is not None:
            tracker = self._tracker
            self._try(lambda: getattr(tracker, what)(*arguments, **named))

    def _try(self, call: Callable[[], None]) -> None:
        if self.failed:
            return
        try:
            call()
        except Exception as error:  # whatever it is, a log of training must not end training
            self.failed = True
            reason = shortened(" ".join(f"{type(error).__name__}: {error}".split()), 200)
            self._warn(f"{self._name} fails, and nothing more is written to it; the run goes on ({reason})")


def tracked_name(type_: str) -> str:
    """Write a type so that every tracker takes it for one part of a name."""
    return re.sub(r"[^\w -]", "_", type_)


def flat_params(prefix: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a recipe or method with a prefix before their names."""
    return {f"{prefix}.{name}": value for name, value in fields.items()}
