"""What is odd in a corpus, found before a model trains on it: in its annotation, in its names, and against a model."""

from retainer.data.checks.against_model import type_clashes, unreadable_scripts
from retainer.data.checks.finding import EXAMPLES_SHOWN, WEIGHT_MEANINGS, Finding
from retainer.data.checks.registry import findings

__all__ = ["EXAMPLES_SHOWN", "WEIGHT_MEANINGS", "Finding", "findings", "type_clashes", "unreadable_scripts"]
