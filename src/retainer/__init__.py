"""Teach a named-entity recogniser new types without its old training data and without forgetting the old types.

The names below are the whole public surface; each is imported when first used, so `import retainer` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from retainer.about import __version__
from retainer.runtime import settle_threads

if TYPE_CHECKING:
    from retainer.corpora import Corpus, read, write
    from retainer.difference.compare import compare
    from retainer.errors import InputError
    from retainer.learning import learn
    from retainer.methods import (
        CFNER,
        CPFD,
        LUCIR,
        METHODS,
        RDP,
        TBCL,
        ExtendNER,
        Finetune,
        Frozen,
        Joint,
        LearnAndReview,
        Method,
        PODNet,
        SelfTraining,
    )
    from retainer.recipe import RECIPES, Recipe
    from retainer.spans import Sentence, Span
    from retainer.version import Version, load

settle_threads()  # before anybody imports torch

_PLACES = {
    "retainer.corpora": ("Corpus", "read", "write"),
    "retainer.difference.compare": ("compare",),
    "retainer.errors": ("InputError",),
    "retainer.methods": (
        "CFNER",
        "CPFD",
        "LUCIR",
        "METHODS",
        "RDP",
        "TBCL",
        "ExtendNER",
        "Finetune",
        "Frozen",
        "Joint",
        "LearnAndReview",
        "Method",
        "PODNet",
        "SelfTraining",
    ),
    "retainer.recipe": ("RECIPES", "Recipe"),
    "retainer.spans": ("Sentence", "Span"),
    "retainer.learning": ("learn",),
    "retainer.version": ("Version", "load"),
}
_HOME = {name: place for place, names in _PLACES.items() for name in names}

__all__ = [
    "CFNER",
    "CPFD",
    "LUCIR",
    "METHODS",
    "RDP",
    "RECIPES",
    "TBCL",
    "Corpus",
    "ExtendNER",
    "Finetune",
    "Frozen",
    "InputError",
    "Joint",
    "LearnAndReview",
    "Method",
    "PODNet",
    "Recipe",
    "SelfTraining",
    "Sentence",
    "Span",
    "Version",
    "__version__",
    "compare",
    "learn",
    "load",
    "read",
    "write",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its home when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module 'retainer' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
