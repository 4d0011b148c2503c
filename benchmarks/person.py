"""A model in use learns one more type from a few annotated sentences: what it keeps, gains and forgets, on real text.

    python benchmarks/person.py --data CONLL2003 --out FILE [--seeds 1,2,3] [--methods rdp,finetune] [--jobs 3]
    python benchmarks/person.py --show FILE

As a practitioner would do it. A first version learns all types but one from the training sentences, without those that
are drawn (by the seed) to be annotated with the new type alone; every method then learns it from these. Epochs are
chosen on what `learn` sets aside; no dev file is used. Everything is scored on the test set, and FILE is written after
every seed. --show prints the tables of a file again.
"""

import argparse
import json
import random
import shlex
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from retainer.data.corpus import Corpus, fingerprint  # isort: skip (retainer settles the threads first)
from retainer.data.splits import read_splits  # isort: skip (retainer settles the threads first)
from machine import machine

from retainer.data.spans import Span
from retainer.data.tasks import hide
from retainer.errors import InputError
from retainer.files import require_writable, write_text
from retainer.methods import method
from retainer.model.quirks import NONE
from retainer.runtime import end_with_parent, shared_gpu
from retainer.training.learn import learn
from retainer.training.recipe import Recipe
from retainer.versions.version import Version

Run = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What is measured for every seed."""

    data: Path
    new: str
    sentences: int
    having: bool
    methods: tuple[str, ...]
    encoder: str
    device: str
    epochs: int
    limit: int

    def parts(self) -> tuple[Corpus, Corpus]:
        """Read the training and the test sentences."""
        return parts(self.data, self.limit)

    def check(self) -> None:
        """Refuse what cannot be learned this way before anything is."""
        for name in self.methods:
            require_incremental(name)
        train, test = self.parts()
        if self.new not in train.counts or self.new not in test.counts:
            raise InputError(f"{self.data} has no {self.new!r} in its training or its test part")
        drawn(train, self.new, self.sentences, 0, having=self.having)


def parts(data: Path, limit: int = 0) -> tuple[Corpus, Corpus]:
    """Read the training and the test sentences of a folder; for a try, only the first of them."""
    train, _, test = read_splits(data)
    if test is None:
        raise InputError(f"{data} has no test file")
    cut = (replace(one, sentences=one.sentences[: limit or None]) for one in (train, test))
    return next(cut), next(cut)


def require_incremental(name: str) -> None:
    """Refuse a method that cannot do what is measured here."""
    if method(name).joint or method(name).quirks != NONE:
        raise InputError(f"{name} does not learn from a version and new sentences alone, so it has no place here")


def drawn(train: Corpus, new: str, count: int, seed: int, *, having: bool = False) -> tuple[Corpus, Corpus]:
    """Draw sentences that somebody annotates with the new type alone; the rest shows all types but that one.

    Any sentence may be drawn; ``having``, only those that have the new type, as one finds them by a search.
    """
    rows = [row for row, one in enumerate(train) if not having or any(span.type == new for span in one.spans)]
    if count >= len(rows):
        raise InputError(f"only {len(rows)} sentences to draw {count} from")
    chosen = set(random.Random(seed).sample(rows, count))
    parts = [[one for row, one in enumerate(train) if (row in chosen) is aside] for aside in (False, True)]
    rest, annotated = (replace(train, sentences=tuple(part)) for part in parts)
    return hide(rest, [type_ for type_ in train.types if type_ != new]), hide(annotated, [new])


def kept(
    gold: Iterable[Sequence[Span]], before: Iterable[Sequence[Span]], after: Iterable[Sequence[Span]]
) -> dict[str, tuple[int, int]]:
    """Count by type the entities the version before found right, and how many of them are found right after it."""
    counts: dict[str, tuple[int, int]] = {}
    for wanted, old, new in zip(gold, before, after, strict=True):
        for span in set(wanted) & set(old):
            found, still = counts.get(span.type, (0, 0))
            counts[span.type] = found + 1, still + (span in set(new))
    return counts


def shares(counts: dict[str, tuple[int, int]]) -> dict[str, float | None]:
    """Return the share that was kept in percent, by type and of all."""
    total = tuple(map(sum, zip(*counts.values(), strict=True))) or (0, 0)
    return {name: 100 * still / found if found else None for name, (found, still) in {**counts, "all": total}.items()}


def measured(version: Version, test: Corpus, seconds: float) -> Run:
    """Score a version and its scores, and say how it was made."""
    scores, trust = version.assess(test)
    record = version.lineage
    return {
        "seconds": seconds,
        "data": record.data,
        "dev": record.scores["dev"],
        "epochs": len(record.scores["history"]),
        "kept_epoch": record.scores["epoch"],
        "scores": scores.as_dict(),
        "calibration_error": {name: errors(one) for name, one in trust.items()},
        "curves": record.calibration,
    }


def errors(trust: dict[str, Any]) -> dict[str, float | None]:
    """Leave the tenths of a reliability out."""
    return {**{type_: one["error"] for type_, one in trust["per_type"].items()}, "all": trust["error"]}


def one(plan: Plan, seed: int) -> Run:
    """Measure a seed: the first version, and every method after it."""
    train, test = plan.parts()
    rest, annotated = drawn(train, plan.new, plan.sentences, seed, having=plan.having)
    how = {"recipe": Recipe(epochs=plan.epochs), "seed": seed, "device": plan.device}
    base, seconds = taught(rest, plan.encoder, **how)
    first = measured(base, test, seconds)
    before, gold = base.tag(test.sentences), [sentence.spans for sentence in test]
    found = {}
    for name in plan.methods:
        version, seconds = taught(annotated, base, method=name, **how)
        run = measured(version, test, seconds)
        old, now = first["scores"]["per_type"], run["scores"]["per_type"]
        found[name] = {
            "keep": shares(kept(gold, before, version.tag(test.sentences))),
            "gain": now[plan.new]["f1"],
            "forget": {type_: old[type_]["f1"] - now[type_]["f1"] for type_ in old},
            **run,
        }
        print(f"seed {seed} {name}: keep {found[name]['keep']['all']} gain {found[name]['gain']}", flush=True)
    return {"seed": seed, "annotated": facts(annotated), "base": first, "methods": found}


def taught(data: Corpus, start: Version | str, **how: Any) -> tuple[Version, float]:
    """Learn as `retainer learn` does, and say how many seconds it took; a bare encoder learns alike with any method."""
    began = time.perf_counter()
    version = learn(data, start, **how)
    return version, time.perf_counter() - began


def facts(corpus: Corpus) -> dict[str, Any]:
    """Count a corpus, and tell it from others; no text."""
    return {"sha256": fingerprint(corpus), "sentences": len(corpus), "entities": dict(sorted(corpus.counts.items()))}


def described(plan: Plan) -> Run:
    """Say what is measured, for the file."""
    train, test = plan.parts()
    return {
        "new": plan.new,
        "old": [type_ for type_ in train.types if type_ != plan.new],
        "encoder": Path(plan.encoder).name,
        "methods": list(plan.methods),
        "data": {"train": facts(train), "test": facts(test)},
    }


def run_all(plan: Plan, seeds: Sequence[int], jobs: int) -> Iterator[Run]:
    """Measure the seeds, several at once where asked to, and yield each as it is done."""
    if jobs == 1 or len(seeds) == 1:
        yield from (one(plan, seed) for seed in seeds)
        return
    with shared_gpu(), ProcessPoolExecutor(jobs, get_context("spawn"), end_with_parent) as pool:
        for done in as_completed([pool.submit(one, plan, seed) for seed in seeds]):
            yield done.result()


# ------------------------------------------------------------------------------------------------------------- tables


def tables(document: Run) -> str:
    """Write the tables of a file: what became of the types, every type's scores, and how far scores are off."""
    types, new, methods = [*document["old"], document["new"]], document["new"], document["methods"]
    runs = {name: [run["methods"][name] for run in document["runs"]] for name in methods}
    every = {"base": [run["base"] for run in document["runs"]], **runs}
    return "\n\n".join(
        [
            markdown(
                ["method", "keep %", f"gain: {new} F1", *(f"forget: {type_}" for type_ in [*document["old"], "mean"])],
                [[name, *changes(own, document["old"])] for name, own in runs.items()],
            ),
            markdown(
                ["precision / recall / F1", *every],
                [[type_, *(scores_of(own, type_) for own in every.values())] for type_ in types],
            ),
            markdown(
                ["calibration error, plain → calibrated", *types, "all"],
                [[name, *(trust_of(own, type_) for type_ in [*types, "all"])] for name, own in every.items()],
            ),
        ]
    )


def changes(runs: Sequence[Run], old: Sequence[str]) -> list[str]:
    """Write what a method kept, gained and forgot."""
    drops = [[run["forget"][type_] for type_ in old] for run in runs]
    return [
        mean([run["keep"]["all"] for run in runs]),
        mean([run["gain"] for run in runs]),
        *(mean(column) for column in zip(*drops, strict=True)),
        mean([statistics.fmean(row) for row in drops]),
    ]


def scores_of(runs: Sequence[Run], type_: str) -> str:
    """Write precision, recall and F1 of a type; a version that does not know it has none."""
    rows = [run["scores"]["per_type"].get(type_) for run in runs]
    known = [row for row in rows if row]
    return " / ".join(mean([row[name] for row in known]) for name in ("precision", "recall", "f1")) if known else "–"


def trust_of(runs: Sequence[Run], type_: str) -> str:
    """Write how far the scores of a type are off, before and after, and in how many seeds it has a curve if not all."""
    pair = [mean([run["calibration_error"][name].get(type_) for run in runs]) for name in ("plain", "calibrated")]
    if pair == ["–", "–"]:
        return "–"
    fitted = sum(type_ in run["curves"] for run in runs)
    bare = "" if type_ == "all" or fitted == len(runs) else f" ({fitted} of {len(runs)} calibrated)"
    return " → ".join(pair) + bare


def mean(values: Sequence[float | None]) -> str:
    """Write a mean and the standard deviation over seeds; where some seeds have no value, how many have."""
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    spread = f" ± {statistics.stdev(known):.1f}" if len(known) > 1 else ""
    return f"{statistics.fmean(known):.1f}{spread}" + ("" if len(known) == len(values) else f" (of {len(known)})")


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


# --------------------------------------------------------------------------------------------------------------- call


def command(options: argparse.Namespace) -> str:
    """Write the call that repeats this one; folders lose the places they lie in."""
    places = ["--data", options.data.name.upper(), "--out", f"results/{options.out.name}"]
    return call("person.py", places, options, ("data",))


def call(program: str, places: Sequence[str], options: argparse.Namespace, placed: Sequence[str]) -> str:
    """Write the call of a program: the places it reads and writes, the encoder, and all other options."""
    left_out = ("show", "out", "encoder", *placed)
    given = {name.replace("_", "-"): value for name, value in vars(options).items() if name not in left_out}
    flags = [f"--{name}={value}" for name, value in given.items() if value and value is not True]
    flags += [f"--{name}" for name, value in given.items() if value is True]
    return shlex.join(["python", f"benchmarks/{program}", *places, "--encoder", Path(options.encoder).name, *flags])


def parsed() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with train and test files")
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    parser.add_argument("--show", type=Path, help="print the tables of such a file, and measure nothing")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--methods", default="rdp,finetune")
    parser.add_argument("--new", default="person", help="the type to learn")
    parser.add_argument("--sentences", type=int, default=500, help="how many are annotated with it")
    parser.add_argument("--having", action="store_true", help="draw only sentences that have the new type")
    parser.add_argument("--encoder", default="builtin")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--epochs", type=int, default=Recipe().epochs)
    parser.add_argument("--jobs", type=int, default=1, help="seeds measured at once")
    parser.add_argument("--limit", type=int, default=0, help="only the first sentences of the parts, for a try")
    options = parser.parse_args()
    if not options.show and not (options.data and options.out):
        parser.error("--data and --out are needed, or --show")
    return options


def main() -> None:
    """Measure, write as it goes, and print the tables."""
    options = parsed()
    if options.show:
        print(tables(json.loads(options.show.read_text(encoding="utf-8"))))
        return
    began = time.perf_counter()
    names = ("data", "new", "sentences", "having", "encoder", "device", "epochs", "limit")
    plan = Plan(methods=tuple(options.methods.split(",")), **{name: getattr(options, name) for name in names})
    plan.check()
    document = {**described(plan), "command": command(options), "machine": machine(), "runs": []}
    require_writable(options.out)
    for run in run_all(plan, [int(seed) for seed in options.seeds.split(",")], options.jobs):
        document["runs"] = sorted([*document["runs"], run], key=lambda one: one["seed"])
        document["seconds"] = time.perf_counter() - began
        write_text(options.out, json.dumps(document, indent=1) + "\n")
    print(tables(document))


if __name__ == "__main__":
    main()
