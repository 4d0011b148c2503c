"""What is odd in a corpus, found before anyone trains on it: in its annotation, its names, and beside a model."""

from retainer.checks.beside import clashes, splitting
from retainer.checks.finding import SHOWN, WEIGHTS, Finding
from retainer.checks.looks import findings

__all__ = ["SHOWN", "WEIGHTS", "Finding", "clashes", "findings", "splitting"]
