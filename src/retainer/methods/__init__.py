"""The methods: one file each, and the table of them all."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, get_args, get_type_hints

from retainer.errors import InputError, nearest
from retainer.methods.base import IGNORE, Clock, Method, Tokens
from retainer.methods.cfner import CFNER
from retainer.methods.cpfd import CPFD
from retainer.methods.extend_ner import ExtendNER
from retainer.methods.finetune import Finetune
from retainer.methods.frozen import Frozen
from retainer.methods.joint import Joint
from retainer.methods.learn_and_review import LearnAndReview
from retainer.methods.lucir import LUCIR
from retainer.methods.partial_joint import PartialJoint
from retainer.methods.plugins import class_address, method_address, plugin_method, unknown_method
from retainer.methods.podnet import PODNet
from retainer.methods.rdp import RDP
from retainer.methods.rdp_released import RDPReleased
from retainer.methods.retain import Retain
from retainer.methods.self_training import SelfTraining
from retainer.methods.tbcl import TBCL
from retainer.model.quirks import NONE

METHODS: dict[str, Method] = {
    "finetune": Finetune(),
    "joint": Joint(),
    "partial_joint": PartialJoint(),
    "self_training": SelfTraining(),
    "extend_ner": ExtendNER(),
    "learn_and_review": LearnAndReview(),
    "lucir": LUCIR(),
    "podnet": PODNet(),
    "cfner": CFNER(),
    "cpfd": CPFD(),
    "frozen": Frozen(),
    "tbcl": TBCL(),
    "rdp": RDP(),
    "rdp_paper": RDP(distil_words="all"),
    "rdp_tuned": RDP(temperature=10.0, distil_weight=2.0),
    "rdp_released": RDPReleased(),
    "rdp-no-cd": RDP(relation_weight=0.0),
    "rdp-no-se": RDP(entropy_weight=0.0),
    "rdp-no-ppl": RDP(pseudo="argmax"),
    "rdp-no-pl": RDP(pseudo="none"),
    "retain": Retain(),
    "retain-no-prior": Retain(prior_correction="none"),
    "retain-no-look": Retain(look_weight=0.0),
    "retain-no-mean": Retain(mean="terms"),
}
DEFAULT_METHOD = "retain"
"""What `learn` takes unless told otherwise."""


def learnable() -> list[str]:
    """Return the names of the methods `learn` takes: all but those that repeat defects outside a method."""
    return [name for name, method in METHODS.items() if method.quirks == NONE]


def method(name: str, fields: Mapping[str, Any] | None = None) -> Method:
    """Return a method by name, with some of its fields changed; it may be one of another package."""
    default = _default(name, list(METHODS))
    known = {field.name for field in dataclasses.fields(default)}
    for field, value in (fields or {}).items():
        if field not in known:
            names = ", ".join(sorted(known)) or "none"
            raise InputError(f"method {name} has no field {field!r}{nearest(field, known)}; its fields are {names}")
        _check(name, default, field, value)
    return dataclasses.replace(default, **(fields or {}))


def require_learnable_method(name: str) -> None:
    """Refuse a name that no method has, and list those that `learn` takes."""
    _default(name, learnable())


def _default(name: str, listed: list[str]) -> Method:
    if name in METHODS:
        return METHODS[name]
    address = method_address(name)
    if address is None:
        raise unknown_method(name, listed)
    return plugin_method(address)


def recorded_name(name: str, method: Method) -> str:
    """Return how a record names a method that was asked for by some name: one of another package by its class."""
    return name if name in METHODS else class_address(method)


def name_of(method: Method) -> str:
    """Return the name a method has in the table; one with fields of its own goes by the name it started from.

    A method of another package goes by its class.
    """
    names = [name for name, one in METHODS.items() if one == method]
    names += [name for name, one in METHODS.items() if type(one) is type(method)]
    return names[0] if names else class_address(method)


def describe_method(name: str, fields: Mapping[str, Any]) -> str:
    """Write a method by the name it was asked for, with the fields that were changed."""
    usual = dataclasses.asdict(METHODS[name]) if name in METHODS else {}
    changed = [f"{field}={value}" for field, value in fields.items() if field in usual and value != usual[field]]
    return f"{name} ({', '.join(changed)})" if changed else name


def _check(name: str, default: Method, field: str, value: Any) -> None:
    """Refuse a value of the wrong kind now, with its name, not in the middle of training."""
    hint = get_type_hints(type(default))[field]
    choices = get_args(hint)
    plain = {bool: (bool, "true or false"), str: (str, "a text")}.get(hint, ((int, float), "a number"))
    fits = value in choices if choices else isinstance(value, plain[0]) and (isinstance(value, bool) == (hint is bool))
    if not fits:
        wanted = f"one of {', '.join(map(str, choices))}" if choices else plain[1]
        close = nearest(str(value), map(str, choices))
        raise InputError(f"field {field} of method {name} must be {wanted}, not {value!r}{close}")


__all__ = [
    "CFNER",
    "CPFD",
    "DEFAULT_METHOD",
    "IGNORE",
    "LUCIR",
    "METHODS",
    "RDP",
    "TBCL",
    "Clock",
    "ExtendNER",
    "Finetune",
    "Frozen",
    "Joint",
    "LearnAndReview",
    "Method",
    "PODNet",
    "PartialJoint",
    "RDPReleased",
    "Retain",
    "SelfTraining",
    "Tokens",
    "describe_method",
    "learnable",
    "method",
    "name_of",
    "recorded_name",
    "require_learnable_method",
]
