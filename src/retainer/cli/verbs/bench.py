"""`retainer bench`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retainer.bench.preset import OWN, Preset, Setting, own
from retainer.bench.preset import preset as find_preset
from retainer.bench.preset import quick as quick_look
from retainer.cli.columns import Columns
from retainer.cli.output import say, say_json, say_table
from retainer.cli.progress_board import board
from retainer.data.splits import read_splits
from retainer.errors import InputError, disk_refusals, nearest
from retainer.files import require_writable, write_document
from retainer.methods import method as find_method
from retainer.report.bench.advice import advice
from retainer.report.bench.ranking import rankings
from retainer.report.bench.tables import bench_markdown, terminal_tables
from retainer.training.recipe import RECIPE_FIELDS
from retainer.training.recipe import recipe as find_recipe

if TYPE_CHECKING:
    from retainer.bench.cell import Cell


_CPUS = 1.0
"""Cores of a cell where none are asked for."""
_LEAST = 1e-4
"""The smallest share Ray can count."""


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
    pool: float = 0.0,
    set: dict[str, Any] = {},  # noqa: B006 (the parser needs the kind; it is never changed)
    rerun: bool = False,
    track: str | None = None,
    json: bool = False,
    device: str = "auto",
    ray: str | None = None,
    cpus_per_cell: float = _CPUS,
    gpus_per_cell: float = 0.0,
    columns: Columns = {},  # noqa: B006 (never changed)
) -> None:
    """Measure methods over the tasks of a benchmark, side by side; what is measured already is not measured again.

    A cell is one JSON file, OUT/PRESET/SETTING/METHOD/seed-N.json; OUT/PRESET/table.md has all cells ever measured
    there. A bench that was stopped continues where it was when it is called again.

    :param preset: conll2003, fewnerd, i2b2, ontonotes5, snips or wnut17; own takes the types your data have
    :param data: folder with train, dev and test files, or with folders of documents by these names; of your own, a
        single file too, which is cut into parts
    :param out: folder for the cells
    :param setting: FG-1-PG-1 and the like (default: those of the preset)
    :param methods: methods to measure, also package.module:Class (default: those of the preset)
    :param seeds: seeds, each with slices and a first version of its own (default: as many as the preset says)
    :param encoder: builtin, a folder, or a hub name
    :param recipe: retainer, or paper (as the literature trained)
    :param jobs: processes that share the device
    :param quick: a quick look that ends in a recommendation: one type is new, eight methods, five epochs, three seeds
    :param new: the type that is new in a quick look (default: the last one of the alphabet)
    :param pool: share of the training sentences to set aside before slices are made, such as 0.333: methods with a
        teacher get these sentences without annotation, like the --text of learn (with --set.text_share 0 they do not)
    :param set: any field of the recipe or of a method, such as --set.temperature 0.5
    :param rerun: measure everything again
    :param track: also write every cell that is measured down as a run in mlflow, tensorboard or wandb (docs/track.md)
    :param json: print the cells as one JSON document
    :param device: auto, cpu or cuda
    :param ray: measure on a Ray cluster: HOST:PORT of its head, auto, or local for one on this machine
    :param cpus_per_cell: cores a cell takes of a node, with --ray
    :param gpus_per_cell: share of a GPU a cell takes, such as 0.25, with --ray
    :param columns: {columns}
    """
    chosen = _chosen(preset, data, columns, quick, new)
    cells = _Choice(setting, methods, seeds, encoder, recipe, set, pool).cells(chosen)
    _require_workers(jobs, ray, cpus_per_cell, gpus_per_cell)
    folder = Path(out) / chosen.name
    table_file = require_writable(folder / "table.md")
    from retainer.bench.ray_cells import RayCells
    from retainer.bench.run import Bench, run_bench
    from retainer.bench.tracked_cells import tracked_cells
    from retainer.report.bench.folder import read_bench

    measure = None if ray is None else RayCells(ray, cpus_per_cell, gpus_per_cell)
    with disk_refusals(out), board(cells) as progress:
        heard = tracked_cells(track, progress, Path(out))
        asked = Bench(Path(data), Path(out), chosen.types, device, rerun, columns=tuple(columns.items()))
        results = run_bench(asked, cells, jobs, heard, measure)
    write_document(table_file, bench_markdown(read_bench(folder).rankings))
    if json:
        say_json([result.as_dict() for result in results])
    else:
        ranked = rankings(results, chosen)
        for table in terminal_tables(ranked):
            say_table(table)
        if quick:
            say("\n".join(advice(ranked[0])))


def _require_workers(jobs: int, ray: str | None, cpus_per_cell: float, gpus_per_cell: float) -> None:
    """Refuse numbers of processes and resources that nothing can be measured with."""
    if jobs < 1:
        raise InputError(f"--jobs must be at least 1, not {jobs}")
    if ray is not None and jobs > 1:
        raise InputError("give either --jobs or --ray: processes of this machine, or tasks of a cluster")
    for option, share in (("--cpus-per-cell", cpus_per_cell), ("--gpus-per-cell", gpus_per_cell)):
        if share < 0 or 0 < share < _LEAST or (share > 1 and share % 1):
            raise InputError(f"{option} takes a share from {_LEAST:g} to 1, a whole number, or 0, not {share:g}")
    if cpus_per_cell == gpus_per_cell == 0:
        raise InputError("a cell must take some of a node: give --cpus-per-cell or --gpus-per-cell more than 0")
    if ray is None and (cpus_per_cell, gpus_per_cell) != (_CPUS, 0):
        raise InputError("--cpus-per-cell and --gpus-per-cell are for --ray; without it, --jobs shares the machine")


def _chosen(preset: str, data: str, columns: Columns, short: bool, new: str) -> Preset:
    """Return the benchmark a call asks for; one's own has the types of its training data."""
    if new and not short:
        raise InputError("--new names the new type of a quick look; add --quick")
    if preset == OWN:
        if not Path(data).exists():
            raise InputError(f"there is no {data}; --data takes a file, or a folder with train, dev and test")
        known = own(read_splits(data, columns).train.types)
    else:
        known = find_preset(preset)
        if not Path(data).is_dir():
            raise InputError(f"{data} is not a folder; --data takes a folder with train, dev and test files")
    return quick_look(known, new) if short else known


@dataclass(frozen=True)
class _Choice:
    """What a call asks for; what it leaves open is the preset's."""

    settings: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: tuple[str, ...]
    encoder: str
    recipe: str
    changes: dict[str, Any]
    pool: float

    def cells(self, preset: Preset) -> list[Cell]:
        """Check the call and return the cells it asks for."""
        names = self.methods or preset.methods
        fields = {name: {field.name for field in dataclasses.fields(find_method(name))} for name in names}
        self._require_known(fields)
        settings = [preset.setting(name) for name in self.settings or preset.settings]
        return [
            self._cell(preset, setting, name, fields[name], seed)
            for setting in settings
            for name in names
            for seed in [_seed(seed) for seed in self.seeds] or preset.seeds_of(name)
        ]

    def _require_known(self, fields: dict[str, set[str]]) -> None:
        """Refuse a field that neither the recipe nor any of the methods has."""
        known = RECIPE_FIELDS.union(*fields.values())
        for name in self.changes:
            if name not in known:
                methods = " or ".join(fields) if len(fields) < 4 else "any of these methods"
                raise InputError(f"neither the recipe nor {methods} has a field {name!r}{nearest(name, known)}")

    def _cell(self, preset: Preset, setting: Setting, name: str, fields: set[str], seed: int) -> Cell:
        from retainer.bench.cell import Cell

        of_recipe = {field: value for field, value in self.changes.items() if field in RECIPE_FIELDS}
        recipe = find_recipe(self.recipe).changed({"epochs": setting.epochs} | of_recipe)
        method = find_method(name, {field: value for field, value in self.changes.items() if field in fields})
        return Cell(preset.name, setting, name, method, seed, self.encoder, recipe, self.pool)


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"--seeds takes whole numbers separated by commas, not {text!r}")
    return int(text)
