"""A run in Weights & Biases, configured by its own variables (WANDB_PROJECT, WANDB_MODE, …)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from retainer.training.track.tracker import Numbers, Tracker

PROJECT = "retainer"
_SETTINGS = {"WANDB_CONSOLE": "off", "WANDB_DISABLE_GIT": "true", "WANDB_ERROR_REPORTING": "false"}
"""Left alone, wandb also sends whatever the run prints, where the code came from, and reports of its own crashes."""


class WandbRun(Tracker):
    """Writes by wandb's own run."""

    def __init__(self) -> None:
        for name, value in _SETTINGS.items():
            os.environ.setdefault(name, value)
        self._run: Any = None

    def begin(self, title: str, params: Mapping[str, Any]) -> None:
        """Open a run in the project ``retainer``, unless WANDB_PROJECT names another."""
        import wandb

        project = os.environ.get("WANDB_PROJECT") or PROJECT
        self._run = wandb.init(project=project, name=title, config=dict(params), reinit="create_new")

    def numbers(self, values: Numbers, step: int) -> None:
        """Log metrics."""
        self._run.log(dict(values), step=step)

    def text(self, name: str, text: str) -> None:
        """Put a text into the summary."""
        self._run.summary[name] = text

    def artifact(self, path: Path, names: Sequence[str] = ()) -> None:
        """Log files of a folder as one artifact, or a file."""
        import wandb

        made = wandb.Artifact("".join(c if c.isalnum() or c in "._-" else "-" for c in path.name), type="model")
        for name in names or [""]:
            made.add_file(str(path / name), name=name or None)
        self._run.log_artifact(made)

    def end(self, *, good: bool) -> None:
        """Close the run."""
        self._run.finish(exit_code=0 if good else 1)
