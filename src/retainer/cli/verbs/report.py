"""`retainer report`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from retainer.about import __version__
from retainer.bench.result import CellResult
from retainer.cli.columns import Columns
from retainer.cli.output import note, say
from retainer.errors import InputError
from retainer.files import require_writable, write_document
from retainer.report.draw.runs import valid_text
from retainer.versions.lineage import RECORD_FILE

if TYPE_CHECKING:
    from retainer.report.bench.folder import BenchFolder, CorpusSplits
    from retainer.report.bench.method_comparison import MethodComparison


def report(
    folder: str,
    /,
    *,
    out: str | None = None,
    markdown: bool = False,
    latex: bool = False,
    csv: bool = False,
    data: str | None = None,
    against: str | None = None,
    no_text: bool = False,
    columns: Columns = {},  # noqa: B006 (never changed)
) -> None:
    """Report which method of a bench is best and whether the difference is real: one page, or tables for a paper.

    The page is one HTML file that needs no network. It holds sentences of the corpus only if --data is given, and none
    with --no-text. Of a version, the page has it and those of its earlier versions that lie beside it, on the
    sentences of --data: what each finds, and how often it is right at which score.

    :param folder: what bench wrote: its --out, or the folder of a preset, a setting or a method in it; or a version
    :param out: file to write (default: FOLDER/report.html, of a version FOLDER.html beside it; tables go to stdout)
    :param markdown: tables as Markdown
    :param latex: one table as LaTeX (booktabs)
    :param csv: one row per cell and task
    :param data: the corpus of the bench: for sentences, statistics, and gold spans where bench kept none; for a version
        an annotated file
    :param against: method the others are compared with (default: rdp)
    :param no_text: write no sentence of the corpus
    :param columns: {columns}
    """
    if markdown + latex + csv > 1:
        raise InputError("--markdown, --latex and --csv exclude each other; call report once for each")
    if out is not None:
        require_writable(out)
    if (Path(folder) / RECORD_FILE).is_file():
        from retainer.cli.version_report import chain_page

        if markdown or latex or csv or against:
            raise InputError("--markdown, --latex, --csv and --against are for a bench; of a version there is a page")
        return chain_page(Path(folder), data, out, columns)
    from retainer.report.bench.folder import read_bench, read_bench_corpus

    found = read_bench(Path(folder))
    if csv:
        from retainer.report.bench.paper_tables import cells_csv

        return _give(cells_csv(found), out)
    parts = None if data is None else read_bench_corpus(Path(data), columns)
    ranked = _ranked(found, parts, against)
    if markdown or latex:
        from retainer.report.bench import paper_tables as papers

        return _give(papers.paper_latex(ranked) if latex else papers.paper_markdown(ranked), out)
    target = Path(folder) / "report.html" if out is None else Path(out)
    given = {"--data": data, "--against": against}
    flags = [part for name, value in given.items() if value for part in (name, value)]
    command = shlex.join(["retainer", "report", folder, *flags, *(["--no-text"] if no_text else [])])
    write_document(target, _page(found, ranked, parts, no_text, command))
    say(str(target))


def _ranked(found: BenchFolder, parts: CorpusSplits | None, against: str | None) -> list[MethodComparison]:
    from retainer.report.bench.method_comparison import compare_methods
    from retainer.report.bench.method_tests import MethodTester

    return compare_methods(found, MethodTester(found, found.gold(parts), note), against)


def _give(text: str, out: str | None) -> None:
    """Print a table, or write it where it was asked for."""
    if out is None:
        say(valid_text(text).rstrip("\n"))
    else:
        write_document(out, valid_text(text))


def _page(
    found: BenchFolder, ranked: list[MethodComparison], parts: CorpusSplits | None, no_text: bool, command: str
) -> str:
    from retainer.report.bench.cases import case_study
    from retainer.report.bench.page import bench_page

    test = None if parts is None else parts[2]
    sentences = None if test is None or no_text else case_study(found, ranked, test)
    return bench_page(found, ranked, parts=parts, study=sentences, facts=_facts(found, command))


def _facts(found: BenchFolder, command: str) -> dict[str, str]:
    """Say how the cells and the page were made."""
    cells = found.cells
    encoders = sorted({_encoder(cell.encoder) for cell in cells})
    seeds = sorted({cell.seed for cell in cells})
    versions: dict[str, set[str]] = {}
    for cell in cells:
        for name, version in cell.versions.items():
            versions.setdefault(name, set()).add(str(version))
    usual = [cell for cell in cells if not cell.variant] or cells[:1]
    facts = {
        "preset": found.preset,
        "cells": f"{len(cells)} in {len(found.rankings)} setting{'' if len(found.rankings) == 1 else 's'}",
        "seeds": ", ".join(map(str, seeds)),
        "encoder": ", ".join(encoders),
        "measured with": "\n".join(f"{name} {', '.join(sorted(known))}" for name, known in versions.items()),
        "recipe": _recipe(usual),
        "page made by": f"retainer {__version__}",
        "bootstrap": "1,000 test sets drawn, seed 0",
        "command": "\n".join([*_commands(found.preset, found.cells), command]),
    }
    return {name: value for name, value in facts.items() if value}


def _commands(preset: str, cells: Sequence[CellResult]) -> list[str]:
    """Write the calls that would measure these cells: one for all methods with the same numbers and seeds."""
    calls: dict[tuple[str, tuple[int, ...], tuple[str, ...]], list[str]] = {}
    rows: dict[tuple[str, str], list[CellResult]] = {}
    for cell in cells:
        rows.setdefault((cell.method, cell.variant), []).append(cell)
    for (method, variant), own in rows.items():
        seeds = tuple(sorted({cell.seed for cell in own}))
        settings = tuple(dict.fromkeys(cell.setting for cell in own))
        calls.setdefault((variant, seeds, settings), []).append(method)
    return [
        f"retainer bench {preset} --data DATA --out OUT --setting {','.join(settings)} --methods {','.join(methods)} "
        f"--seeds {','.join(map(str, seeds))}{_options(variant)}"
        for (variant, seeds, settings), methods in calls.items()
    ]


def _options(variant: str) -> str:
    """Write what is not the default about some cells as options of the bench."""
    return "".join(f" {_option(part)}" for part in variant.split(", ") if part)


def _option(part: str) -> str:
    if "=" in part:
        name, value = part.split("=", 1)
        return f"--set.{name} {value}"
    return f"--recipe {part.removeprefix('recipe ')}" if part.startswith("recipe ") else f"--encoder {part}"


def _encoder(name: str) -> str:
    """Name an encoder without the place it lies in."""
    return Path(name).name if Path(name).is_absolute() else name


def _recipe(cells: Sequence[CellResult]) -> str:
    """Write the recipe; a number that is not the same in all settings with those it is for."""
    settings: dict[str, dict[str, list[str]]] = {}
    for cell in cells:
        for name, value in cell.recipe.items():
            known = settings.setdefault(name, {}).setdefault(str(value), [])
            known += [cell.setting] * (cell.setting not in known)
    return ", ".join(f"{name} {_values(known)}" for name, known in settings.items())


def _values(known: Mapping[str, Sequence[str]]) -> str:
    if len(known) == 1:
        return next(iter(known))
    return " and ".join(f"{value} ({', '.join(settings)})" for value, settings in known.items())
