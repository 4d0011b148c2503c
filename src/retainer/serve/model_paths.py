"""Where versions are loaded from, what they are called, and whether anything changed there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from retainer.errors import InputError

Stamp = tuple[object, ...]


def named(specs: Sequence[str]) -> dict[str, str]:
    """Return where each version is loaded from, by name: NAME=PLACE, or the last part of the place."""
    places: dict[str, str] = {}
    for spec in specs:
        name, equals, place = spec.partition("=")
        if not equals or Path(spec).exists():
            name, place = Path(spec).name or Path(spec).resolve().name, spec
        if not name.strip() or not place:
            raise InputError(f"{spec!r}: expected a version, or NAME=VERSION")
        if name in places:
            raise InputError(
                f"two versions would be called {name!r}; name them yourself: old={places[name]} new={place}"
            )
        places[name] = place
    return places


def stamp(place: str) -> Stamp:
    """Return what changes when the files of a version do: cheap to look at, no file is opened."""
    folder = Path(place)
    try:
        files = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
        facts = [(path.name, path.stat().st_ino, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
        return (str(folder.resolve()), *facts)
    except OSError:
        return ()
