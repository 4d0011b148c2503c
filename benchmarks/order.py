"""Run several methods over the tasks of one corpus and print them side by side: a first look at their order.

    python benchmarks/order.py DATA --methods finetune,rdp,rdp:temperature=1,joint --sentences 800 --out FILE

DATA is a folder with train, dev and test files; --sentences takes that many training sentences (0: all), and half as
many for dev and test, evenly spread over the file. Besides the test scores each row has the dev scores of all types
learned so far ("dev_all"), which is what hyper-parameters are chosen by.
"""

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from retainer.corpora import Corpus, read
from retainer.methods import Method
from retainer.methods import method as find_method
from retainer.recipe import RECIPES
from retainer.sharing import shared_gpu
from retainer.tasks import hide, plan


def some(corpus: Corpus, count: int) -> Corpus:
    """Take sentences evenly spread over a corpus."""
    rows = [i * len(corpus) // count for i in range(count)] if 0 < count < len(corpus) else range(len(corpus))
    return replace(corpus, sentences=tuple(corpus[row] for row in rows))


def one(method: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Run one method."""
    from retainer.sequence import cell, run

    parts = [read(next(Path(options.data).glob(f"{name}.*"))) for name in ("train", "dev", "test")]
    sizes = (options.sentences, options.sentences // 2, options.sentences // 2)
    made = plan(*map(some, parts, sizes), fg=options.fg, pg=options.pg, seed=seed)
    recipe = RECIPES[options.recipe].changed(json.loads(options.set))
    began = time.perf_counter()
    steps = list(run(made, parse(method), recipe=recipe, seed=seed, device=options.device))
    result = cell(method, steps, seed=seed)
    for row, step in zip(result["tasks"], steps, strict=True):
        scores = step.version.evaluate(hide(made.dev, step.task.types))
        row["dev_all"] = {"micro": scores.micro, "macro": scores.macro}
    print(line(result), f"{time.perf_counter() - began:.0f} s", flush=True)
    return {**result, "recipe": asdict(recipe)}


def parse(spec: str) -> Method:
    """Read a method and some of its fields, such as rdp:temperature=1:pseudo=argmax."""
    name, *fields = spec.split(":")
    pairs = (field.split("=") for field in fields)
    return find_method(name, {key: value if value.isalpha() else float(value) for key, value in pairs})


def line(result: dict[str, Any]) -> str:
    """Say a result in one line."""
    last = result["tasks"][-1]
    dev = [sum(row["dev_all"][name] for row in result["tasks"]) / len(result["tasks"]) for name in ("micro", "macro")]
    types = " ".join(f"{type_} {score['f1']:.1f}" for type_, score in last["per_type"].items())
    return (
        f"{result['method']:24} seed {result['seed']} average micro {result['average']['micro']:5.2f} "
        f"macro {result['average']['macro']:5.2f} dev {dev[0]:5.2f} {dev[1]:5.2f} | last task: {types}"
    )


def main() -> None:
    """Run all cells and write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--methods", default="finetune,self_training,extend_ner,rdp_paper,rdp,joint")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--fg", type=int, default=1)
    parser.add_argument("--pg", type=int, default=1)
    parser.add_argument("--sentences", type=int, default=0)
    parser.add_argument("--recipe", default="retainer")
    parser.add_argument("--set", default="{}", help="JSON of recipe fields to change")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out")
    options = parser.parse_args()
    cells = [(method, int(seed), options) for method in options.methods.split(",") for seed in options.seeds.split(",")]
    results: list[dict[str, Any]] = []
    with shared_gpu(), ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(one, *cell) for cell in cells]):
            results.append(done.result())
            save(options, results)


def save(options: argparse.Namespace, results: list[dict[str, Any]]) -> None:
    """Write what is finished."""
    if options.out:
        settings = {name: value for name, value in vars(options).items() if name not in ("data", "out")}
        results = sorted(results, key=lambda result: (result["method"], result["seed"]))
        document = {"corpus": Path(options.data).name, **settings, "cells": results}
        Path(options.out).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
