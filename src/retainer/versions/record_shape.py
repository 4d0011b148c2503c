"""The shape of a record: what each field may hold. A record may be damaged, or come from a stranger.

Everything that reads a record (history, card, log, server) relies on this instead of asking again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

_Check = Callable[[Any], bool]

_MAX_DEPTH = 64
"""How deep a record may be nested; ours take less than ten."""


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _number(value: Any) -> bool:
    return isinstance(value, float) or _count(value)


def _measured(value: Any) -> bool:
    return value is None or _number(value)


def _list(check: _Check) -> _Check:
    return lambda value: isinstance(value, list | tuple) and all(map(check, value))


def _table(check: _Check) -> _Check:
    return lambda value: isinstance(value, Mapping) and all(map(check, value.values()))


def _fields(needed: Mapping[str, _Check], **others: _Check) -> _Check:
    """Check an object: fields that it needs, others that it may have, and any that nobody here reads."""
    known = {**needed, **others}

    def _holds(value: Any) -> bool:
        if not isinstance(value, Mapping) or not needed.keys() <= value.keys():
            return False
        return all(check(value[name]) for name, check in known.items() if name in value)

    return _holds


def _or_empty(check: _Check) -> _Check:
    return lambda value: value == {} or check(value)


def _change(value: Any) -> bool:
    """Check what was done to types: renamed and merged ones have a new name."""
    shape = _fields({"verb": _text, "became": _table(_list(_text)), "types": _list(_text)})
    if not shape(value) or not value["became"]:
        return False
    return value["verb"] in ("drop", "split") or (
        value["verb"] in ("rename", "merge") and all(value["became"].values())
    )


_COUNTED = {"sentences": _count, "sha256": _text}
_SCORES = _table(_fields(dict.fromkeys(("precision", "recall", "f1", "support"), _number)))
_FATES = _table(_fields(dict.fromkeys(("found", "kept", "given", "corrected"), _count)))

_SHAPE: dict[str, _Check] = {
    **dict.fromkeys(("encoder", "base_model", "parent", "parent_hash", "parent_name", "method"), _text),
    **dict.fromkeys(("created", "weights", "hash"), _text),
    **dict.fromkeys(("files", "parent_files", "versions"), _table(_text)),
    **dict.fromkeys(("task", "seed"), _count),
    **dict.fromkeys(("again", "pending"), _list(_text)),
    **dict.fromkeys(("fields", "recipe"), _fields({})),
    "tasks": lambda value: _list(_list(_text))(value) and bool(value),
    "change": _or_empty(_change),
    "data": _fields(
        {},
        **_COUNTED,
        entities=_table(_count),
        dev_sha256=_text,
        dev_sentences=_count,
        exemplars=_fields({**_COUNTED, "entities": _table(_count)}),
        text=_fields(_COUNTED),
    ),
    "scores": _fields(
        {},
        dev=_measured,
        per_type=_SCORES,
        before=_SCORES,
        history=_list(_fields({})),
        balance=_or_empty(_fields({"old": _FATES, "in_words": _text})),
    ),
    "prior": _table(_number),
    "blend": _number,
    "calibration": _table(_fields({"slope": _number, "shift": _number})),
    "ancestors": _list(_fields({})),
}


def require_shape(record: Any) -> None:
    """Refuse what cannot be a record, and name the field; earlier records inside are checked too."""
    for value, depth in _values(record):
        if depth > _MAX_DEPTH:
            raise ValueError("it is nested too deeply")
        if isinstance(value, str) and not _encodable(value):
            raise ValueError(f"{value[:40]!a} is not text")
    _require_fields(record)
    for ancestor in record.get("ancestors", ()):
        _require_fields(ancestor)


def _require_fields(record: Any) -> None:
    if not isinstance(record, Mapping) or "tasks" not in record:
        raise ValueError("the field 'tasks' is missing")
    if bad := [name for name, check in _SHAPE.items() if name in record and not check(record[name])]:
        raise ValueError(f"the field {bad[0]!r} does not hold what it should")


def _values(value: Any) -> Iterator[tuple[Any, int]]:
    """Yield every value and name, and how deep it lies, without recursion: it may be too deep for that."""
    waiting = [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        yield one, depth
        if isinstance(one, Mapping):
            waiting += [(other, depth + 1) for other in (*one.keys(), *one.values())]
        elif isinstance(one, list | tuple):
            waiting += [(other, depth + 1) for other in one]


def _encodable(text: str) -> bool:
    """Return whether a text can be printed: JSON may hold halves of characters."""
    try:
        return text.encode() is not None
    except UnicodeEncodeError:
        return False
