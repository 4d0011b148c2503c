"""`retainer learn --dry-run` in words: what a run would do, what it learns of old types, and which of that to doubt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from retainer.methods import METHODS
from retainer.plurals import amount, duration, sentences
from retainer.training.recipe import ENOUGH_TO_SELECT

if TYPE_CHECKING:
    from retainer.training.preview import Preview

TOO_FEW = "too little data to set some aside (the tenth must have 10 sentences and some of every type)"
"""Why nothing could be set aside."""
TOO_FEW_TO_CHOOSE = f"fewer than {ENOUGH_TO_SELECT} entities were set aside"
"""Why no epoch is chosen, though there is something to look at."""


def dry_run_lines(seen: Preview) -> list[str]:
    """Write what a run would do."""
    counts = ", ".join(f"{count} {type_}" for type_, count in seen.train["entities"].items())
    aside = f"none: {TOO_FEW}, so the last epoch is kept; give --dev FILE if you can"
    if seen.dev is not None:
        aside = f"{sentences(seen.dev['sentences'])}{' set aside' if seen.dev['set_aside'] else ''}"
        aside += (
            "" if seen.dev["chooses"] else f", to look at in the end; {TOO_FEW_TO_CHOOSE}, so the last epoch is kept"
        )
    beside = f" and {seen.text['batch']} of text" if seen.text else ""
    return [
        f"would learn   {', '.join((*seen.new, *(f'more of {type_}' for type_ in seen.retaught)))}",
        f"would keep    {', '.join(seen.old) or '(nothing else: the model knows no other type)'}",
        f"from          {_sources(seen)}: {counts}",
        f"dev           {aside}",
        f"method        {seen.method}, at most {amount(seen.steps, 'step')} of {sentences(seen.batch)}{beside}",
        f"time          about {duration(seen.seconds)}"
        + (" if it does not stop early, and the dev scores" * bool(seen.dev and seen.dev["chooses"])),
        *seen.warnings,
        *(_found_lines(seen) if seen.pseudo_labels is None else _pseudo_label_lines(seen)),
        "",
        "nothing was learned and nothing was written",
    ]


def _found_lines(seen: Preview) -> Iterator[str]:
    """Write, type by type, what the old version finds where nothing is annotated: that is what is to be kept."""
    for type_, facts in (seen.found or {}).items():
        found = amount(facts["count"], "unannotated entity", "unannotated entities")
        yield f"the old version finds {found} of type {type_} in these sentences, which {seen.method} learns to keep"
        yield from (f"    {example}" for example in facts["examples"])


def _pseudo_label_lines(seen: Preview) -> Iterator[str]:
    """Write, type by type, what the method takes for gold beside what the old version would choose by itself."""
    pseudo_labels = seen.pseudo_labels or {}
    for type_, facts in pseudo_labels.items():
        taken = amount(facts["count"], "unannotated entity", "unannotated entities")
        yield f"would treat {taken} as {type_}; the old version's own choice is {facts['chosen']}"
        yield from (f"    {example}" for example in facts["examples"])
    if doubtful := [type_ for type_, facts in pseudo_labels.items() if facts["apart"]]:
        has_choice = hasattr(METHODS.get(seen.method), "pseudo")
        instead = "--set.pseudo argmax takes the old version's choice" if has_choice else "try another method"
        yield (
            f"warning: on {', '.join(doubtful)} {seen.method} and the old version differ by more than a tenth, which "
            f"may cost these types; {instead}"
        )


def _sources(seen: Preview) -> str:
    """Say what would be learned from."""
    parts = [sentences(seen.train["sentences"])]
    if seen.exemplars:
        parts.append(amount(seen.exemplars["sentences"], "exemplar"))
    if seen.text:
        parts.append(f"{sentences(seen.text['sentences'])} of text")
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)
