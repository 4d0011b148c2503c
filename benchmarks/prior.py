r"""Which rule for the prior correction? Rules side by side, fitted on half of a dev set and scored on the other half.

    python benchmarks/prior.py --data DATA --out FILE --jobs 12 --seeds 1,2 \
        --case conll2003:FG-1-PG-1 --case conll2003:FG-2-PG-1 --case wnut17:FG-1-PG-1 \
        --case snips:FG-3-PG-3 --case fewnerd:FG-8-PG-2
    python benchmarks/prior.py --show FILE

DATA has a folder for every preset. A case is a sequence of tasks that `retain` learns with its own rule, or a number of
sentences from which it learns one type alone (fewnerd:500, as with ideas.py, and always with a dev set). After every
task each rule is fitted on one half of the dev set and judged on the other (both ways), and fitted on the whole and
judged on the test set; and once more with a dev set cut to ten entities of every taught type. What is kept is the
change in F1, without any correction as the start: of taught types, and macro over all.
"""

import argparse
import json
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest import mock

from retainer.bench.preset import preset  # isort: skip (retainer settles the threads before torch starts any)
import numpy as np
from ideas import OneType, one_type
from machine import machine

from retainer.bench.task_sequence import TaskResult, TaskSequence
from retainer.data.corpus import Corpus
from retainer.data.splits import read_splits
from retainer.data.tasks import Plan, plan
from retainer.files import write_text
from retainer.methods import method
from retainer.metrics.f1 import Array, Spans, gold_spans
from retainer.model.tagger import Tagger
from retainer.runtime import end_with_parent, shared_gpu
from retainer.training import blend, evidence
from retainer.training import settled as settled_student
from retainer.training.evidence import Evidence
from retainer.training.prior import Offsets, fit_offsets
from retainer.training.recipe import Recipe

Run = dict[str, Any]
FEW_ENTITIES = 10
"""The entities of a taught type a cut dev set has."""
AT_ONCE = 3
"""Tasks of a sequence whose rules are tried at once."""


@dataclass(frozen=True)
class Rule:
    """Standard errors a gain must be worth, the weight of old types, and whether they have offsets too."""

    sureness: float = 1.0
    agreed: float = 0.5
    old: bool = True

    def fitted(self, seen: Evidence) -> Offsets:
        """Return the offsets of this rule."""
        with ExitStack() as stack:
            stack.enter_context(mock.patch.object(evidence, "SURENESS", self.sureness))
            stack.enter_context(mock.patch.object(evidence, "AGREED", self.agreed))
            return fit_offsets(replace(seen), None if self.old else seen.taught)


RULES = {
    "ours": Rule(),
    "free": Rule(sureness=0.0),
    "half an error": Rule(sureness=0.5),
    "two errors": Rule(sureness=2.0),
    "old types count nothing": Rule(agreed=0.01),
    "old types count as much": Rule(agreed=1.0),
    "taught types alone": Rule(old=False),
    "free, taught types alone": Rule(sureness=0.0, old=False),
}


def part(seen: Evidence, rows: Array) -> Evidence:
    """Return what some of the sentences say."""
    starts = seen.sentence_starts
    lengths = np.diff(starts)[rows]
    words = np.concatenate([np.arange(starts[row], starts[row + 1]) for row in rows.tolist()])
    fresh = np.concatenate([[0], lengths.cumsum()])
    owner = np.searchsorted(starts, seen.gold.start, side="right") - 1
    number = np.full(len(starts) - 1, -1)
    number[rows] = np.arange(len(rows))
    kept = number[owner] >= 0
    move = fresh[number[owner[kept]]] - starts[owner[kept]]
    gold = Spans(seen.gold.start[kept] + move, seen.gold.end[kept] + move, seen.gold.type[kept])
    return replace(seen, logits=seen.logits[words], sentence_starts=fresh, gold=gold)


def cut(seen: Evidence, seed: int) -> Evidence:
    """Return a dev set in which every taught type has at most so many entities, and as many other words to each."""
    counts = {type_: seen.support[type_] for type_ in seen.taught}
    share = min([1.0, *(FEW_ENTITIES / count for count in counts.values() if count)])
    order = np.random.default_rng(seed).permutation(len(seen.sentence_starts) - 1)
    return part(seen, np.sort(order[: max(20, round(share * len(order)))]))


def change(seen: Evidence, offsets: Offsets) -> list[float]:
    """Return how F1 changes: mean over the taught types, and over all judged ones."""
    apart = seen.shifted(offsets).as_it_is.f1 - seen.as_it_is.f1
    taught = [apart[seen.judged.index(type_)] for type_ in seen.taught]
    return [float(np.mean(taught)), float(np.mean(apart))]


def judged(dev: Evidence, test: Evidence, seed: int) -> Run:
    """Try every rule on a task."""
    order = np.random.default_rng(seed).permutation(len(dev.sentence_starts) - 1)
    halves = [part(dev, np.sort(order[side::2])) for side in (0, 1)]
    small, found = cut(dev, seed), {}
    for name, rule in RULES.items():
        crossed = [change(other, rule.fitted(one)) for one, other in (halves, halves[::-1])]
        found[name] = {
            "crossed": [statistics.fmean(pair) for pair in zip(*crossed, strict=True)],
            "test": change(test, rule.fitted(dev)),
            "test, dev cut": change(test, rule.fitted(small)),
        }
    return found


def of_test(student: Tagger, test: Corpus, taught: Sequence[str]) -> Evidence:
    """Look at the test set, in which all types so far are annotated."""
    seen = Evidence.of(student, student, test, taught)
    types = student.labels.types
    gold = gold_spans(test, seen.sentence_starts, types)
    occurring = tuple(type_ for number, type_ in enumerate(types) if (gold.type == number).any() or type_ in taught)
    return replace(seen, gold=gold, judged=occurring, annotated=types)


def sequence(data: Path, bases: Path, case: str, seed: int, device: str) -> Run:
    """Learn the tasks of a case, and try the rules after each while the next one is learned."""
    name, setting = case.split(":")
    tests, results = learned(data / name, setting, seed, device, bases)
    taught: list[list[str]] = []
    found: list[Future[Run]] = []

    def settled(student: Tagger, parent: Tagger, dev: Corpus, seen: Evidence, *, blend: bool) -> Any:
        taught.append(list(seen.taught))
        unused = replace(seen)  # what it has worked out so far stays behind: it is pickled while the fit below goes on
        found.append(pool.submit(judged, unused, of_test(student, tests[len(found)], seen.taught), seed))
        return usual(student, parent, dev, seen, blend=blend)

    usual = blend.settle
    with ProcessPoolExecutor(AT_ONCE, get_context("spawn"), end_with_parent) as pool:
        with mock.patch.object(settled_student, "settle", settled):
            for _ in results:
                pass
        rows = [{"taught": types, "rules": one.result()} for types, one in zip(taught, found, strict=True)]
    return {"case": case, "seed": seed, "tasks": rows}


Learned = tuple[list[Corpus], Iterator[TaskResult]]
"""The test set after each task, and the tasks as they are learned."""


def learned(corpus: Path, setting: str, seed: int, device: str, bases: Path) -> Learned:
    """Return the test sets of the tasks of a case, and the tasks as they are learned."""
    if setting[0].isdecimal():
        one = replace(OneType.parse(corpus, setting), dev=True)
        return tests_of(one.tasks(seed))[1:], one_type(one, "retain", seed, device, bases)
    known = preset(corpus.name)
    cutting = known.setting(setting)
    types = cutting.types or known.types
    tasks = plan(read_splits(corpus), fg=cutting.fg, pg=cutting.pg, seed=seed, types=types)
    recipe = Recipe(epochs=cutting.epochs, prior="dev")
    return tests_of(tasks), TaskSequence(tasks, method("retain"), recipe=recipe, seed=seed, device=device).run()


def tests_of(tasks: Plan) -> list[Corpus]:
    """Return the test set after each task; presets have one."""
    return [test for number in range(1, len(tasks) + 1) if (test := tasks.task(number).test) is not None]


def table(document: Run) -> str:
    """Write the means over tasks and seeds, case by case: change of the taught types / of all."""
    cases = list(dict.fromkeys(run["case"] for run in document["runs"]))
    lines = []
    for way in ("crossed", "test", "test, dev cut"):
        lines += [f"\n| {way}: taught / all | {' | '.join(cases)} |", "| --- " * (len(cases) + 1) + "|"]
        for name in RULES:
            found: defaultdict[str, list[list[float]]] = defaultdict(list)
            for run in document["runs"]:
                found[run["case"]] += [task["rules"][name][way] for task in run["tasks"]]
            means = ([statistics.fmean(one) for one in zip(*found[case], strict=True)] for case in cases)
            lines.append(f"| {name} | {' | '.join(f'{taught:+.2f} / {all_:+.2f}' for taught, all_ in means)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, write as it goes, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", type=Path)
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--bases", type=Path, help="keep the models that know the other types here, for another call")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if options.show:
        print(table(json.loads(options.show.read_text(encoding="utf-8"))))
        return
    runs: list[Run] = []
    pairs = [(case, int(seed)) for case in options.case for seed in options.seeds.split(",")]
    bases = options.bases or Path(tempfile.mkdtemp())
    with shared_gpu(), ProcessPoolExecutor(options.jobs, get_context("spawn"), end_with_parent) as pool:
        waiting = [pool.submit(sequence, options.data, bases, *pair, options.device) for pair in pairs]
        for done in as_completed(waiting):
            runs.append(done.result())
            runs.sort(key=lambda run: (options.case.index(run["case"]), run["seed"]))
            write_text(options.out, json.dumps({"machine": machine(), "runs": runs}, indent=1) + "\n")
    print(table({"runs": runs}))


if __name__ == "__main__":
    main()
