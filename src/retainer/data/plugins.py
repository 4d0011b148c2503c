"""What other packages add: found by entry point, or named as package.module:Name.

Nothing is looked up before a name is unknown, and nothing is imported before a user has named it.
"""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from retainer.errors import InputError, quoted, shortened

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_ADDRESS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def is_plugin_address(name: str) -> bool:
    """Say whether a name is that of an object in a module, such as package.module:Class."""
    return _ADDRESS.fullmatch(name) is not None


def plugin_names(kind: str) -> list[str]:
    """Return the names of the methods or formats that installed packages offer; none of them is imported."""
    return sorted({point.name for point in _points(kind)})


def plugin_address(kind: str, name: str) -> str | None:
    """Return where a plug-in is, as package.module:Name; None where no package offers one of that name."""
    if is_plugin_address(name):
        return name
    found = {point.value: point for point in _points(kind) if point.name == name}
    if len(found) > 1:
        offers = " and ".join(sorted(f"{_package(point)} ({value})" for value, point in found.items()))
        raise InputError(f"several packages offer a {kind} {name!r}: {offers}; name one as package.module:Name")
    return next(iter(found), None)


def load_plugin(kind: str, address: str) -> Any:
    """Import what a user named; what goes wrong there is one sentence, and not our fault.

    The folder we were called in is searched last, so that a method in one file needs no package.
    """
    module, _, name = address.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError:
        raise InputError(f"the {kind} {quoted(address)} cannot be loaded: {module} has no {name}") from None
    except Exception as error:
        what = shortened(" ".join(f"{type(error).__name__}: {error}".split()), 300)
        raise InputError(
            f"the {kind} {quoted(address)} cannot be imported ({what}); is its package installed?"
        ) from error
    return found


def clashing_names(kind: str, taken: Any) -> str:
    """Say which plug-ins have a name that is taken, for the end of a sentence; they can still be named by module."""
    clashes = {point.name: point for point in _points(kind) if point.name in taken}
    return "".join(
        f"; the {kind} {name} of {_package(point)} is hidden by ours, and called {point.value}"
        for name, point in sorted(clashes.items())
    )


def _points(kind: str) -> list[EntryPoint]:
    from importlib.metadata import entry_points  # a hundredth of a second that most calls need not spend

    return list(entry_points(group=f"retainer.{kind}s"))


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value.partition(":")[0]
