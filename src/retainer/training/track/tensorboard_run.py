"""A run in TensorBoard: event files in a folder of their own below ``runs``, or below TENSORBOARD_LOGGING_DIR."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from retainer.training.track.tracker import Numbers, Tracker

LOG_FOLDER = "runs"


class TensorboardRun(Tracker):
    """Writes by the writer that comes with torch. It holds no files: a version is named, and its card is a text."""

    def __init__(self) -> None:
        self._writer: Any = None
        self._params: dict[str, Any] = {}
        self._last: dict[str, float] = {}

    def begin(self, title: str, params: Mapping[str, Any]) -> None:
        """Open a new folder."""
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(_free_folder(title)))
        self._params = dict(params)
        rows = "\n".join(f"| {name} | `{value}` |" for name, value in params.items())
        self.text("params", f"| name | value |\n| --- | --- |\n{rows}")

    def numbers(self, values: Numbers, step: int) -> None:
        """Write scalars."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._last.update(values)
        self._writer.flush()

    def text(self, name: str, text: str) -> None:
        """Write a text."""
        self._writer.add_text(name, text)

    def artifact(self, path: Path, names: Sequence[str] = ()) -> None:
        """Name a folder and show its card, or show the text of a file."""
        card = path / "README.md" if path.is_dir() else path
        self.text("artifact", str(path.absolute()))
        if card.is_file():
            self.text(card.name, card.read_text("utf-8"))

    def end(self, *, good: bool) -> None:
        """Write the hyper-parameters beside the last numbers, and close the files."""
        if good:
            params = {name: _plain(value) for name, value in self._params.items()}
            self._writer.add_hparams(params, {f"last/{k}": v for k, v in self._last.items()}, run_name=".")
        self._writer.close()


def _free_folder(title: str) -> Path:
    above = Path(os.environ.get("TENSORBOARD_LOGGING_DIR") or LOG_FOLDER)
    name = re.sub(r"[^\w.-]+", "-", title).strip(".-") or "run"
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    return next(above / one for one in names if not (above / one).exists())


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else str(value)
