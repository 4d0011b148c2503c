"""`retainer bench`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retainer.bench.preset import OWN, Preset, own
from retainer.bench.preset import preset as find_preset
from retainer.bench.preset import quick as quick_look
from retainer.cli.output import say, say_json, say_table
from retainer.cli.progress_board import board
from retainer.data.splits import read_parts
from retainer.errors import InputError, nearest
from retainer.files import write_text
from retainer.methods import method as find_method
from retainer.report.bench.advice import advice
from retainer.report.bench.ranking import rankings
from retainer.report.bench.tables import bench_markdown, terminal_tables
from retainer.training.recipe import RECIPE_FIELDS
from retainer.training.recipe import recipe as find_recipe

if TYPE_CHECKING:
    from retainer.bench.cell import Cell


def bench(
    preset: str,
    /,
    *,
    data: str,
    out: str,
    setting: tuple[str, ...] = (),
    methods: tuple[str, ...] = (),
    seeds: tuple[str, ...] = (),
    encoder: str = "builtin",
    recipe: str = "retainer",
    jobs: int = 1,
    quick: bool = False,
    new: str = "",
    set: dict[str, Any] = {},  # noqa: B006 (the parser needs the kind, and nobody changes it)
    rerun: bool = False,
    json: bool = False,
    device: str = "auto",
) -> None:
    """Measure methods over the tasks of a benchmark, side by side; what is measured already is not measured again.

    A cell is one JSON file, OUT/PRESET/SETTING/METHOD/seed-N.json; OUT/PRESET/table.md has all that were ever measured
    there, in whichever call. A bench that was stopped goes on where it was when it is called again.

    :param preset: conll2003, fewnerd, i2b2, ontonotes5, snips or wnut17; own takes the types your data have
    :param data: folder with train, dev and test files, or with folders of documents by these names; of your own, a
        single file too, which is cut into parts
    :param out: folder for the cells
    :param setting: FG-1-PG-1 and the like (default: those of the preset)
    :param methods: methods to measure (default: those of the preset)
    :param seeds: seeds, each with slices and a first version of its own (default: as many as the preset says)
    :param encoder: builtin, a folder, or a hub name
    :param recipe: retainer, or paper (as the literature trained)
    :param jobs: processes that share the device
    :param quick: a quick look that ends in a recommendation: one type is new, five methods, five epochs, three seeds
    :param new: the type that is new in a quick look (default: the last one of the alphabet)
    :param set: any field of the recipe or of a method, such as --set.temperature 0.5
    :param rerun: measure everything again
    :param json: print the cells as one JSON document
    :param device: auto, cpu or cuda
    """
    chosen = _chosen(preset, data, quick, new)
    cells = _cells(chosen, setting, methods, seeds, encoder, recipe, set)
    if jobs < 1:
        raise InputError(f"--jobs must be at least 1, not {jobs}")
    from retainer.bench.run import Bench, run_bench
    from retainer.report.bench.folder import read_bench

    with board(cells) as (say_so, show):
        found = run_bench(Bench(Path(data), Path(out), chosen.types, device, rerun), cells, jobs, say_so, show)
    if json:
        say_json(found)
    else:
        ranked = rankings(found, chosen)
        for table in terminal_tables(ranked):
            say_table(table)
        if quick:
            say("\n".join(advice(ranked[0])))
    folder = Path(out) / chosen.name
    write_text(folder / "table.md", bench_markdown(read_bench(folder).rankings))


def _chosen(preset: str, data: str, short: bool, new: str) -> Preset:
    """Return the benchmark a call asks for; one's own has the types of its training data."""
    if new and not short:
        raise InputError("--new names the new type of a quick look; add --quick")
    if preset == OWN:
        if not Path(data).exists():
            raise InputError(f"there is no {data}; --data takes a file, or a folder with train, dev and test")
        known = own(read_parts(data)[0].types)
    else:
        known = find_preset(preset)
        if not Path(data).is_dir():
            raise InputError(f"{data} is no folder; --data takes a folder with train, dev and test files")
    return quick_look(known, new) if short else known


def _cells(
    chosen: Preset,
    settings: tuple[str, ...],
    methods: tuple[str, ...],
    seeds: tuple[str, ...],
    encoder: str,
    recipe: str,
    changes: dict[str, Any],
) -> list[Cell]:
    """Check the call and return the cells it asks for."""
    from retainer.bench.cell import Cell

    ways = {name: find_method(name) for name in methods or chosen.methods}
    known = {name: {field.name for field in dataclasses.fields(way)} for name, way in ways.items()}
    for name in changes:
        if name not in RECIPE_FIELDS.union(*known.values()):
            close = nearest(name, RECIPE_FIELDS.union(*known.values()))
            some = " or ".join(ways) if len(ways) < 4 else "any of these methods"
            raise InputError(f"neither the recipe nor {some} has a field {name!r}{close}")
    of_recipe = {name: value for name, value in changes.items() if name in RECIPE_FIELDS}
    cells = []
    for one in (chosen.setting(name) for name in settings or chosen.settings):
        full = find_recipe(recipe).changed({"epochs": one.epochs} | of_recipe)
        for name in ways:
            fields = {field: value for field, value in changes.items() if field in known[name]}
            way = find_method(name, fields)
            numbers = [_seed(seed) for seed in seeds] or chosen.seeds_of(name)
            cells += [Cell(chosen.name, one, name, way, seed, encoder, full) for seed in numbers]
    return cells


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"--seeds takes whole numbers separated by commas, not {text!r}")
    return int(text)
