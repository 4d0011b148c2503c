"""The field ``complete`` of JSON lines: the types of which every entity is annotated in a record."""

from typing import Any

from retainer.data.formats.records import JsonRecord, each_member, require_kind
from retainer.data.spans import Sentence
from retainer.errors import InputError

COMPLETE_KEY = "complete"


def complete_types(record: JsonRecord) -> tuple[str, ...] | None:
    """Return the types that are complete in a record, each once; None where it does not say."""
    return tuple(dict.fromkeys(each_member(record, COMPLETE_KEY, _type))) if COMPLETE_KEY in record else None


def with_complete(sentence: Sentence | None, record: JsonRecord) -> Sentence | None:
    """Return a sentence that says what its record says; one that is left out stays out, but its record is checked."""
    types = complete_types(record)
    return sentence if sentence is None or types is None else sentence.completed(types)


def complete_field(sentence: Sentence) -> dict[str, list[str]]:
    """Return the field for the record of a sentence; none where the sentence does not say."""
    if sentence.complete is None:
        return {}
    if not all(sentence.complete):
        raise InputError("a type that is complete in it has no name; name one")
    return {COMPLETE_KEY: list(sentence.complete)}


def _type(value: Any) -> str:
    type_ = require_kind(value, str)
    if not type_:
        raise InputError("the name is empty; name a type")
    return type_
