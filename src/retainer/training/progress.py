"""What the loop reports: bars on a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from retainer.decimals import decimals
from retainer.errors import printable, shortened
from retainer.plurals import duration

if TYPE_CHECKING:
    from retainer.versions.version import Version


@dataclass(frozen=True)
class Epoch:
    """A finished epoch: mean losses by name, dev F1 if there is a dev set, and whether it is the best so far."""

    number: int
    epochs: int
    losses: dict[str, float]
    dev: float | None
    best: bool
    seconds: float

    def line(self) -> str:
        """Say it in one line."""
        losses = " ".join(f"{name} {decimals(value, 3)}" for name, value in self.losses.items())
        dev = "" if self.dev is None else f" · dev F1 {self.dev:.2f}{' (best)' if self.best else ''}"
        rest = self.epochs - self.number
        left = f", at most {duration(rest * self.seconds)} left" if rest else ""
        return f"epoch {self.number}/{self.epochs} · loss {losses}{dev} · {self.seconds:.1f} s{left}"


class Progress:
    """Hears what happens and reports nothing. The base of all that do."""

    def start(self, title: str, steps: int) -> None:
        """Hear that a task begins; it takes so many steps at most."""

    def step(self) -> None:
        """Hear that a step was made."""

    def epoch(self, epoch: Epoch) -> None:
        """Hear that an epoch is over."""

    def note(self, text: str) -> None:
        """Hear something worth knowing."""

    def warn(self, text: str) -> None:
        """Hear that something went wrong, though the run goes on."""
        self.note(text)

    def finish(self) -> None:
        """Hear that the task is over."""

    def learned(self, version: Version, out: Path) -> None:
        """Hear that the new version lies in a folder."""


class QuietProgress(Progress):
    """Writes to stderr only what went wrong."""

    def warn(self, text: str) -> None:
        """Write a line."""
        sys.stderr.write(f"{printable(text)}\n")
        sys.stderr.flush()


@dataclass
class ConsoleProgress(Progress):
    """Writes to stderr: a bar where a person looks on, one line per epoch elsewhere."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    title: str = ""
    bar: Any = None

    def start(self, title: str, steps: int) -> None:
        """Open the bar, or name the task."""
        from tqdm import tqdm

        self.title = title = printable(shortened(title, 500))
        if self.stream.isatty():
            self.bar = tqdm(total=steps, desc=title, file=self.stream, leave=False, unit="step")
        else:
            self.note(title)

    def step(self) -> None:
        """Move the bar."""
        if self.bar is not None:
            self.bar.update()

    def epoch(self, epoch: Epoch) -> None:
        """Show the state of things."""
        if self.bar is None:
            self.note(f"  {epoch.line()}")
        elif epoch.dev is not None:
            self.bar.set_postfix_str(f"dev F1 {epoch.dev:.1f}")

    def note(self, text: str) -> None:
        """Write a line without tearing the bar."""
        text = printable(text)
        if self.bar is None:
            print(text, file=self.stream, flush=True)
        else:
            self.bar.write(text, file=self.stream)

    def finish(self) -> None:
        """Close the bar."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None
