"""A run in MLflow: in the store that MLFLOW_TRACKING_URI names, or in an SQLite file in the working folder."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from retainer.training.track.tracker import Numbers, Tracker

STORE_FILE = "mlflow.db"
"""MLflow's own default today: an SQLite file in the working folder. Its older store of files takes no new runs."""
EXPERIMENT = "retainer"
_LONGEST = 500
"""Characters of a parameter that every store of MLflow takes."""
_SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_CONFIGURE_LOGGING": "false",
}
"""Left alone, MLflow reports its use, and tries for minutes to reach a server that is gone while training waits."""


class MlflowRun(Tracker):
    """Writes by MLflow's client, which needs no run that is active in this process."""

    def __init__(self) -> None:
        for name, value in _SETTINGS.items():
            os.environ.setdefault(name, value)
        from mlflow import MlflowClient

        self._client: Any = MlflowClient(tracking_uri=os.environ.get("MLFLOW_TRACKING_URI") or _store())
        self._run = ""

    def begin(self, title: str, params: Mapping[str, Any]) -> None:
        """Open a run in the experiment ``retainer``, or in the one MLFLOW_EXPERIMENT_NAME names."""
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or EXPERIMENT
        known = self._client.get_experiment_by_name(name)
        experiment = known.experiment_id if known else self._client.create_experiment(name)
        self._run = self._client.create_run(experiment, run_name=title).info.run_id
        for key, value in params.items():
            self._client.log_param(self._run, _key(key), str(value)[:_LONGEST])

    def numbers(self, values: Numbers, step: int) -> None:
        """Log metrics."""
        for name, value in values.items():
            self._client.log_metric(self._run, _key(name), value, step=step)

    def text(self, name: str, text: str) -> None:
        """Log a text as an artifact of its own."""
        self._client.log_text(self._run, text, f"{name}.txt")

    def artifact(self, path: Path, names: Sequence[str] = ()) -> None:
        """Log files of a folder under its name, or a file."""
        for name in names:
            self._client.log_artifact(self._run, str(path / name), (PurePosixPath(path.name) / name).parent.as_posix())
        if not names:
            self._client.log_artifact(self._run, str(path))

    def end(self, *, good: bool) -> None:
        """Close the run."""
        self._client.set_terminated(self._run, "FINISHED" if good else "FAILED")


def _store() -> str:
    """Name the file by its whole path: MLflow keeps stores open by their names, wherever one has gone meanwhile."""
    return f"sqlite:///{Path(STORE_FILE).absolute()}"


def _key(name: str) -> str:
    return re.sub(r"[^/\w.\- :]", "_", name)
