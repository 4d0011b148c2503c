"""A bench folder, read and checked for the report: its cells, and what lies beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from retainer.bench.cell import read_result, stored_gold
from retainer.bench.preset import preset, presets
from retainer.bench.result import CellResult
from retainer.data.corpus import Corpus
from retainer.data.spans import Span
from retainer.data.splits import read_splits
from retainer.errors import InputError
from retainer.report.bench.ranking import Ranking, rankings
from retainer.report.bench.rows import MethodRow, row_name, with_distinct_variants

CorpusSplits = tuple[Corpus, Corpus | None, Corpus | None]


@dataclass(frozen=True)
class BenchFolder:
    """The cells of one preset, by file."""

    path: Path
    """The preset's folder, which holds the settings."""
    files: Mapping[Path, CellResult]

    @property
    def preset(self) -> str:
        """The name of the benchmark."""
        return next(iter(self.files.values())).preset

    @property
    def cells(self) -> list[CellResult]:
        """All cells."""
        return list(self.files.values())

    @cached_property
    def rankings(self) -> list[Ranking]:
        """The methods of every setting ranked; papers' scores beside them where the preset is one of ours."""
        return rankings(self.cells, preset(self.preset) if self.preset in presets() else None)

    @cached_property
    def places(self) -> dict[tuple[str, str, int], Path]:
        """Files by setting, row and seed."""
        return {(cell.setting, row_name(cell), cell.seed): file for file, cell in self.files.items()}

    def file(self, row: MethodRow, seed: int) -> Path:
        """Return the file of one cell."""
        return self.places[row.cells[0].setting, row.name, seed]

    def gold(self, parts: CorpusSplits | None) -> list[tuple[Span, ...]] | None:
        """Return the entities of the test set: as the bench wrote them, else from the corpus, else None."""
        kept = stored_gold(self.path)
        if parts is None or parts[2] is None:
            return kept
        given = [sentence.spans for sentence in parts[2]]
        if kept is not None and kept != given:
            raise InputError(f"{parts[2].source} is not the test set these cells were measured on; give its folder")
        return given


def types_of_setting(found: Sequence[MethodRow]) -> tuple[str, ...]:
    """Return the types of a setting in the order of learning."""
    return tuple(dict.fromkeys(type_ for row in found for task in row.cells[0].tasks for type_ in task.types))


_DEEPEST = 4
"""How many folders deep cells are looked for: one more than a bench has."""


def read_bench(path: Path) -> BenchFolder:
    """Read the cells below a folder: a bench's, that of a preset, a setting or a method in it, or the one above."""
    if not path.is_dir():
        raise InputError(f"{path} is not a folder; report takes the folder a bench has written")
    files = sorted(file for depth in range(_DEEPEST + 1) for file in path.glob("*/" * depth + "seed-*.json"))
    homes = sorted({_home(path, file) for file in files})
    if not homes:
        raise InputError(f"{path} holds no cells (SETTING/METHOD/seed-N.json); measure some with retainer bench")
    if len(homes) > 1:
        names = " and ".join(str(home.relative_to(path) if home.is_relative_to(path) else home) for home in homes)
        raise InputError(f"{path} holds cells of {names}; name one of these folders")
    return _read(homes[0], {file: read_result(file) for file in files})


def _home(path: Path, file: Path) -> Path:
    """Return the preset's folder of a cell, PRESET/SETTING/METHOD/seed-N.json, at whichever level the user named."""
    between = file.relative_to(path).parts[:-1]
    named = path.resolve()
    return path.joinpath(*between[:-2]) if len(between) > 1 else (named.parent.parent, named.parent)[len(between)]


def _read(folder: Path, files: Mapping[Path, CellResult]) -> BenchFolder:
    """Check cells one by one and together; refuse what a table cannot compare."""
    for file, cell in files.items():
        if not (cell.preset and cell.setting):
            raise InputError(f"{file} is not a cell of a bench; remove it, and it is measured again")
    if len(named := sorted({cell.preset for cell in files.values()})) > 1:
        raise InputError(
            f"{folder} mixes cells of {' and '.join(named)}; a table cannot compare them, so separate them"
        )
    read = BenchFolder(folder, dict(zip(files, with_distinct_variants(list(files.values())), strict=True)))
    _check_alike(read)
    return read


def _check_alike(folder: BenchFolder) -> None:
    """Refuse a setting whose cells have other tasks than each other, and a seed that is there twice."""
    if len(folder.places) < len(folder.files):
        twice = next(file for file in folder.files if file not in set(folder.places.values()))
        raise InputError(f"{twice} is the same cell as another file; remove one of the two")
    for ranking in folder.rankings:
        plans = {tuple(task.types for task in cell.tasks) for row in ranking.rows for cell in row.cells}
        if len(plans) > 1:
            raise InputError(f"the cells of {ranking.setting} in {folder.path} have different tasks; separate them")


def read_bench_corpus(data: Path, columns: Mapping[str, str] | None = None) -> CorpusSplits:
    """Read the corpus the cells were measured on."""
    if not data.exists():
        raise InputError(f"there is no {data}; --data takes what the bench was given")
    return read_splits(data, columns)
