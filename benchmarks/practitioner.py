r"""One more type for a model in use, on several corpora: few sentences or many, drawn or picked, with text or not.

    python benchmarks/practitioner.py --case CONLL2003:person --case FEWNERD:person-politician \
        --case FEWNERD:other-award --case WNUT17:location --case WNUT17:product --sizes 50,100,500 \
        --draws random,having --text 0,2000 --methods retain,rdp,rdp-no-ppl,cpfd --seeds 1,2,3 \
        --jobs 12 --bases DIR --out FILE
    python benchmarks/practitioner.py --show FILE

A case is a folder with train and test files, and the type to learn; the other types of the preset that is called like
the folder (of any other corpus, all its types) are old. A method may have fields, its own or the recipe's, as with
choose.py: retain:look_share=0.5:epochs=7. The first one is what the others are compared with.

The seed deals the training sentences of a case out, and no sentence has two uses. First come those that somebody
annotates with the new type alone: drawn at random, or out of those that have it (having), 50 of them being the first
50 of the 500. Then comes the text, without annotation and the same for all sizes, draws and methods. Of the rest at
most --base sentences, annotated with the old types alone, make the first version, which all runs of a case and a seed
share; it lies in the folder --bases. Every run learns from it without a dev file and is scored on the test set. FILE
is written after every run, and a run that is in it already is not repeated; what cannot be run is in it with the
reason.
"""

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from retainer.data.corpus import Corpus, fingerprint  # isort: skip (retainer settles the threads first)
from choose import variant
from filelock import FileLock
from machine import machine
from person import Run, call, facts, kept, parts, require_incremental, shares, taught
from practitioner_tables import tables

from retainer.bench.cell import digest, weights_of
from retainer.bench.preset import preset, presets
from retainer.bench.task_sequence import TaskResult
from retainer.data.tasks import Task, hide, require_types
from retainer.errors import InputError
from retainer.files import require_writable, write_text
from retainer.metrics.f1 import Score
from retainer.plurals import amount
from retainer.runtime import end_with_parent, shared_gpu
from retainer.training.recipe import Recipe
from retainer.versions.version import load

DRAWS = ("random", "having")
"""How sentences to annotate are found: any, or those that have the new type."""


# -------------------------------------------------------------------------------------------------- what is measured


class Case(NamedTuple):
    """A corpus and the type that is new in it."""

    folder: Path
    new: str

    @classmethod
    def parse(cls, text: str) -> "Case":
        """Read FOLDER:TYPE."""
        folder, colon, new = text.partition(":")
        if not (folder and colon and new):
            raise InputError(f"{text!r} is not a case; write FOLDER:TYPE")
        return cls(Path(folder), new)

    @property
    def name(self) -> str:
        """How results call it, wherever the folder lies."""
        return f"{self.folder.name.lower()}:{self.new}"

    def old(self, train: Corpus) -> tuple[str, ...]:
        """Return the types of the first version."""
        known = self.folder.name.lower()
        types = preset(known).types if known in presets() else train.types
        require_types(train, types)
        if self.new not in types:
            raise InputError(f"{self.folder} has no {self.new!r} to learn; its types are {', '.join(types)}")
        return tuple(type_ for type_ in types if type_ != self.new)


class Cell(NamedTuple):
    """One run."""

    case: Case
    seed: int
    draw: str
    size: int
    text: int
    method: str

    @property
    def identity(self) -> Run:
        """What tells its record from others."""
        return {**self._asdict(), "case": self.case.name}


@dataclass(frozen=True)
class Dealt:
    """The training sentences of a case and a seed, by their use: rows of the training file."""

    annotated: dict[tuple[str, int], list[int]]
    """By draw and size; what has too few sentences is not there."""
    text: list[int]
    base: list[int]
    having: int
    """How many sentences have the new type."""


def deal(train: Corpus, new: str, seed: int, drawn: Sequence[tuple[str, int]], text: int, base: int) -> Dealt:
    """Deal the sentences out: those to annotate, text, and those of the first version."""
    order = random.Random(seed).sample(range(len(train)), len(train))
    having = [row for row in order if any(span.type == new for span in train[row].spans)]
    rows = {"random": order, "having": having}
    annotated = {(draw, size): rows[draw][:size] for draw, size in drawn if size <= len(rows[draw])}
    taken = {row for chosen in annotated.values() for row in chosen}
    left = [row for row in order if row not in taken]
    return Dealt(annotated, left[:text], left[text : text + base], len(having))


@dataclass(frozen=True)
class Grid:
    """All that is measured, and how."""

    cases: tuple[Case, ...]
    seeds: tuple[int, ...]
    draws: tuple[str, ...]
    sizes: tuple[int, ...]
    texts: tuple[int, ...]
    methods: tuple[str, ...]
    base: int
    epochs: int
    encoder: str
    device: str
    bases: Path
    limit: int

    @property
    def recipe(self) -> Recipe:
        """The recipe of the first versions, and of methods that change nothing about it."""
        return Recipe(epochs=self.epochs)

    def cells(self) -> list[Cell]:
        """List the runs; those of a first version stand together, and begin with those that take longest."""
        sizes = sorted(self.sizes, reverse=True)
        return [Cell(*one) for one in product(self.cases, self.seeds, self.draws, sizes, self.texts, self.methods)]

    def parts(self, case: Case) -> tuple[Corpus, Corpus]:
        """Return the training and the test sentences."""
        return _parts(case.folder, self.limit)

    def annotated(self, cell: Cell) -> Corpus:
        """Return the sentences of a run, annotated with the new type alone."""
        rows = dealt(self, cell.case, cell.seed).annotated[cell.draw, cell.size]
        return hide(_rows(self.parts(cell.case)[0], rows), [cell.case.new])

    def text(self, cell: Cell) -> Corpus | None:
        """Return the text of a run, without annotation."""
        rows = dealt(self, cell.case, cell.seed).text[: cell.text]
        return hide(_rows(self.parts(cell.case)[0], rows), ()) if rows else None

    def key(self, cell: Cell) -> str:
        """Return the hash of all that determines a run."""
        _, method, recipe = variant(cell.method, self.recipe)
        seen = {"base": base_key(self, cell.case, cell.seed), "annotated": fingerprint(self.annotated(cell))}
        seen["text"] = fingerprint(self.text(cell) or ())
        return digest({**cell.identity, **seen, "fields": asdict(method), "recipe": asdict(recipe)})[:32]

    def obstacle(self, cell: Cell) -> str:
        """Say why a run cannot be made, if so."""
        uses, new = dealt(self, cell.case, cell.seed), cell.case.new
        if (cell.draw, cell.size) not in uses.annotated:
            return f"only {uses.having} sentences have {new}" if cell.draw == "having" else "too few sentences"
        if new not in self.annotated(cell).counts:
            return f"none of the {cell.size} sentences drawn has {new}"
        if cell.text and not variant(cell.method, self.recipe)[1].takes_text:
            return f"{cell.method} does not learn from text"
        return ""

    def check(self) -> None:
        """Refuse what cannot be measured before anything is learned."""
        if strange := set(self.draws) - set(DRAWS):
            raise InputError(f"{strange.pop()!r} is not a way to draw; there are {' and '.join(DRAWS)}")
        if twice := [name for name, count in Counter(case.name for case in self.cases).items() if count > 1]:
            raise InputError(f"{twice[0]} is given twice")
        for spec in self.methods:
            require_incremental(variant(spec, self.recipe)[0])
        for case, seed in product(self.cases, self.seeds):
            task = first_task(self, case, seed)
            if case.new not in self.parts(case)[1].counts or not (task.test and task.test.counts):
                raise InputError(f"the test file of {case.folder} has no {case.new!r}, or nothing else")
            if missing := [type_ for type_ in task.new if type_ not in task.train.counts]:
                raise InputError(
                    f"the {len(task.train)} sentences that {case.name} leaves for the first version of seed {seed} "
                    f"have no {missing[0]!r}; annotate fewer (--sizes), or take less text (--text)"
                )


@lru_cache(maxsize=8)
def _parts(folder: Path, limit: int) -> tuple[Corpus, Corpus]:
    return parts(folder, limit)


def _rows(corpus: Corpus, rows: Sequence[int]) -> Corpus:
    """Return some sentences of a corpus, in file order."""
    return replace(corpus, sentences=tuple(corpus[row] for row in sorted(rows)))


@lru_cache(maxsize=64)
def dealt(grid: Grid, case: Case, seed: int) -> Dealt:
    """Deal the training sentences out, for all sizes, draws and methods alike."""
    train, _ = grid.parts(case)
    return deal(train, case.new, seed, list(product(grid.draws, grid.sizes)), max(grid.texts), grid.base)


@lru_cache(maxsize=64)
def first_task(grid: Grid, case: Case, seed: int) -> Task:
    """Return what a first version learns, and the test set with its types."""
    train, test = grid.parts(case)
    old = case.old(train)
    return Task(1, old, (), hide(_rows(train, dealt(grid, case, seed).base), old), test=hide(test, old))


@lru_cache(maxsize=64)
def base_key(grid: Grid, case: Case, seed: int) -> str:
    """Return the hash of all that determines a first version."""
    data, weights = fingerprint(first_task(grid, case, seed).train), weights_of(grid.encoder)
    return digest({"data": data, "recipe": asdict(grid.recipe), "weights": weights, "seed": seed})[:32]


# ---------------------------------------------------------------------------------------------------------- measuring


@lru_cache(maxsize=2)
def first(grid: Grid, case: Case, seed: int) -> TaskResult:
    """Return a first version and its scores; the first process that needs it learns it, the others load it."""
    task, folder = first_task(grid, case, seed), grid.bases / base_key(grid, case, seed)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not folder.exists():
            how = {"recipe": grid.recipe, "seed": seed, "device": grid.device}
            taught(task.train, grid.encoder, out=folder, measure=False, **how)
    version = load(folder, device=grid.device)
    return TaskResult.after(task, version, sum(epoch["seconds"] for epoch in version.lineage.scores["history"]))


def learned_first(grid: Grid, case: Case, seed: int) -> Run:
    """Make sure that a first version is there, and describe it."""
    found = first(grid, case, seed)
    return {
        "case": case.name,
        "seed": seed,
        "key": base_key(grid, case, seed),
        "sentences": len(found.task.train),
        "macro": round(found.scores.macro, 3),
        "seconds": round(found.seconds, 2),
    }


def measure(grid: Grid, cell: Cell) -> Run:
    """Learn the new type as a practitioner would, and score what came of it."""
    before, data, text = first(grid, cell.case, cell.seed), grid.annotated(cell), grid.text(cell)
    _, method, recipe = variant(cell.method, grid.recipe)
    how = {"recipe": recipe, "seed": cell.seed, "device": grid.device}
    version, seconds = taught(data, before.version, method=method, text=text, **how)
    new, old, test = cell.case.new, before.task.new, hide(grid.parts(cell.case)[1], (*before.task.new, cell.case.new))
    after = TaskResult.after(Task(2, (new,), old, data, test=test), version, seconds)
    record = version.lineage
    return {
        **cell.identity,
        "key": grid.key(cell),
        "base": base_key(grid, cell.case, cell.seed),
        "entities": data.counts[new],
        "text_used": record.data.get("text", {}).get("sentences", 0),
        "before": _rounded(before.scores.macro_of(old)),
        "old": _rounded(after.scores.macro_of(old)),
        "new": _scores(after.scores.per_type[new]),
        "kept": _rounded(shares(kept([one.spans for one in test], before.spans, after.spans))["all"]),
        "old_entities": sum(test.counts[type_] for type_ in old),
        "seconds": _rounded(seconds),
        "epochs": len(record.scores["history"]),
        "kept_epoch": record.scores["epoch"],
    }


def _scores(new: Score) -> Run:
    rounded = {name: _rounded(getattr(new, name)) for name in ("f1", "precision", "recall")}
    return {**rounded, "entities": new.support}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def run_all(grid: Grid, missing: Sequence[Cell], jobs: int) -> Iterator[Run]:
    """Yield first versions and runs as they are done; the runs of a first version begin as soon as it is there."""
    by_base: dict[tuple[Case, int], list[Cell]] = {}
    for cell in missing:
        by_base.setdefault((cell.case, cell.seed), []).append(cell)
    if jobs == 1:
        for base, cells in by_base.items():
            yield learned_first(grid, *base)
            yield from (measure(grid, cell) for cell in cells)
        return
    with shared_gpu(), ProcessPoolExecutor(jobs, get_context("spawn"), end_with_parent) as pool:
        try:
            yield from _pooled(pool, grid, by_base)
        except BaseException:
            pool.shutdown(cancel_futures=True)  # what waits is not begun; a later call measures it
            raise


def _pooled(pool: ProcessPoolExecutor, grid: Grid, by_base: dict[tuple[Case, int], list[Cell]]) -> Iterator[Run]:
    bases: dict[Future[Run], list[Cell]] = {
        pool.submit(learned_first, grid, *base): cells for base, cells in by_base.items()
    }
    running: set[Future[Run]] = set(bases)
    while running:
        done, running = wait(running, return_when=FIRST_COMPLETED)
        for one in done:
            yield one.result()
            running |= {pool.submit(measure, grid, cell) for cell in bases.pop(one, ())}


# ----------------------------------------------------------------------------------------------------------- the file


def opened(out: Path, grid: Grid) -> Run:
    """Read a file that was begun, or begin one."""
    document = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    described = {case.name: _described(grid, case) for case in grid.cases}
    return {
        "encoder": Path(grid.encoder).name,
        "methods": _joined(document.get("methods", []), grid.methods),
        "cases": {**document.get("cases", {}), **described},
        "calls": document.get("calls", []),
        "skipped": document.get("skipped", []),
        "first": document.get("first", []),
        "runs": document.get("runs", []),
    }


def _described(grid: Grid, case: Case) -> Run:
    train, test = grid.parts(case)
    old = case.old(train)
    shown = [facts(hide(part, (*old, case.new))) for part in (train, test)]
    return {"old": list(old), "train": shown[0], "test": shown[1]}


def _joined(known: Sequence[str], more: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*known, *more]))


def missing_cells(grid: Grid, document: Run, out: Path) -> list[Cell]:
    """Return the runs that are not in the file; refuse to mix in those made with other sentences or values."""
    known = {_identity(run): run["key"] for run in document["runs"]}
    bases = {(run["case"], run["seed"]): run["base"] for run in document["runs"]}
    found = []
    for cell in grid.cells():
        if why := grid.obstacle(cell):
            row = {name: value for name, value in cell.identity.items() if name not in ("text", "method")}
            document["skipped"] += [{**row, "why": why}] if {**row, "why": why} not in document["skipped"] else []
            continue
        identity, base = _identity(cell.identity), base_key(grid, cell.case, cell.seed)
        same = identity not in known or known[identity] == grid.key(cell)
        if not same or bases.get((cell.case.name, cell.seed), base) != base:
            raise InputError(
                f"{out} has runs of {cell.case.name} with seed {cell.seed} that were made with other sentences or "
                "values (--sizes, --draws, --text, --base, --epochs, --encoder); choose another --out"
            )
        if identity not in known:
            found.append(cell)
    return found


def _identity(run: Run) -> tuple[Any, ...]:
    return tuple(run[name] for name in Cell._fields)


def put(document: Run, found: Run) -> str:
    """Put a first version or a run into the document, and return a line about it."""
    if "method" not in found:
        same = (found["case"], found["seed"])
        document["first"] = [one for one in document["first"] if (one["case"], one["seed"]) != same] + [found]
        return f"{found['case']} seed {found['seed']}: first version, macro F1 {found['macro']:.1f}"
    order = document["methods"]
    document["runs"] = sorted(
        [*document["runs"], found], key=lambda run: (*_identity(run)[:-1], order.index(run["method"]))
    )
    what = f"{found['case']} seed {found['seed']} {found['draw']} {found['size']} text {found['text']}"
    scores = f"old {found['before']:.1f} to {found['old']:.1f}, new {found['new']['f1']:.1f}"
    return f"{what} {found['method']}: {scores}, {found['seconds']:.0f} s"


def save(out: Path, document: Run) -> None:
    """Write the file in one step, a run a line."""
    lists = ("skipped", "first", "runs")
    head = {name: value for name, value in document.items() if name not in lists}
    blocks = [f' "{name}": [\n' + ",\n".join(map(json.dumps, document[name])) + "\n ]" for name in lists]
    write_text(out, json.dumps(head, indent=1).removesuffix("\n}") + ",\n" + ",\n".join(blocks) + "\n}\n")


# --------------------------------------------------------------------------------------------------------------- call


def parsed() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", help="FOLDER:TYPE, a corpus and its new type; may be given again")
    parser.add_argument("--out", type=Path, help="the JSON file to write, or to go on with")
    parser.add_argument("--show", type=Path, help="print the tables of such a file, and measure nothing")
    parser.add_argument("--sizes", default="50,100,500", help="how many sentences are annotated")
    parser.add_argument("--draws", default="random,having", help="drawn from all, or from those that have the type")
    parser.add_argument("--text", default="0", help="how many sentences without annotation there are besides")
    parser.add_argument("--methods", default="retain,rdp,rdp-no-ppl,cpfd", help="methods, each METHOD[:FIELD=VALUE]...")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--base", type=int, default=4000, help="the most sentences a first version learns from")
    parser.add_argument("--bases", type=Path, default=Path("scratch/bases"), help="the folder of the first versions")
    parser.add_argument("--encoder", default="builtin")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--epochs", type=int, default=Recipe().epochs)
    parser.add_argument("--jobs", type=int, default=1, help="runs at once, in processes that share a GPU")
    parser.add_argument("--limit", type=int, default=0, help="only the first sentences of the parts, for a try")
    options = parser.parse_args()
    if not options.show and not (options.case and options.out):
        parser.error("--case and --out are needed, or --show")
    return options


def grid_of(options: argparse.Namespace) -> Grid:
    """Read the lists among the options."""
    numbers = {name: tuple(map(int, getattr(options, name).split(","))) for name in ("seeds", "sizes", "text")}
    return Grid(
        cases=tuple(map(Case.parse, options.case)),
        seeds=numbers["seeds"],
        draws=tuple(options.draws.split(",")),
        sizes=numbers["sizes"],
        texts=numbers["text"],
        methods=tuple(options.methods.split(",")),
        **{name: getattr(options, name) for name in ("base", "epochs", "encoder", "device", "bases", "limit")},
    )


def command(options: argparse.Namespace, grid: Grid) -> str:
    """Write the call that repeats this one; folders lose the places they lie in."""
    cases = [word for case in grid.cases for word in ("--case", f"{case.folder.name.upper()}:{case.new}")]
    return call("practitioner.py", [*cases, "--out", f"results/{options.out.name}"], options, ("case", "bases"))


def main() -> None:
    """Measure what is missing, write as it goes, and print the tables."""
    options = parsed()
    if options.show:
        print(tables(json.loads(options.show.read_text(encoding="utf-8"))))
        return
    began, grid = time.perf_counter(), grid_of(options)
    grid.check()
    document = opened(require_writable(options.out), grid)
    missing = missing_cells(grid, document, options.out)
    for row in document["skipped"]:
        print(f"left out: {row['case']} seed {row['seed']} {row['draw']} {row['size']}: {row['why']}", flush=True)
    print(f"{amount(len(missing), 'run')} to make, {len(document['runs'])} made before", flush=True)
    own: Run = {"command": command(options, grid), "machine": machine(), "runs": 0, "seconds": 0.0}
    document["calls"].append(own)
    for number, found in enumerate(run_all(grid, missing, options.jobs), 1):
        print(f"[{number}] {put(document, found)}", flush=True)
        own.update(runs=own["runs"] + ("method" in found), seconds=round(time.perf_counter() - began, 1))
        save(options.out, document)
    print(tables(document))


if __name__ == "__main__":
    main()
