"""The benchmarks of the literature, as data: types in their order, settings, published scores, how those were made."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from retainer.data.tasks import group_types
from retainer.errors import InputError, nearest, unknown

FOLDER = files("retainer.bench") / "presets"


@dataclass(frozen=True)
class Setting:
    """One way to cut the types into tasks: FG-a-PG-b."""

    name: str
    fg: int
    pg: int
    epochs: int
    types: tuple[str, ...] = ()
    """The types of this setting alone, where they are not the preset's."""


@dataclass(frozen=True)
class Paper:
    """How the published scores of a benchmark were made; the recipe `paper` and the methods' defaults agree with it."""

    encoder: str
    runs: int
    """How many runs a score is the mean of."""
    recipe: Mapping[str, Any]
    """Fields of the recipe, all that differ from ours; epochs are those of the settings."""
    numbers: Mapping[str, Mapping[str, Any]]
    """Fields of methods, by method."""


@dataclass(frozen=True)
class Preset:
    """A benchmark: what stands in ``presets/NAME.toml``."""

    name: str
    types: tuple[str, ...]
    methods: tuple[str, ...]
    settings: Mapping[str, Setting]
    seeds: Mapping[str, int]
    """How many seeds a method gets; the one called ``others`` stands for the rest."""
    published: Mapping[str, Mapping[str, tuple[float, float]]]
    """Micro and macro F1 by setting and method."""
    test: Mapping[str, int] = field(default_factory=dict)
    """How many entities of each type the test set has that they were measured on; empty where we do not know."""
    misprints: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Published scores that cannot be right, by setting and method: why."""
    paper: Paper | None = None
    """Where something is published."""

    def seeds_of(self, method: str) -> range:
        """Return the seeds of a method."""
        return range(1, self.seeds.get(method, self.seeds["others"]) + 1)

    def setting(self, name: str) -> Setting:
        """Return a setting by its name; one the preset does not list is made out of its numbers."""
        if name in self.settings:
            return self.settings[name]
        numbers = re.fullmatch(r"FG-(\d+)-PG-(\d+)", name)
        if not numbers:
            close = nearest(name, self.settings)
            raise InputError(f"{name!r} is not a setting{close}; {self.name} has {', '.join(self.settings)}")
        fg, pg = int(numbers[1]), int(numbers[2])
        try:
            group_types(self.types, fg, pg)
        except InputError as error:
            raise InputError(f"{error}; {self.name} has {', '.join(self.settings)}") from None
        return Setting(name, fg, pg, epochs=20 if pg == 2 else 10)


def presets() -> tuple[str, ...]:
    """Return the names of all presets."""
    return tuple(sorted(file.name.removesuffix(".toml") for file in FOLDER.iterdir() if file.name.endswith(".toml")))


def preset(name: str) -> Preset:
    """Return a preset by its name."""
    if name not in presets():
        raise unknown("preset", name, (*presets(), OWN))
    table = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    settings = {name: _setting(name, **facts) for name, facts in table["settings"].items()}
    published = {
        setting: {method: (float(micro), float(macro)) for method, (micro, macro) in rows.items()}
        for setting, rows in table["published"].items()
    }
    return Preset(
        table["name"],
        tuple(table["types"]),
        tuple(table["methods"]),
        settings,
        table["seeds"],
        published,
        table.get("test", {}),
        table.get("misprints", {}),
        Paper(**table["paper"]) if "paper" in table else None,
    )


OWN = "own"
"""What stands for a preset where people bring data of their own."""
USUAL = ("joint", "partial_joint", "finetune", "extend_ner", "cfner", "frozen", "tbcl", "rdp", "retain")
"""Methods worth a look on data of one's own, and both ceilings; a quick look has neither, for they cost most."""
QUICK = ("finetune", "extend_ner", "cpfd", "frozen", "tbcl", "rdp", "rdp-no-ppl", "retain")
"""Methods of a quick look: the bounds of what can be lost and kept, and what we would choose from."""


def own(types: Sequence[str]) -> Preset:
    """Make a preset for unpublished types: one at a time, or the last one alone."""
    if len(types) < 2:
        raise InputError(
            f"{'there is only one type' if types else 'there is no type'} to learn; a bench needs an old and a new one"
        )
    settings = {one.name: one for one in (Setting("FG-1-PG-1", 1, 1, 10), _last_alone(types, 10))}
    return Preset(OWN, tuple(types), USUAL, settings, {"others": 3}, {})


def quick(preset: Preset, new: str = "") -> Preset:
    """Make a small bench of a preset: all types but one are old, few methods, half the epochs, three seeds."""
    if new and new not in preset.types:
        raise unknown("type", new, preset.types)
    last = new or preset.types[-1]
    types = (*(type_ for type_ in preset.types if type_ != last), last)
    setting = _last_alone(types, 5)
    settings = {setting.name: setting}
    return Preset(f"{preset.name}-quick", types, QUICK, settings, {"others": 3}, {})


def _last_alone(types: Sequence[str], epochs: int) -> Setting:
    return Setting(f"FG-{len(types) - 1}-PG-1", len(types) - 1, 1, epochs)


def _setting(name: str, *, fg: int, pg: int, epochs: int, types: Sequence[str] = ()) -> Setting:
    return Setting(name, fg, pg, epochs, tuple(types))
