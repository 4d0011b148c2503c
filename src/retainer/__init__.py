"""Teach a named-entity recogniser new types without its old training data and without forgetting the old types.

The names below are the whole public surface; each is imported when first used, so `import retainer` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from retainer.about import __version__
from retainer.runtime import settle_threads

if TYPE_CHECKING:
    from retainer.comparison.compare import compare
    from retainer.data.corpus import Corpus
    from retainer.data.formats.table import Format
    from retainer.data.io import read, write
    from retainer.data.spans import Sentence, Span
    from retainer.errors import InputError
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
        PartialJoint,
        PODNet,
        RDPReleased,
        Retain,
        SelfTraining,
    )
    from retainer.training.learn import learn
    from retainer.training.recipe import RECIPES, Recipe
    from retainer.versions.version import Version, load

settle_threads()  # before torch is imported

_MODULES = {
    "retainer.comparison.compare": ("compare",),
    "retainer.data.corpus": ("Corpus",),
    "retainer.data.formats.table": ("Format",),
    "retainer.data.io": ("read", "write"),
    "retainer.data.spans": ("Sentence", "Span"),
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
        "PartialJoint",
        "RDPReleased",
        "Retain",
        "SelfTraining",
    ),
    "retainer.training.learn": ("learn",),
    "retainer.training.recipe": ("RECIPES", "Recipe"),
    "retainer.versions.version": ("Version", "load"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

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
    "Format",
    "Frozen",
    "InputError",
    "Joint",
    "LearnAndReview",
    "Method",
    "PODNet",
    "PartialJoint",
    "RDPReleased",
    "Recipe",
    "Retain",
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


def __dir__() -> list[str]:
    """Name the public surface, for completion."""
    return __all__


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'retainer' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)
