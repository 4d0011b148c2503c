"""Methods of other packages: what they must be, and how a record names them."""

from __future__ import annotations

from functools import cache
from typing import Any

from retainer.data.plugins import clashing_names, load_plugin, plugin_address, plugin_names
from retainer.errors import InputError, nearest, quoted
from retainer.methods.base import Method

_KIND = "method"


@cache
def plugin_method(address: str) -> Method:
    """Return the method at package.module:Class with its default fields: a class of methods, or one made of it."""
    found = load_plugin(_KIND, address)
    made = found if isinstance(found, Method) else _made(address, found)
    if type(made).losses is Method.losses:
        raise InputError(f"{address} is not a method: it has no losses (docs/plugins.md)")
    return made


def _made(address: str, found: Any) -> Method:
    is_method = isinstance(found, type) and issubclass(found, Method) and found is not Method
    if not is_method or "__dataclass_params__" not in vars(found):
        raise InputError(
            f"{address} is not a method: expected a class with @dataclass(frozen=True) that extends retainer.Method "
            "(docs/plugins.md)"
        )
    try:
        made: Method = found()
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{address} is not a method: it cannot be made without arguments ({error})") from error
    return made


def method_address(name: str) -> str | None:
    """Return where the method of another package is; None where there is none of that name."""
    return plugin_address(_KIND, name)


def class_address(method: Method) -> str:
    """Return package.module:Class of a method, by which a record names one that is not in our table."""
    return f"{type(method).__module__}:{type(method).__qualname__}"


def unknown_method(name: str, known: list[str]) -> InputError:
    """Return the complaint about a name that neither our table nor another package has."""
    names = [*known, *(one for one in plugin_names(_KIND) if one not in known)]
    return InputError(
        f"there is no method {quoted(name)}{nearest(name, names)}; known are {', '.join(names)}"
        f"{clashing_names(_KIND, known)}"
    )
