"""`retainer demo`: forgetting happens with plain fine-tuning, and does not happen with a method made against it."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retainer.bench.result import CellResult
from retainer.cli.output import note, say, say_json, say_table
from retainer.data.corpus import Splits
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.tasks import Plan, plan
from retainer.errors import InputError
from retainer.files import new_folder, require_free, write_document
from retainer.methods import learnable
from retainer.methods import method as find_method
from retainer.report.demo.page import demo_page
from retainer.report.draw.charts import curves
from retainer.report.draw.examples import Example
from retainer.report.draw.tables import text_table
from retainer.training.recipe import RECIPES, Recipe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retainer.bench.task_sequence import TaskResult
    from retainer.data.corpus import Corpus

DEMO_TYPES = ("artist", "city", "movie", "restaurant")
BASELINE = "finetune"
EXAMPLES = 4


def demo(
    *,
    out: str = "demo",
    corpus: str | None = None,
    sentences: int = 1600,
    epochs: int = 3,
    seed: int = 1,
    method: str = "retain",
    device: str = "auto",
    json: bool = False,
) -> None:
    """Learn four types in four tasks, twice, on a generated corpus: a few minutes on two CPU cores.

    Prints F1 per type after each task for plain fine-tuning and for a method, and writes a page with curves and
    examples.

    :param out: folder for the page (report.html), the picture (curves.svg) and the numbers; must not exist
    :param corpus: learn nothing; write the corpus to this folder, as train, dev and test files with all types annotated
    :param sentences: training sentences of all four tasks together
    :param epochs: passes over each task's sentences
    :param seed: fixes the corpus and the training
    :param method: what plain fine-tuning is compared with
    :param device: auto, cpu or cuda
    :param json: print one JSON document
    """
    if corpus is not None:
        return _write_corpus(corpus, sentences, seed, json)
    folder = require_free(out)
    _require_rival(method)
    recipe = RECIPES["retainer"].changed({"epochs": epochs, "lr": 3e-4, "base_lr": 3e-4})
    made = corpus_plan(sentences, seed)
    note(f"four tasks of {len(made.slices[0])} sentences; each annotates one type only: {', '.join(DEMO_TYPES)}")
    runs = run_both(made, recipe, {"seed": seed, "device": device}, [BASELINE, method])
    results = _results(runs, seed)
    _write(
        folder,
        results,
        _examples(made, runs),
        _facts(f"--sentences {sentences} --epochs {epochs} --seed {seed} --method {method}", sentences, results),
    )
    if json:
        return say_json({method: result.as_dict() for method, result in results.items()})
    for one in results.values():
        say("")
        say_table(text_table(one))
    say(_verdict(results))
    say(f"page: {folder / 'report.html'}")


def _require_rival(name: str) -> None:
    """Refuse what plain fine-tuning cannot be compared with."""
    if find_method(name).joint or name not in learnable() or name == BASELINE:
        raise InputError(
            f"the demo compares {BASELINE} with a method that learns task by task, such as retain, not {name}"
        )


def corpus_plan(sentences: int, seed: int) -> Plan:
    """Generate the corpus and cut it into four tasks of one type each."""
    return plan(Splits(**corpus_parts(sentences, seed)), fg=1, pg=1, seed=seed)


def corpus_parts(sentences: int, seed: int) -> dict[str, Corpus]:
    """Generate train, dev and test."""
    sizes = {"train": sentences, "dev": sentences // 16 + 40, "test": sentences // 8 + 40}
    return {name: generate(size, seed=3 * seed + at, types=DEMO_TYPES) for at, (name, size) in enumerate(sizes.items())}


def _write_corpus(folder: str, sentences: int, seed: int, json: bool) -> None:
    """Write the corpus, to try the other verbs on it."""
    parts = corpus_parts(sentences, seed)
    with new_folder(folder) as scratch:
        for name, part in parts.items():
            write(part, scratch / f"{name}.conll", "conll")
    sizes = {name: len(part) for name, part in parts.items()}
    if json:
        return say_json(sizes)
    say(f"{folder}: " + ", ".join(f"{name} {size} sentences" for name, size in sizes.items()))


def run_both(tasks: Plan, recipe: Recipe, how: dict[str, Any], methods: Sequence[str]) -> dict[str, list[TaskResult]]:
    """Run the methods over the same tasks from the same first version."""
    from retainer.bench.task_sequence import TaskSequence
    from retainer.training.progress import ConsoleProgress
    from retainer.training.request import RunOptions

    runs: dict[str, list[TaskResult]] = {}
    for name in methods:
        note(f"\n{name}")
        first = runs[methods[0]][0] if runs else None
        options = RunOptions(progress=ConsoleProgress())
        sequence = TaskSequence(tasks, find_method(name), recipe=recipe, options=options, **how)
        runs[name] = list(sequence.run(first))
    return runs


def _results(runs: dict[str, list[TaskResult]], seed: int) -> dict[str, CellResult]:
    return {
        method: CellResult.measured(method, [task.task_scores for task in tasks], seed=seed)
        for method, tasks in runs.items()
    }


def _examples(made: Plan, runs: dict[str, list[TaskResult]]) -> list[Example]:
    """Choose test sentences that hold several types, so that each shows what is kept and what is lost."""
    test = made.test.sentences if made.test is not None else ()
    rich = sorted(test, key=lambda sentence: -len({span.type for span in sentence.spans}))
    chosen = _diverse(rich)
    tagged = {method: [step.version.tag(chosen) for step in steps] for method, steps in runs.items()}
    return [
        Example(sentence, {method: [after[at] for after in steps] for method, steps in tagged.items()})
        for at, sentence in enumerate(chosen)
    ]


def _diverse(sentences: Sequence[Any]) -> list[Any]:
    """Take the first sentence for each combination of types."""
    seen: dict[frozenset[str], Any] = {}
    for sentence in sentences:
        seen.setdefault(frozenset(span.type for span in sentence.spans), sentence)
    return list(seen.values())[:EXAMPLES]


def _facts(options: str, sentences: int, results: dict[str, CellResult]) -> dict[str, str]:
    versions = next(iter(results.values())).versions
    return {
        "command": f"retainer demo {options}",
        "encoder": "builtin (MiniLM-L6, 22 million parameters)",
        "corpus": f"generated, {sentences} training sentences in four disjoint slices",
        "seconds": ", ".join(f"{method} {result.seconds:.0f}" for method, result in results.items()),
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }


def _write(folder: Path, results: dict[str, CellResult], examples: list[Example], facts: dict[str, str]) -> None:
    documents = {method: result.as_dict() for method, result in results.items()}
    with new_folder(folder) as scratch:
        write_document(scratch / "report.html", demo_page("Does it forget?", results, examples, facts))
        write_document(scratch / "curves.svg", curves(results))
        write_document(scratch / "cells.json", json_format.dumps(documents, indent=1))


def _verdict(results: dict[str, CellResult]) -> str:
    last = {method: result.tasks[-1].old_macro for method, result in results.items()}
    return "\nold types after the last task (macro F1): " + ", ".join(f"{m} {value:.1f}" for m, value in last.items())
