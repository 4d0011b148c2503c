"""The listener: it hears what a run reports, and writes it into a tracker on the way to whoever else listens."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retainer.training.progress import Epoch, Progress
from retainer.training.track.table import require_tracker, safe_tracker
from retainer.training.track.tracker import SafeTracker, flat_params, tracked_name
from retainer.versions.lineage import CARD_FILE, GENERATORS_FOLDER, RECORD_FILE

if TYPE_CHECKING:
    from retainer.training.request import LearnRequest
    from retainer.versions.version import Version


class TrackedProgress(Progress):
    """Passes everything on to another progress, and epochs to a tracker.

    The run in the tracker begins with the first task: what is refused before that leaves no trace there.
    """

    def __init__(self, heard_by: Progress, tracker: SafeTracker, title: str, params: Mapping[str, Any]) -> None:
        self._heard_by, self.tracker, self._title, self._params = heard_by, tracker, title, params
        self._begun, self._before, self._last = False, 0, 0

    def start(self, title: str, steps: int) -> None:
        """Open the run; a second stage of the same task continues it."""
        self._heard_by.start(title, steps)
        if not self._begun:
            self.tracker.begin(self._title, {**self._params, "task": title})
        self._begun, self._before = True, self._last

    def step(self) -> None:
        """Pass it on."""
        self._heard_by.step()

    def epoch(self, epoch: Epoch) -> None:
        """Write the losses of an epoch, its dev score and its time."""
        self._heard_by.epoch(epoch)
        self._last = self._before + epoch.number
        terms = {f"loss/{tracked_name(name)}": value for name, value in epoch.losses.items()}
        dev = {} if epoch.dev is None else {"dev/f1": epoch.dev}
        total = {"loss/total": sum(epoch.losses.values())}
        self.tracker.numbers({**terms, **total, **dev, "time/epoch_seconds": epoch.seconds}, self._last)

    def note(self, text: str) -> None:
        """Pass it on."""
        self._heard_by.note(text)

    def warn(self, text: str) -> None:
        """Pass it on."""
        self._heard_by.warn(text)

    def finish(self) -> None:
        """Pass it on; the run stays open for what was measured at the end."""
        self._heard_by.finish()

    def learned(self, version: Version, out: Path) -> None:
        """Write what became of every type, what was kept, and the version itself."""
        record = version.lineage
        self.tracker.numbers(final_numbers(record.scores), self._last)
        if effect := record.scores.get("balance"):
            self.tracker.text("kept", str(effect["in_words"]))
        self.tracker.text("version", f"{record.own_hash} in {out.name}, made from {record.parent_name}")
        self.tracker.artifact(out, [*record.wordless_files, RECORD_FILE, CARD_FILE])
        if record.wordless_files != record.checked_files:
            self.warn(
                f"the language models of {out.name} ({GENERATORS_FOLDER}/) hold words of training sentences and are "
                "not written to the tracker; the files there do not load without them"
            )


def final_numbers(scores: Mapping[str, Any]) -> dict[str, float]:
    """Return the scores per type, those of old types before, and the percentage kept of what was found before."""
    found: dict[str, float] = {}
    for prefix, rows in (("", scores.get("per_type", {})), ("before_", scores.get("before", {}))):
        for type_, row in rows.items():
            for name in ("precision", "recall", "f1"):
                found[f"{prefix}{name}/{tracked_name(type_)}"] = float(row[name])
    effect = scores.get("balance", {})
    kept = {**effect.get("old", {}), **({"all types": effect["all"]} if effect.get("old") else {})}
    for type_, row in kept.items():
        if row.get("share") is not None:
            found[f"kept/{tracked_name(type_)}"] = float(row["share"])
    return found


def request_params(request: LearnRequest) -> dict[str, Any]:
    """Return what was asked for: method and recipe with all their fields, data, seed."""
    method = {} if isinstance(request.method, str) else asdict(request.method)
    data = request.data if isinstance(request.data, str | Path) else request.data.source
    start = request.start if isinstance(request.start, str | Path) else request.start.lineage.own_hash
    return {
        "method": request.method_name or str(request.method),
        "data": os.path.basename(data),
        "from": os.path.basename(os.path.normpath(start)),
        "types": ", ".join(request.types or ()) or "all",
        "seed": request.seed,
        **flat_params("method", method),
        **flat_params("recipe", asdict(request.recipe)),
    }


@contextlib.contextmanager
def tracked(name: str | None, progress: Progress, request: LearnRequest, out: Path) -> Iterator[Progress]:
    """Give a progress that also writes into a tracker, if one is named; the run there ends as this one does."""
    if name is None:
        yield progress
        return
    require_tracker(name)
    heard = TrackedProgress(progress, safe_tracker(name, progress.warn), out.name, request_params(request))
    good = False
    try:
        yield heard
        good = True
    finally:
        heard.tracker.end(good=good)
