"""Names of types that are easily mistaken for one another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from retainer.data.checks.finding import EXAMPLES_SHOWN, Finding
from retainer.data.corpus import Corpus
from retainer.data.place import Place, place_of
from retainer.errors import shortened


def similar_types(corpus: Corpus, known: Sequence[str] = (), show: int = EXAMPLES_SHOWN) -> Iterator[Finding]:
    """Find types that differ only in case and punctuation, in the data or from those of the model."""
    groups: dict[str, list[str]] = defaultdict(list)
    for type_ in dict.fromkeys([*known, *corpus.types]):
        groups[_letters_and_digits(type_)].append(type_)
    for names in groups.values():
        if len(names) > 1:
            count = sum(corpus.counts[name] for name in names)
            yield Finding(
                f"types that differ in spelling alone: {shortened(', '.join(names))}",
                count,
                "to a model these are different types; rename one if they are meant to be the same",
                [_places(corpus, name, show) for name in names if corpus.counts[name]][:show],
                "mend",
            )


def _places(corpus: Corpus, type_: str, show: int) -> Place:
    rows = [row for row, sentence in enumerate(corpus, 1) if any(span.type == type_ for span in sentence.spans)]
    return place_of(rows, show, remark=shortened(type_))


def _letters_and_digits(name: str) -> str:
    """Reduce a name to what is pronounced."""
    return "".join(character for character in name.casefold() if character.isalnum()) or name
