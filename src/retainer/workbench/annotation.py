"""What is said about one text, and the one form in which it is stored: what means the same is the same there."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from retainer.data.spans import Sentence, Span
from retainer.errors import InputError
from retainer.workbench.texts import StoredText


@dataclass(frozen=True)
class Annotation:
    """What is said about a text."""

    entities: tuple[Span, ...] = ()
    """Spans of CHARACTERS (code points), which never overlap."""
    decided: bool = False
    """Whether a person said that this is right; then it can be taught."""
    complete: tuple[str, ...] = ()
    """The types of which every entity is marked; a type that was added later is not among them."""

    def sentence(self, text: StoredText) -> Sentence:
        """Return the text as a sentence to learn from, which says what is complete in it."""
        return text.sentence(self.entities).completed(self.complete)

    def types(self) -> tuple[str, ...]:
        """Return the types it speaks of, each once."""
        return tuple(dict.fromkeys([*(span.type for span in self.entities), *self.complete]))


@dataclass(frozen=True)
class AnnotatedText:
    """What is said about a text now, and who said so."""

    text: int
    """The number of the text."""
    revision: int = 0
    """How many changes there were; a change names the revision that its author saw."""
    annotation: Annotation = Annotation()
    who: str = ""
    """Who made the last change."""
    when: str = ""


_CONFLICTS = {
    None: "{who} changed text {text} meanwhile; nothing was overwritten, look at it and decide again",
    "undo": "{who} changed text {text} after you did; nothing was undone, look at it and decide again",
    "redo": "{who} changed text {text} after your undo; nothing was redone, look at it and decide again",
}


class Conflict(InputError):
    """A change that was made without having seen the one before: its author must look at that and decide."""

    def __init__(self, current: AnnotatedText, change: int = 0, way: Literal["undo", "redo"] | None = None) -> None:
        """Keep what holds now; ``way`` says what was to be done with an earlier change."""
        super().__init__(_CONFLICTS[way].format(who=current.who, text=current.text))
        self.current = current
        self.change = change
        """The change that could not be reversed, where that was asked for."""


def encoded(annotation: Annotation, text: StoredText, ids: Mapping[str, int]) -> str:
    """Return an annotation as it is stored; what cannot be marked in a text is refused."""
    spans = annotation.sentence(text).character_spans()  # sorted, without the white space at their edges
    return json.dumps(
        {
            "entities": [[span.start, span.end, ids[span.type]] for span in spans],
            "decided": annotation.decided,
            "complete": sorted({ids[type_] for type_ in annotation.complete}),
        },
        separators=(",", ":"),
    )


def decoded(state: str, names: Mapping[int, str], gone: Collection[int] = ()) -> Annotation:
    """Return an annotation as it was stored, with the names that types have now; no text is complete for one gone."""
    found = json.loads(state)
    spans = (Span(start, end, names[type_]) for start, end, type_ in found["entities"])
    complete = tuple(names[type_] for type_ in found["complete"] if type_ not in gone)
    return Annotation(tuple(spans), found["decided"], complete)


def types_marked(state: str) -> set[int]:
    """Return the numbers of the types of which something is marked in a stored annotation."""
    return {type_ for *_, type_ in json.loads(state)["entities"]}


NOTHING_SAID = '{"entities":[],"decided":false,"complete":[]}'
"""What is stored of a text that has not been looked at."""
