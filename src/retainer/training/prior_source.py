"""What the prior is corrected on: the dev file, text without annotation, or nothing."""

from __future__ import annotations

from retainer.errors import InputError
from retainer.model.quirks import NONE
from retainer.model.tagger import Tagger

_MISSING = {
    "auto": "the prior is corrected on a dev file (--dev) or on text (--text), and neither is given",
    "dev": "the prior is to be corrected on a dev file (--dev), and none is given",
    "text": "the prior is to be corrected on text (--text), and none is given",
}


def prior_source(asked: str, declared: str, tagger: Tagger, given: set[str]) -> tuple[str, str]:
    """Return what to correct the prior on, and why it is nothing where the method would correct it.

    ``asked`` is the recipe's word, ``declared`` the method's, and ``given`` says what there is. Where the method
    declares a dev file and there is none, text takes its place. What is asked for by name and impossible is refused.
    """
    wanted = declared if asked == "auto" else asked
    if wanted == "none":
        return "none", ""
    if asked == "auto" and wanted not in given and "text" in given:
        wanted = "text"
    if wanted == "text" and not tagger.labels.types:
        return "none", "a first version has no parent that could say how often a type occurs in text"
    obstacle = _without_bias(tagger) or ("" if wanted in given else _MISSING[asked])
    if obstacle and asked != "auto":
        raise InputError(f"{obstacle}; leave the prior as it is (--set.prior none)")
    return ("none", obstacle) if obstacle else (wanted, "")


def _without_bias(tagger: Tagger) -> str:
    """Say why a head has no bias to correct, if so."""
    if tagger.quirks != NONE:
        return "the prior correction has no place among the defects of released code"
    return f"a {tagger.head.kind} head has no bias that could correct the prior" if tagger.head.scaled else ""
