"""How good rdp's pseudo labels are, by the temperature of its prototypes, against the teacher's own labels.

    python benchmarks/pseudo_labels.py PRESET DATA --setting FG-8-PG-2 --out FILE [--epochs 4] [--seed 1] [--device cpu]

A first version is learned, and asked for the old types in the slice of the second task, where they are hidden. No
student is trained: this is about the labels alone. The rest says where prototypes lie: how far words are from the
prototype of their own label, and how many of the words the teacher calls O are nearer to that of an entity.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from machine import machine

from retainer.bench.preset import preset
from retainer.bench.pseudo_label_quality import score_pseudo_labels
from retainer.data.splits import read_splits
from retainer.data.tasks import Plan, plan
from retainer.methods import METHODS
from retainer.methods.rdp import RDP, prototypes
from retainer.model.predict import run_tagger
from retainer.training.learn import learn
from retainer.training.prepare import prepare
from retainer.training.recipe import Recipe, recipe
from retainer.training.task_data import TaskData
from retainer.versions.version import Version

TEMPERATURES = (0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0)


def rows(teacher: Version, made: Plan, how: Recipe) -> list[dict[str, Any]]:
    """Score the labels of every temperature, and those without prototypes."""
    plain = METHODS["rdp"]
    assert isinstance(plain, RDP)
    methods = {"none": replace(plain, pseudo="argmax")}
    methods |= {str(heat): replace(plain, temperature=heat) for heat in TEMPERATURES}
    found = []
    for name, method in methods.items():
        scores = score_pseudo_labels(teacher, method, made, 2, how)
        assert scores is not None
        found.append({"temperature": name, **scores.total.as_dict()})
        print(json.dumps(found[-1]), flush=True)
    return found


@torch.no_grad()
def distances(teacher: Version, made: Plan, how: Recipe) -> dict[str, Any]:
    """Say where the words of the slice lie among the prototypes."""
    task = made.task(2)
    prepared = prepare(teacher.tagger, TaskData(task.train, task.new), METHODS["rdp"], how)
    seen, free = run_tagger(teacher.tagger, prepared.slice, hidden=True), prepared.tokens.unannotated
    names, outside = teacher.tagger.labels.names, prepared.tokens.outside
    label = seen.logits.argmax(dim=-1)
    centres, known = prototypes(seen.hidden, label, free, len(names))
    away = torch.cdist(seen.hidden, centres).masked_fill(~known, float("inf"))
    others = away[free & (label == outside)]
    nearest = others.argmin(dim=-1)
    return {
        "to_own_prototype": {
            name: float(away[free & (label == at), at].mean()) for at, name in enumerate(names) if known[at]
        },
        "words_called_outside": len(others),
        "of_these_nearer_to_an_entity": float((nearest != outside).float().mean()),
    }


def main() -> None:
    """Learn the first version, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset")
    parser.add_argument("data", type=Path)
    parser.add_argument("--setting", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    known = preset(options.preset)
    setting, how = known.setting(options.setting), recipe("retainer").changed({"epochs": options.epochs})
    made = plan(
        read_splits(options.data), fg=setting.fg, pg=setting.pg, seed=options.seed, types=setting.types or known.types
    )
    first = made.task(1)
    base = learn(first.train, "builtin", dev=first.dev, recipe=how, seed=options.seed, device=options.device)
    what = {name: getattr(options, name) for name in ("preset", "setting", "epochs", "seed")}
    document = {**what, "machine": machine(), "rows": rows(base, made, how), **distances(base, made, how)}
    options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
