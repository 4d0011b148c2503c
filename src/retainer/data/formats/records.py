"""JSON records, one per line or in a list, and the kinds their fields must have."""

import json
import re
import reprlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from retainer.data.lines import error_location, is_blank, numbered_lines
from retainer.errors import InputError, shortened

JsonRecord = dict[str, Any]

EMPTY_TEXTS = "empty texts"
"""The oddity of a text without a word."""

_T = TypeVar("_T")
_NAMES = {str: "a string", int: "a whole number", list: "a list", dict: "an object"}
_OBJECT = re.compile(r'\{\s*+("[^"]*+"\s*+:|\}?\s*+$)')
_LIST = re.compile(r'\[\s*+(\{\s*+("|$)|\]?\s*+$)')
_BETWEEN = re.compile(r"[\s,]*")
_SURROGATE = re.compile(r"\\u[dD]")


def sniff_json(line: str) -> bool:
    """Recognise a line that opens a JSON object or a list of them, even a broken one.

    A brace or a bracket alone proves nothing: both are words in a file of columns.
    """
    return sniff_list(line) or _OBJECT.match(line.lstrip(" \t")) is not None


def sniff_list(line: str) -> bool:
    """Recognise a line that opens a list of JSON objects."""
    return _LIST.match(line.lstrip(" \t")) is not None


def keys_of(line: str) -> frozenset[str]:
    """Return the keys of the record on a line; a line that holds none has no keys."""
    try:
        return frozenset(parse_record(line))
    except InputError:
        return frozenset()


def numbered_records(text: str, source: str) -> Iterator[tuple[str, JsonRecord]]:
    """Yield the place of every record, for errors about it, and the record."""
    return ((f"{source}:{number}", record) for number, record in records_by_line(text, source))


def records_by_line(text: str, source: str) -> Iterator[tuple[int, JsonRecord]]:
    """Yield the line of every record, and the record."""
    for number, line in numbered_lines(text):
        if not is_blank(line):
            with error_location(f"{source}:{number}"):
                record = parse_record(line)
            yield number, record


def parse_record(line: str) -> JsonRecord:
    """Return the record on a line."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is not JSON ({_reason(error)}); write one JSON object per line") from error
    if not isinstance(value, dict):
        raise InputError(f"found {reprlib.repr(value)} where an object must stand; write one JSON object per line")
    if _SURROGATE.search(line):
        _refuse_surrogates(value)
    return value


def numbered_members(text: str, source: str) -> Iterator[tuple[str, JsonRecord]]:
    """Yield the place of every record in a JSON list, which may take many lines, and the record."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise InputError(f"{source}:{line}: this is not JSON ({_reason(error)}); is the file damaged?") from error
    if not isinstance(values, list):
        raise InputError(f"{source}:1: found {reprlib.repr(values)} where a list must stand")
    half = _SURROGATE.search(text)
    for line, value in zip(_lines(text, len(values)), values, strict=True):
        where = f"{source}:{line}"
        with error_location(where):
            record = require_kind(value, dict)
            if half:
                _refuse_surrogates(record)
        yield where, record


def _reason(error: Exception) -> str:
    return f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)


def _lines(text: str, count: int) -> Iterator[int]:
    """Yield the lines on which the members of a list begin; the decoder does not report them, so it runs once more."""
    decoder, at, line = json.JSONDecoder(), text.index("[") + 1, 1 + text.count("\n", 0, text.index("["))
    for _ in range(count):
        match = _BETWEEN.match(text, at)
        start = match.end() if match else at
        line += text.count("\n", at, start)
        yield line
        at = decoder.raw_decode(text, start)[1]
        line += text.count("\n", start, at)


def _refuse_surrogates(record: JsonRecord) -> None:
    """Refuse half a character, which JSON can hold and no tokenizer or file can."""
    try:
        record_line(record).encode()
    except RecursionError as error:
        raise InputError("it is nested too deeply; is the file damaged?") from error
    except UnicodeEncodeError as error:
        raise InputError("found half a surrogate pair, which is not a character; remove it") from error


def record_line(record: JsonRecord) -> str:
    """Return the line of a record."""
    return json.dumps(record, ensure_ascii=False) + "\n"


def require_kind(value: Any, kind: type[_T]) -> _T:
    """Return ``value`` if it is of exactly that kind: to Python ``true`` is a number, but it is not an offset."""
    if type(value) is not kind:
        raise InputError(f"must be {_NAMES[kind]}, found {reprlib.repr(value)}")
    return value


def require_field(record: JsonRecord, key: str, kind: type[_T]) -> _T:
    """Return a field that must be there."""
    if key not in record:
        raise InputError(f"the key {key!r} is missing; found {_key_names(record)}")
    with error_location(key):
        return require_kind(record[key], kind)


def each_member(record: JsonRecord, key: str, make: Callable[[Any], _T]) -> list[_T]:
    """Make something of every member of a list; errors name the member."""
    results = []
    for number, member in enumerate(require_field(record, key, list)):
        with error_location(f"{key}[{number}]"):
            results.append(make(member))
    return results


def _key_names(record: JsonRecord) -> str:
    return shortened(", ".join(map(repr, record))) or "no keys"
