"""Choose numbers on dev: run variants of methods over the same tasks, seeds and first versions, and compare them.

    python benchmarks/choose.py DATA OUT rdp rdp:lr=5e-5 rdp:temperature=0.25:batch=8 --seeds 1,2,3 --jobs 12

The first variant is what the others are compared with, seed by seed. A variant is a method and any fields of it or of
the recipe. Cells go to OUT as with `retainer bench`, so nothing is measured twice; OUT/choice.json has them all.
"""

import argparse
import json
import statistics
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from retainer.bench.cell import Cell
from retainer.bench.preset import Setting, preset
from retainer.bench.progress import BenchProgress
from retainer.bench.run import Bench, run_bench
from retainer.methods import Method, method
from retainer.training.recipe import RECIPE_FIELDS, Recipe, recipe

Scores = dict[tuple[str, int], float]


def parse(spec: str, setting: Setting, seed: int, options: argparse.Namespace) -> Cell:
    """Read a variant as a cell."""
    name, way, trained = variant(spec, recipe(options.recipe).changed({"epochs": setting.epochs}))
    return Cell(options.preset, setting, name, way, seed, options.encoder, trained, options.pool)


def variant(spec: str, usual: Recipe) -> tuple[str, Method, Recipe]:
    """Read a variant, such as rdp:temperature=1:lr=5e-5: the name of its method, the method, and the recipe."""
    name, *pairs = spec.split(":")
    changes = {key: value(text) for key, text in (pair.split("=") for pair in pairs)}
    of_recipe = {key: changes[key] for key in changes.keys() & RECIPE_FIELDS}
    way = method(name, {key: changes[key] for key in changes.keys() - RECIPE_FIELDS})
    return name, way, usual.changed(of_recipe)


def value(text: str) -> Any:
    """Read a number, true or false; anything else is a word."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def dev(document: dict[str, Any], name: str) -> float:
    """Return the dev score with all types so far, averaged over tasks: what is chosen on."""
    return statistics.fmean(task["dev"][name] for task in document["tasks"])


def compare(found: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Say how each variant does on dev, and how far it is from the first where both were measured."""
    scores: dict[str, dict[str, Scores]] = defaultdict(lambda: defaultdict(dict))
    for spec, document in found:
        for name in ("micro", "macro"):
            scores[spec][name][document["setting"], document["seed"]] = dev(document, name)
    first = next(iter(scores.values()))
    return [f"{spec:48} {len(one['macro']):2} cells {said(one, first)}" for spec, one in scores.items()]


def said(one: dict[str, Scores], first: dict[str, Scores]) -> str:
    """Write means, and the mean paired difference with its standard error."""
    parts = []
    for name, values in one.items():
        apart = [values[key] - first[name][key] for key in values if key in first[name]]
        by_setting = defaultdict(list)
        for (setting, _), score in values.items():
            by_setting[setting].append(score)
        means = " ".join(f"{setting} {statistics.fmean(found):.2f}" for setting, found in sorted(by_setting.items()))
        parts.append(f"{name} {means} ({statistics.fmean(apart) if apart else 0:+.2f} ± {standard_error(apart):.2f})")
    return "  ".join(parts)


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of a mean; of a single value it is not known, and 0."""
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


class Printed(BenchProgress):
    """Prints what a bench reports."""

    def note(self, text: str) -> None:
        """Print a line."""
        print(text, flush=True)


def main() -> None:
    """Measure what is missing and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("variants", nargs="+")
    parser.add_argument("--preset", default="conll2003")
    parser.add_argument("--setting", default="FG-1-PG-1,FG-2-PG-1")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--encoder", default="builtin")
    parser.add_argument("--recipe", default="retainer")
    parser.add_argument("--pool", type=float, default=0.0, help="share of the training file to give as text")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    known = preset(options.preset)
    settings = [known.setting(name) for name in options.setting.split(",")]
    seeds = [int(seed) for seed in options.seeds.split(",")]
    specs = {
        parse(spec, setting, seed, options): spec for seed in seeds for spec in options.variants for setting in settings
    }
    bench = Bench(options.data, options.out, known.types, options.device)
    results = run_bench(bench, list(specs), options.jobs, Printed())
    found = [(spec, result.as_dict()) for spec, result in zip(specs.values(), results, strict=True)]
    print("\n".join(compare(found)))
    cells = [{"variant": spec, **document} for spec, document in found]
    (options.out / "choice.json").write_text(json.dumps({"preset": options.preset, "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
