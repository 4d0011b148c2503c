"""What stands in the cells of a table: lists of words, of tags and of entities, in the ways people write them."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Sequence
from typing import Any

from retainer.data.formats.char_spans import span_of_record
from retainer.data.formats.records import require_kind
from retainer.data.lines import error_location
from retainer.data.spans import Span
from retainer.data.tags import OUTSIDE, split_prefix
from retainer.errors import InputError, quoted

_STARTS = ("start", "start_offset", "begin", "start_char")
_ENDS = ("end", "end_offset", "stop", "end_char")
_LABELS = ("label", "type", "entity_group", "entity", "entity_type", "tag", "labels")
_OPENING = ("[", "(", "{")
_PARTS = {"start": _STARTS, "end": _ENDS, "label": _LABELS}
"""The names that the three parts of an entity have."""


def list_in(cell: Any, kind: str) -> list[Any]:
    """Return the list in a cell: one already, or written as JSON or as Python writes it; an empty cell holds none."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return []
    value = _parsed(cell) if isinstance(cell, str) else cell
    if isinstance(value, tuple | set):
        value = list(value)
    if not isinstance(value, list | dict):
        shown = quoted(cell if isinstance(cell, str) else repr(cell))
        raise InputError(f"found {shown} where a list of {kind} must stand, such as {_EXAMPLES[kind]}")
    return _transposed(value) if isinstance(value, dict) else value


def words_in(cell: Any, kind: str) -> list[Any]:
    """Return the words or tags in a cell: a list, or what spaces, or commas without any space, separate."""
    if isinstance(cell, str) and not cell.lstrip().startswith(_OPENING):
        return cell.split() if kind == "words" or "," not in cell else [part.strip() for part in cell.split(",")]
    return list_in(cell, kind)


def spans_in(cell: Any) -> list[Span]:
    """Return the entities in a cell, as spans of characters."""
    spans = []
    for number, item in enumerate(list_in(cell, "entities")):
        with error_location(f"entity {number + 1}"):
            spans.append(_span(item))
    return spans


def tags_in(cell: Any, certain: bool) -> list[Any]:
    """Return the tags in a cell, one for each word; none where it holds entities, unless tags are certain."""
    if certain:
        return words_in(cell, "tags")
    if isinstance(cell, str) and not cell.lstrip().startswith(_OPENING):
        parts = words_in(cell, "tags")
        return parts if all(part == OUTSIDE or split_prefix(part) for part in parts) else []
    members = list_in(cell, "entities")
    return members if all(isinstance(member, str) for member in members) else []


_EXAMPLES = {"entities": '[[0, 4, "city"]]', "words": '["in", "Oslo"]', "tags": '["O", "B-city"]', "types": '["city"]'}


def _parsed(cell: str) -> Any:
    """Read JSON, or else what Python prints of a list; code is never run."""
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(cell.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _transposed(columns: dict[Any, Any]) -> list[Any]:
    """Make a list of objects out of an object of lists, which is how datasets keep them."""
    if not all(isinstance(column, list) for column in columns.values()):
        raise InputError("found an object where a list must stand")
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise InputError(f"found lists of {' and '.join(map(str, sorted(lengths)))} members, one for each part")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _span(item: Any) -> Span:
    if isinstance(item, list | tuple):
        if len(item) != len(_PARTS):
            raise InputError(f"found {len(item)} values where start, end and type must stand")
        return span_of_record(dict(zip(_PARTS, item, strict=True)))
    record = require_kind(item, dict)
    found = {part: _part(record, names) for part, names in _PARTS.items()}
    return span_of_record({part: value for part, value in found.items() if value is not None})


def _part(record: dict[Any, Any], names: Sequence[str]) -> Any:
    value = next((record[name] for name in names if record.get(name) is not None), None)
    return value[0] if isinstance(value, list) and len(value) == 1 else value
