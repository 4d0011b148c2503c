"""An endless corpus of requests to an assistant, for trying things out where no annotated text is at hand.

Its names are ambiguous on purpose: "Paris" is a city, a friend, a film, a song or a restaurant, and sometimes only a
word. A recogniser has to read the context, so one that is taught new types in the wrong way visibly forgets old ones.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Sequence
from itertools import permutations

from retainer.data import phrases
from retainer.data.corpus import Corpus
from retainer.data.spans import Sentence, Span
from retainer.errors import InputError, unknown

GENERATED_TYPES: tuple[str, ...] = tuple(phrases.TYPE_FREQUENCIES)
"""The entity types of the generated corpus, in alphabetical order."""

_SLOT = re.compile(r"\{(\w+)\}")
_SIZES = ((0.20, 0), (0.49, 1), (0.87, 2), (1.0, 3))
"""Cumulative shares of the requests by the number of types in them."""

_SHARED = 0.45
"""The share of names that other types have too."""

_READY = 0.8
"""The share of requests with several types that are one thought; the others are two thoughts joined by 'and'."""

_LONG = 8
"""A request of so many words and slots gets nothing before or after it."""


def generate(size: int, *, seed: int = 0, types: Collection[str] | None = None) -> Corpus:
    """Write ``size`` requests; the same arguments give the same text everywhere, and a larger size only adds to it.

    With ``types``, no entity of another type appears, not even as unmarked words.
    """
    if size < 0:
        raise InputError(f"cannot generate {size} sentences; the size must be 0 or more")
    writer = _Writer(seed, _chosen(types))
    sentences = tuple(writer.sentence() for _ in range(size))
    return Corpus(sentences, source=f"generated:{seed}", format="generated", scheme="IOB2")


def _chosen(types: Collection[str] | None) -> tuple[str, ...]:
    """Check the types asked for, and put them in the order of ``TYPES`` so that a set does as well as a list."""
    wanted = GENERATED_TYPES if types is None else types
    for type_ in wanted:
        if type_ not in GENERATED_TYPES:
            raise unknown("generated type", type_, GENERATED_TYPES)
    return tuple(type_ for type_ in GENERATED_TYPES if type_ in wanted)


def _slots(template: str) -> tuple[str, ...]:
    """Return the types of a template in the order of their first slots."""
    return tuple(dict.fromkeys(slot for slot in _SLOT.findall(template) if slot in GENERATED_TYPES))


def _by_types(table: str) -> dict[tuple[str, ...], list[str]]:
    found: dict[tuple[str, ...], list[str]] = {}
    for template in filter(None, table.splitlines()):
        found.setdefault(_slots(template), []).append(template)
    return found


def _shared() -> dict[str, list[str]]:
    """Return the ambiguous names of every type, and all of them as plain words."""
    found: dict[str, list[str]] = {type_: [] for type_ in (*GENERATED_TYPES, "word")}
    for line in phrases.SHARED_NAMES.strip().splitlines():
        name, _, types = line.partition(": ")
        for type_ in (*types.split(), "word"):
            found[type_].append(name)
    return found


def _is_command(template: str) -> bool:
    return template[-1] not in "?."


def _ready(types: tuple[str, ...]) -> list[str]:
    """Return the templates for the types in this order, else in another order."""
    return next((_TEMPLATES[order] for order in permutations(types) if order in _TEMPLATES), [])


_TEMPLATES = _by_types(phrases.WITHOUT_ENTITIES + phrases.ONE_TYPE + phrases.TWO_TYPES + phrases.THREE_TYPES)
_NAMES = _shared()


class _Writer:
    """Draws one sentence after the other from a stream of random numbers.

    Only ``random()`` is used of it: that is the one method Python promises to keep from version to version.
    """

    def __init__(self, seed: int, types: tuple[str, ...]) -> None:
        self._random = random.Random(f"requests {seed}").random
        self._types = types
        self._triples = [
            line for key in _TEMPLATES if len(key) == 3 and set(key) <= set(types) for line in _TEMPLATES[key]
        ]

    def sentence(self) -> Sentence:
        """Write the next request."""
        return self._filled(self._dressed(self._template()))

    # ------------------------------------------------------------------------------------------------ choices

    def _chance(self, share: float) -> bool:
        return self._random() < share

    def _pick(self, items: Sequence[str]) -> str:
        return items[int(self._random() * len(items))]

    def _draw(self, count: int) -> tuple[str, ...]:
        """Draw different types, in the order in which they will be mentioned."""
        drawn: list[str] = []
        while len(drawn) < min(count, len(self._types)):
            urn = [type_ for type_ in self._types if type_ not in drawn for _ in range(phrases.TYPE_FREQUENCIES[type_])]
            drawn.append(self._pick(urn))
        return tuple(drawn)

    # -------------------------------------------------------------------------------------------------- text

    def _template(self) -> str:
        """Choose a template, or join two where no single one has the types drawn."""
        at, natural = self._random(), self._chance(_READY)
        count = next(count for share, count in _SIZES if at < share)
        if count == 3 and natural and self._triples:
            return self._pick(self._triples)
        types = self._draw(count)
        ready = _ready(types)
        return self._pick(ready) if len(types) < 2 or (natural and ready) else self._joined(types)

    def _joined(self, types: tuple[str, ...]) -> str:
        return f"{self._command(types[:-1])} {self._pick(phrases.JOINERS)} {self._command(types[-1:])}"

    def _command(self, types: tuple[str, ...]) -> str:
        commands = [template for template in _ready(types) if _is_command(template)]
        return self._pick(commands) if commands else self._joined(types)

    def _dressed(self, template: str) -> str:
        """Add what people say around a request: courtesy, a reason, a full stop or none."""
        command = _is_command(template)
        body = template if command else template[:-2]
        short = len(body.split()) < _LONG
        if short and self._chance(0.5):
            body = f"{self._pick(phrases.POLITE if command else phrases.ADDRESS)} {body}"
        if short and command and self._chance(0.4):
            body = f"{body} {self._pick(phrases.TAILS)}"
        if not self._chance(0.4):
            return body
        asks = template[-1] == "?" or body.startswith(("could you", "can you", "would you"))
        return f"{body} {'?' if asks else '.'}"

    def _filled(self, template: str) -> Sentence:
        """Put names into the slots and spell everything as people type it."""
        shout, capital = self._chance(0.03), self._chance(0.25)
        words: list[str] = []
        spans: list[Span] = []
        for part in template.split():
            slot = _SLOT.fullmatch(part)
            name = self._name(slot[1]) if slot else [part]
            if slot and slot[1] in GENERATED_TYPES:
                spans.append(Span(len(words), len(words) + len(name), slot[1]))
            words.extend(name)
        if capital:
            words[0] = words[0][0].upper() + words[0][1:]
        return Sentence(tuple(word.upper() for word in words) if shout else tuple(words), tuple(spans))

    # ------------------------------------------------------------------------------------------------- names

    def _name(self, slot: str) -> list[str]:
        """Return the words for a slot: a name of its type, or a plain word of its list."""
        if slot in phrases.NAME_WORDS:
            return [self._pick(phrases.NAME_WORDS[slot])]
        shared = slot == "word" or self._chance(_SHARED)
        name = self._pick(_NAMES[slot]) if shared else self._expanded(self._pick(phrases.NAME_FORMS[slot]))
        return self._spelled(name.split(), 0.15 if slot in phrases.COMMON_NOUNS else 0.5)

    def _expanded(self, form: str) -> str:
        """Replace every ``{list}`` by a word of that list."""
        return _SLOT.sub(lambda slot: self._pick(phrases.NAME_WORDS[slot[1]]), form)

    def _spelled(self, words: list[str], capitals: float) -> list[str]:
        """Capitalise a name, or shout it, or leave it as it is."""
        mood = self._random()
        if mood < capitals:
            return [word if at and word in ("and", "of", "the") else word.capitalize() for at, word in enumerate(words)]
        return [word.upper() for word in words] if mood > 0.97 else words
