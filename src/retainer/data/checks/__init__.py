"""What is odd in a corpus, found before anyone trains on it: in its annotation, its names, and beside a model."""

from retainer.data.checks.against_model import clashes, splitting
from retainer.data.checks.finding import SHOWN, WEIGHTS, Finding
from retainer.data.checks.registry import findings

__all__ = ["SHOWN", "WEIGHTS", "Finding", "clashes", "findings", "splitting"]
