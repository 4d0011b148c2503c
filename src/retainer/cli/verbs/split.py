"""`retainer split`."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Any

from retainer.cli.columns import Columns
from retainer.cli.output import say, say_json
from retainer.data.corpus import Splits
from retainer.data.io import read, write
from retainer.data.splits import read_splits
from retainer.data.tasks import Plan, plan
from retainer.files import new_folder


def split(
    data: str,
    /,
    *,
    fg: int,
    pg: int,
    out: str,
    seed: int = 0,
    types: tuple[str, ...] = (),
    json: bool = False,
    columns: Columns = {},  # noqa: B006 (never changed)
) -> None:
    """Cut a corpus into the tasks of the benchmark protocol (FG-a-PG-b, greedy disjoint slices).

    OUT gets a folder per task with train (only the task's types annotated), dev (likewise) and test (all types so
    far), and manifest.json with hashes, counts and row numbers.

    :param data: annotated file, or a folder with train, dev and test files
    :param fg: types of the first task
    :param pg: types of each later task
    :param out: folder to write; must not exist
    :param seed: fixes where sentences without a type go
    :param types: types to use, in learning order (default: all, alphabetical)
    :param json: print the manifest
    :param columns: {columns}
    """
    splits = read_splits(data, columns) if Path(data).is_dir() else Splits(read(data, columns=columns))
    made = plan(splits, fg=fg, pg=pg, seed=seed, types=types or None)
    manifest = made.manifest()
    with new_folder(out) as folder:
        for number in range(1, len(made) + 1):
            _write_task(made, number, folder / f"task-{number:02}")
        (folder / "manifest.json").write_text(json_format.dumps(manifest, indent=1, ensure_ascii=False), "utf-8")
    say_json(manifest) if json else say(_summary(manifest))


def _write_task(made: Plan, number: int, folder: Path) -> None:
    task = made.task(number)
    for name, corpus in (("train", task.train), ("dev", task.dev), ("test", task.test)):
        if corpus is not None:
            write(corpus, folder / f"{name}.conll", "conll")


def _summary(manifest: dict[str, Any]) -> str:
    rows = [
        f"task {task['number']:2}  {task['sentences']:6} sentences  {', '.join(task['types'])}"
        for task in manifest["tasks"]
    ]
    return "\n".join([f"{manifest['setting']}, seed {manifest['seed']}", *rows])
