"""The trackers by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from retainer.errors import InputError, unknown
from retainer.training.track.mlflow_run import MlflowRun
from retainer.training.track.tensorboard_run import TensorboardRun
from retainer.training.track.tracker import SafeTracker, Tracker
from retainer.training.track.wandb_run import WandbRun


@dataclass(frozen=True)
class TrackerKind:
    """A tracker: how it is opened, the packages it needs, and how they are installed."""

    title: str
    open: Callable[[], Tracker]
    packages: tuple[str, ...]
    install: str


_EXTRA = "pip install 'retainer[track]'"
TRACKERS = {
    "mlflow": TrackerKind("MLflow", MlflowRun, ("mlflow", "sqlalchemy", "alembic"), _EXTRA),
    "tensorboard": TrackerKind("TensorBoard", TensorboardRun, ("tensorboard",), _EXTRA),
    "wandb": TrackerKind("Weights & Biases", WandbRun, ("wandb",), "pip install wandb"),
}
"""What --track takes."""


def require_tracker(name: str) -> None:
    """Refuse a tracker that is not known or not installed, before any work is done."""
    if name not in TRACKERS:
        raise unknown("tracker", name, TRACKERS)
    kind = TRACKERS[name]
    if missing := [package for package in kind.packages if find_spec(package) is None]:
        raise InputError(f"--track {name} needs {missing[0]}, which is not installed; run: {kind.install}")


def safe_tracker(name: str, warn: Callable[[str], None]) -> SafeTracker:
    """Return a tracker that opens when a run begins, and whose failures end in one warning."""
    return SafeTracker(TRACKERS[name].title, TRACKERS[name].open, warn)
