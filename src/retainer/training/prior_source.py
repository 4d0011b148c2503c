"""What the prior is corrected on: the dev file, text without annotation, or nothing."""

from __future__ import annotations

from retainer.errors import InputError
from retainer.model.quirks import NONE
from retainer.model.tagger import Tagger

_MISSING = {
    "dev": "the prior is to be corrected on a dev file (--dev), and none is given",
    "text": "the prior is to be corrected on text (--text), and none is given",
}

TIP = "tip: with --dev FILE or --text TEXTS learn also corrects how often it expects a type (docs/methods.md#the-prior)"
"""What is said where nothing was asked for and nothing is wrong: a newcomer must not take it for an error."""


def prior_source(asked: str, declared: str, tagger: Tagger, given: set[str]) -> tuple[str, str]:
    """Return what to correct the prior on, and what to tell people where it is nothing though the method would.

    ``asked`` is the recipe's word, ``declared`` the method's, and ``given`` says what there is. Where the method
    declares a dev file and there is none, text takes its place. What is asked for by name and impossible is refused.
    """
    wanted = declared if asked == "auto" else asked
    if wanted == "none":
        return "none", ""
    if asked == "auto" and wanted not in given and "text" in given:
        wanted = "text"
    if wanted == "text" and not tagger.labels.types:
        return (
            "none",
            "no prior correction: a first version has no parent that could say how often a type is in text",
        )
    if asked == "auto":
        return _unasked(wanted, tagger, given)
    if obstacle := _without_bias(tagger) or ("" if wanted in given else _MISSING[asked]):
        raise InputError(f"{obstacle}; leave the prior as it is (--set.prior none)")
    return wanted, ""


def _unasked(wanted: str, tagger: Tagger, given: set[str]) -> tuple[str, str]:
    """Return the same where nobody asked for a correction; of a first version without a dev file nothing is told."""
    if wanted not in given and not tagger.labels.types:
        return "none", ""
    if obstacle := _without_bias(tagger):
        return "none", f"no prior correction: {obstacle}"
    return (wanted, "") if wanted in given else ("none", TIP)


def _without_bias(tagger: Tagger) -> str:
    """Say why a head has no bias to correct, if so."""
    if tagger.quirks != NONE:
        return "the prior correction has no place among the defects of released code"
    return f"a {tagger.head.kind} head has no bias that could correct the prior" if tagger.head.scaled else ""
