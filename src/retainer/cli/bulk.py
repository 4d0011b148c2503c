"""Bulk tagging as the command line does it: with a line that says how fast it is and how long it will take."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

from retainer.cli.output import note
from retainer.plurals import amount, duration
from retainer.workers.tagging.inputs import find_inputs
from retainer.workers.tagging.run import BulkProgress, BulkRun, Crew
from retainer.workers.tagging.tagger_setup import TaggerSetup, require_shard_format

_SECONDS = 10.0
"""Between two lines where nobody looks on."""


class ProgressLine(BulkProgress):
    """Prints the rate and the time left: on a terminal in one line that changes, elsewhere every ten seconds."""

    def __init__(self) -> None:
        self.began = self.printed = time.monotonic()
        self.texts, self.skipped = 0, -1.0
        self.live = sys.stderr.isatty()

    def note(self, text: str) -> None:
        """Print a remark."""
        note(text)

    def advance(self, texts: int, share: float) -> None:
        """Take some texts in; what was read before the first of them is not our work."""
        now = time.monotonic()
        if self.skipped < 0:
            self.skipped = share
        self.texts += texts
        if now - self.printed < (0.5 if self.live else _SECONDS):
            return
        self.printed = now
        rate, done = self.texts / (now - self.began), share - self.skipped
        left = f", about {duration((now - self.began) * (1 - share) / done)} left" if done > 0 else ""
        line = f"{self.texts} texts, {rate:.0f} per second, {100 * share:.0f} %{left}"
        if self.live:
            sys.stderr.write(f"\r\033[K{line}")
            sys.stderr.flush()
        else:
            note(line)

    def end(self) -> None:
        """Leave the line."""
        if self.live and self.texts:
            sys.stderr.write("\n")


def tag_in_bulk(pattern: str, out: str, setup: TaggerSetup, columns: Mapping[str, str], int8: bool, crew: Crew) -> None:
    """Tag all texts of some files into shards."""
    require_shard_format(setup.format)
    files, remarks = find_inputs(pattern)
    for text in remarks:
        note(text)
    progress = ProgressLine()
    with crew as workers:
        try:
            counts = BulkRun(setup, files, columns, int8).to(out, workers, progress)
        finally:
            progress.end()
    seconds = time.monotonic() - progress.began
    before = "" if progress.texts == counts["texts"] else f", {counts['texts'] - progress.texts} of them before"
    note(f"{amount(counts['texts'], 'text')} in {amount(counts['shards'], 'shard')}{before}, {duration(seconds)}")
