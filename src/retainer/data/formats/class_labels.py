"""The features of `datasets`: which numbers of a table stand for which names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from retainer.errors import InputError

_KEY = b"huggingface"


def features_of(metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    """Return the features that `datasets` wrote into a file, by column; none where another program wrote it."""
    try:
        features = json.loads(metadata.get(_KEY, b"{}"))["info"]["features"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return features if isinstance(features, dict) else {}


def with_names(value: Any, feature: Any) -> Any:
    """Return a value in which the numbers of classes have become their names."""
    if value is None or not isinstance(feature, dict | list):
        return value
    if isinstance(feature, list):
        return with_names(value, {"_type": "List", "feature": feature[0]}) if len(feature) == 1 else value
    if feature.get("_type") == "ClassLabel":
        return _name(value, feature.get("names"))
    inner = feature.get("feature")
    if isinstance(value, list):
        return [with_names(one, inner) for one in value]
    if isinstance(value, dict):
        fields = inner if isinstance(inner, dict) and "_type" not in inner else feature
        return {key: _member(one, fields.get(key)) for key, one in value.items()}
    return value


def _member(value: Any, feature: Any) -> Any:
    """Name the classes in a field; older releases keep a list of objects as an object of lists."""
    is_class = isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
    if is_class and isinstance(value, list):
        return [with_names(one, feature) for one in value]
    return with_names(value, feature)


def _name(value: Any, names: Any) -> Any:
    if type(value) is not int or not isinstance(names, list) or not names:
        return value
    if not 0 <= value < len(names):
        raise InputError(f"found the class {value}, and the table names {len(names)} of them, from 0")
    return names[value]
