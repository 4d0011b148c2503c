"""The columns of a table: which of them hold what, found by their usual names or named by the user."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retainer.errors import InputError, nearest, shortened, unknown

_TAGS = ("ner_tags", "tags", "labels", "ner_tag", "tag", "ner", "label", "word_labels", "bio", "iob", "iob_tags")

COLUMN_NAMES = {
    "word": ("word", "token", "form"),
    "tag": ("tag", "ner_tag", "ner", "nertag", "label", "entity", "bio", "iob", "iob_tag", "tags", "labels"),
    "sentence": ("sentence_id", "sentence", "sent_id", "sentence_idx", "sent", "sentence_number", "sentence_no", "sid"),
    "tokens": ("tokens", "words"),
    "tags": _TAGS,
    "text": ("text", "sentence", "content", "utterance", "raw_text", "texts"),
    "entities": ("entities", "spans", "annotations", "annotation", "entity", "labels", "label", "ner"),
    "complete": ("complete",),
}
"""What a column may hold, and the names it usually has then; the first that is there counts."""

TABLE_LAYOUTS = {
    "words": (("word", "tag"), ("sentence",)),
    "tokens": (("tokens", "tags"), ("complete",)),
    "spans": (("text", "entities"), ("complete",)),
    "tagged texts": (("text", "tags"), ("complete",)),
    "texts": (("text",), ()),
    "bare tokens": (("tokens",), ()),
}
"""The layouts of tables in the order in which they are tried: the columns that each needs, and those it may have."""

BARE_LAYOUTS = ("texts", "bare tokens")
"""The layouts without annotation."""

_EXPECTED = (
    "expected a column of words and one of tags, or one of texts and one of entities, by their usual names or named "
    "with --columns, such as --columns.text NAME (docs/formats.md)"
)


@dataclass(frozen=True)
class Layout:
    """How a table is laid out: the name of the layout, and the place of each of its columns."""

    name: str
    places: Mapping[str, int]
    names: Sequence[str]
    """What the columns of the table are called."""

    def called(self, column: str) -> str:
        """Name a column as the table does, for messages about its cells."""
        return f"column {shortened(self.names[self.places[column]])}"

    def cell(self, row: Sequence[Any], column: str) -> Any:
        """Return what a row has in a column; None where the table lacks it."""
        return row[self.places[column]] if column in self.places else None


def find_layout(names: Sequence[str], named: Mapping[str, str] | None = None) -> Layout | None:
    """Return the layout of a table with these columns, or None where it has none; what the user names comes first."""
    chosen = _named(names, named or {})
    for layout, (needed, further) in TABLE_LAYOUTS.items():
        places = _places(names, (*needed, *further), chosen)
        if places.keys() >= {*needed, *chosen} and len({places[column] for column in needed}) == len(needed):
            return Layout(layout, places, names)
    return None


def require_layout(names: Sequence[str], named: Mapping[str, str] | None = None, annotated: bool = True) -> Layout:
    """Return the layout of a table, or name the columns it has."""
    layout = find_layout(names, named)
    found = f"found the columns {shortened(', '.join(names), 200) or '(none)'}"
    if layout is None:
        raise InputError(f"{found}; {_EXPECTED}")
    if annotated and layout.name in BARE_LAYOUTS:
        raise InputError(f"{found}, so there are texts and no annotation; {_EXPECTED}")
    return _unambiguous(layout)


def text_layout(names: Sequence[str], named: Mapping[str, str] | None = None) -> Layout | None:
    """Return where the texts of a table are, whatever else it holds or lacks; None where it has none."""
    _require_kinds(named or {})
    chosen = _named(names, {column: name for column, name in (named or {}).items() if column in ("text", "tokens")})
    for layout, column in (("texts", "text"), ("bare tokens", "tokens")):
        if (not chosen or column in chosen) and (places := _places(names, (column,), chosen)):
            return _unambiguous(Layout(layout, places, names))
    return None


def _unambiguous(layout: Layout) -> Layout:
    """Refuse a table in which two columns have the name of one that is read: nobody knows which is meant."""
    for name in (layout.names[place] for place in layout.places.values()):
        if (count := layout.names.count(name)) > 1:
            raise InputError(f"there are {count} columns called {shortened(name)!r}; rename all but one")
    return layout


def _require_kinds(named: Mapping[str, str]) -> None:
    for column in named:
        if column not in COLUMN_NAMES:
            raise unknown("kind of column", column, COLUMN_NAMES)


def _named(names: Sequence[str], named: Mapping[str, str]) -> dict[str, int]:
    """Return the places of the columns that the user names."""
    _require_kinds(named)
    for name in named.values():
        if name not in names:
            listed = shortened(", ".join(names), 200)
            raise InputError(f"there is no column {name!r}{nearest(name, names)}; found {listed}")
    return {column: names.index(name) for column, name in named.items()}


def _places(names: Sequence[str], columns: Sequence[str], chosen: Mapping[str, int]) -> dict[str, int]:
    """Find columns by their usual names; a column that the user gave one meaning has no other."""
    known, taken = [_plain(name) for name in names], set(chosen.values())
    places = {column: chosen[column] for column in columns if column in chosen}
    for column in (one for one in columns if one not in chosen):
        usual = (known.index(name) for name in COLUMN_NAMES[column] if name in known)
        free = next((place for place in usual if place not in taken), None)
        if free is not None:
            places[column] = free
            taken.add(free)
    return places


def _plain(name: str) -> str:
    """Return a name without what people write differently: Sentence # is sentence_id, NER-Tag is ner_tag."""
    return re.sub(r"[\s_.:-]+", "_", name.casefold().replace("#", " id ")).strip("_")
