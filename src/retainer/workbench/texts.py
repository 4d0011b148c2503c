"""The texts of a project: each is there once, keeps its number for ever, and is never changed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace

from retainer.data.spans import Sentence, Span
from retainer.data.words import Offset, cut_words, word_offsets
from retainer.errors import InputError
from retainer.workbench.clock import now
from retainer.workbench.database import Database
from retainer.workbench.held_back import HeldBackCount, text_hash
from retainer.workbench.removed_texts import removed_texts
from retainer.workbench.search import Search, index_texts, search_for

LONGEST_TEXT = 50_000
"""Characters of a text; the server answers requests about texts of this length."""
LARGEST_PAGE = 1000
"""Texts that are read at once."""

_DECISIONS = {
    True: "IN (SELECT text FROM annotations WHERE decided)",
    False: "NOT IN (SELECT text FROM annotations WHERE decided)",
}
"""What the number of a text must fulfil, by whether a decision is asked for."""
_INCOMPLETE = (
    "IN (SELECT text FROM annotations WHERE decided AND "
    "NOT EXISTS (SELECT 1 FROM json_each(state, '$.complete') WHERE value = ?))"
)
"""What it must fulfil where texts with a decision are asked for that are not complete for a type."""


@dataclass(frozen=True)
class StoredText:
    """A text of a project."""

    id: int
    text: str
    source: str
    """The name of the file it comes from, or who added it."""
    added: str
    held_back: bool
    """Whether it is for comparing versions, and never trained on."""
    words: tuple[Offset, ...] | None = None
    """The places of its words, where a file said so; else the text says it."""

    def sentence(self, spans: Iterable[Span] = ()) -> Sentence:
        """Return the words of the text and the entities, whose edges are edges of words then."""
        spans = list(spans)
        offsets = word_offsets(self.text) if self.words is None else self.words
        return Sentence.from_offsets(self.text, cut_words(offsets, _edges(spans)), spans)


@dataclass(frozen=True)
class AddedTexts:
    """What became of texts that were added."""

    ids: tuple[int, ...]
    """The numbers of all of them, in their order; the same text has one number."""
    new: int
    """How many the project did not have."""


class ProjectTexts:
    """The texts of a project."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, texts: Iterable[str | Sentence], source: str) -> AddedTexts:
        """Add texts that the project does not have yet, all or none; one that is too long or has no word is refused."""
        stored = [checked_text(number, text) for number, text in enumerate(texts, 1)]
        with self._database.writing() as connection:
            before = self.count()
            adding = _Adding(source, now(), HeldBackCount(before, self.held_back()), _last(connection))
            ids = tuple(_add(connection, sentence, adding) for sentence in stored)
            index_texts(connection)
            return AddedTexts(ids, adding.count.texts - before)

    def count(self, search: str = "", decided: bool | None = None, incomplete: int | None = None) -> int:
        """Count the texts: all of them, those that have a part, those with or without a decision.

        ``incomplete`` is the number of a type: those with a decision in which not all of its entities are marked.
        """
        with self._database.reading() as connection:
            found = _narrowed(search_for(connection, search), decided, incomplete)
            query = f"SELECT count(*) FROM {found.table} WHERE {found.condition}"
            return int(connection.execute(query, found.values).fetchone()[0])

    def page(
        self,
        after: int = 0,
        limit: int = 50,
        search: str = "",
        decided: bool | None = None,
        at: int = 0,
        incomplete: int | None = None,
    ) -> tuple[StoredText, ...]:
        """Return the next texts behind one, in their order; the page after that begins behind the last of them.

        ``at`` passes over as many first, to begin anywhere; the others choose as in ``count``.
        """
        if not 1 <= limit <= LARGEST_PAGE:
            raise InputError(f"a page has 1 to {LARGEST_PAGE} texts, not {limit}")
        with self._database.reading() as connection:
            found = _narrowed(search_for(connection, search), decided, incomplete)
            numbers = (
                f"SELECT {found.key} AS number FROM {found.table} WHERE {found.condition} "
                f"AND {found.key} > ? ORDER BY {found.key} LIMIT ? OFFSET ?"
            )
            query = f"SELECT texts.* FROM ({numbers}) JOIN texts ON texts.id = number ORDER BY number"
            return tuple(_stored(row) for row in connection.execute(query, (*found.values, after, limit, at)))

    def get(self, id: int) -> StoredText:
        """Return a text by its number."""
        with self._database.reading() as connection:
            row = connection.execute("SELECT * FROM texts WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise InputError(f"there is no text {id} in this project")
        return _stored(row)

    def numbers(self, texts: Iterable[str]) -> tuple[int, ...]:
        """Return the numbers of texts, in the order of the project; those that it does not have are passed over."""
        with self._database.reading() as connection:
            query = "SELECT id FROM texts WHERE hash = ?"
            rows = [connection.execute(query, (text_hash(text),)).fetchone() for text in texts]
        return tuple(sorted({row[0] for row in rows if row is not None}))

    def held_back(self) -> int:
        """Count the texts that are held back."""
        with self._database.reading() as connection:
            return int(connection.execute("SELECT count(*) FROM texts WHERE held_back").fetchone()[0])

    def draw_held_back(self, limit: int, decided: bool) -> tuple[StoredText, ...]:
        """Draw texts that are held back, with or without a decision, by their hash."""
        with self._database.reading() as connection:
            query = f"SELECT * FROM texts WHERE held_back AND id {_DECISIONS[decided]} ORDER BY hash LIMIT ?"
            return tuple(_stored(row) for row in connection.execute(query, (limit,)))

    def draw(self, limit: int, skip: Iterable[int] = ()) -> tuple[StoredText, ...]:
        """Draw texts without a decision, by their hash: at random, and the same ones until one of them is decided."""
        with self._database.reading() as connection:
            query = (  # the first half of the hash says which texts are held back: by that, they would all come first
                f"SELECT * FROM texts INDEXED BY texts_by_chance WHERE id {_DECISIONS[False]} "
                "AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY substr(hash, 17) LIMIT ?"
            )
            return tuple(_stored(row) for row in connection.execute(query, (json.dumps(list(skip)), limit)))

    def all(self) -> tuple[StoredText, ...]:
        """Return all texts, in their order."""
        with self._database.reading() as connection:
            return tuple(_stored(row) for row in connection.execute("SELECT * FROM texts ORDER BY id"))


def _narrowed(found: Search, decided: bool | None, incomplete: int | None) -> Search:
    """Ask for a decision, or for one that leaves a type open, too."""
    if decided is not None:
        found = replace(found, condition=f"{found.condition} AND {found.key} {_DECISIONS[decided]}")
    if incomplete is not None:
        condition = f"{found.condition} AND {found.key} {_INCOMPLETE}"
        found = replace(found, condition=condition, values=(*found.values, incomplete))
    return found


def checked_text(number: int, text: str | Sentence) -> Sentence:
    """Refuse what cannot be a text of a project, by its number among those that are given."""
    sentence = Sentence.from_text(text) if isinstance(text, str) else text
    length = len(sentence.located()[0])
    if length > LONGEST_TEXT:
        raise InputError(
            f"text {number} has {length} characters, and a text may have {LONGEST_TEXT}; cut it into parts, such as "
            "paragraphs"
        )
    if not sentence.words:
        raise InputError(f"text {number} has no word; leave it out")
    return sentence


@dataclass
class _Adding:
    """What holds of all texts that are added together, and how far that is."""

    source: str
    when: str
    count: HeldBackCount
    last: int
    """The last number that a text has or had."""


def _add(connection: sqlite3.Connection, sentence: Sentence, adding: _Adding) -> int:
    """Add one text, or find the one that is there."""
    text, offsets = sentence.located()
    hash_ = text_hash(text)
    there = connection.execute("SELECT id FROM texts WHERE hash = ?", (hash_,)).fetchone()
    if there is not None:
        return int(there[0])
    usual = word_offsets(text, _edges(sentence.character_spans()))
    words = None if offsets == usual else json.dumps(offsets)
    adding.last += 1
    connection.execute(
        "INSERT INTO texts (id, text, hash, words, source, added, held_back) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (adding.last, text, hash_, words, adding.source, adding.when, adding.count.side(hash_)),
    )
    return adding.last


def _edges(spans: Iterable[Span]) -> set[int]:
    return {edge for span in spans for edge in (span.start, span.end)}


def _last(connection: sqlite3.Connection) -> int:
    """Return the last number that a text has, or had before it was removed."""
    [last] = connection.execute("SELECT coalesce(max(id), 0) FROM texts").fetchone()
    return max(int(last), *removed_texts(connection), 0)


def _stored(row: sqlite3.Row) -> StoredText:
    words = None if row["words"] is None else tuple((start, end) for start, end in json.loads(row["words"]))
    return StoredText(row["id"], row["text"], row["source"], row["added"], bool(row["held_back"]), words)
