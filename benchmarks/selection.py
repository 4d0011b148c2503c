"""Which epoch to keep when a tenth of a small slice is set aside: the best one on it, or simply the last.

    python benchmarks/selection.py CONLL2003 --out FILE [--sizes 100,200,500,1000] [--seeds 1,2,3] [--method rdp]

Two corpora: the generated one (three types, then restaurants) and CoNLL2003 (location from 1,500 sentences, then
person). The new type is learned from some sentences in which it alone is annotated, a tenth of them set aside, all
epochs. After every epoch the part set aside and a test set are looked at, so one run tells what each rule would keep:

    new   the best epoch on the new type, stopping three epochs after it
    late  the last epoch that is not worse than the best by more than a standard error
    last  the last epoch
"""

import argparse
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from machine import machine

from retainer.data.corpus import Corpus, Splits
from retainer.data.generated import generate
from retainer.data.splits import read_splits
from retainer.data.tasks import hide, plan
from retainer.metrics.f1 import Scores, Spans, score
from retainer.model.decode import predicted_spans
from retainer.model.predict import tag
from retainer.model.tagger import Tagger
from retainer.training.learn import learn
from retainer.training.prepare import DevSet, hold_out
from retainer.training.recipe import Recipe
from retainer.versions.version import Version

WAIT = Recipe().patience


@dataclass(frozen=True)
class Ground:
    """A first version, the sentences of the next task, and what everything is judged on in the end."""

    name: str
    first: Version
    slice: Corpus
    new: str
    test: Corpus


@dataclass
class Look:
    """Stands in for the dev set: the sentences set aside come first, those of the test set after them."""

    aside: int
    new: str
    epochs: list[dict[str, float]] = field(default_factory=list)

    def scores(self, dev: DevSet, tagger: Tagger) -> Scores:
        """Write down what an epoch has on both parts."""
        tagged = tag(tagger, dev.encoded)
        found = predicted_spans(tagged.ids, tagger.labels, tagged.sentence_starts, dev.types)
        border = int(dev.encoded.sentence_starts[self.aside])
        old = [type_ for type_ in dev.types if type_ != self.new]
        aside = score(_part(dev.gold, 0, border), _part(found, 0, border), dev.types)
        test = score(_part(dev.gold, border, None), _part(found, border, None), dev.types)
        self.epochs.append(
            {
                "aside": aside.per_type[self.new].f1,
                "entities": aside.per_type[self.new].support,
                "new": test.per_type[self.new].f1,
                "old": sum(test.per_type[type_].f1 for type_ in old) / len(old),
            }
        )
        return aside


def _part(spans: Spans, begin: int, end: int | None) -> Spans:
    inside = (spans.start >= begin) & (spans.start < (end if end is not None else math.inf))
    return Spans(spans.start[inside], spans.end[inside], spans.type[inside])


def grounds(conll: Path) -> Iterator[Ground]:
    """Learn the first versions."""
    how = Recipe(epochs=5)
    first, last = ["artist", "city", "movie"], "restaurant"
    base = learn(hide(generate(800, seed=1), first), "builtin", recipe=how, seed=1, measure=False)
    yield Ground("generated", base, generate(4000, seed=2), last, generate(600, seed=3))
    train, dev, test = read_splits(conll)
    made = plan(Splits(train, dev, test), fg=1, pg=1, seed=1)
    one, four = made.task(1), made.task(4)
    some = replace(one.train, sentences=one.train.sentences[:1500])
    base = learn(some, "builtin", recipe=how, seed=1, measure=False)
    judged = hide(test, [*one.new, *four.new])
    yield Ground("conll2003", base, four.train, four.new[0], replace(judged, sentences=judged.sentences[::3]))


def run(ground: Ground, size: int, seed: int, method: str) -> dict[str, Any]:
    """Learn once, looking after every epoch."""
    with_new = [sentence for sentence in ground.slice if any(span.type == ground.new for span in sentence.spans)]
    shown = hide(replace(ground.slice, sentences=tuple(with_new[:size])), [ground.new])
    train, aside = hold_out(shown, Recipe().holdout, seed)
    if aside is None:
        raise SystemExit(f"{size} sentences are too few to set any aside")
    both = replace(aside, sentences=(*aside.sentences, *ground.test.sentences))
    look, before = Look(len(aside), ground.new), DevSet.scores
    DevSet.scores = lambda dev, tagger: look.scores(dev, tagger)  # type: ignore[method-assign]
    try:
        learn(train, ground.first, dev=both, method=method, recipe=Recipe(patience=0), seed=seed, measure=False)
    finally:
        DevSet.scores = before  # type: ignore[method-assign]
    kept = {name: rule(look.epochs) for name, rule in RULES.items()}
    told = {name: {**look.epochs[at], "epoch": at + 1} for name, at in kept.items()}
    row = {"corpus": ground.name, "size": size, "seed": seed, "method": method, "kept": told, "epochs": look.epochs}
    words = [f"{name} {one['epoch']}: {one['old']:.1f} {one['new']:.1f}" for name, one in told.items()]
    print(ground.name, size, seed, f"{look.epochs[0]['entities']} entities |", " | ".join(words), flush=True)
    return row


def best(epochs: list[dict[str, float]]) -> int:
    """Return the first best epoch, as far as training would have come."""
    at = 0
    for number, epoch in enumerate(epochs):
        if number - at >= WAIT and epochs[at]["aside"]:
            break
        at = number if epoch["aside"] > epochs[at]["aside"] else at
    return at


def late(epochs: list[dict[str, float]]) -> int:
    """Return the last epoch within a standard error of the best."""
    top = max(epoch["aside"] for epoch in epochs) / 100
    error = math.sqrt(top * (1 - top) / max(1, epochs[0]["entities"]))
    return max(number for number, epoch in enumerate(epochs) if epoch["aside"] / 100 >= top - error)


RULES = {"new": best, "late": late, "last": lambda epochs: len(epochs) - 1}


def main() -> None:
    """Run everything, write as it goes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("conll", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sizes", default="100,200,500,1000")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--method", default="rdp")
    options = parser.parse_args()
    document: dict[str, Any] = {"machine": machine(), "runs": []}
    for ground in grounds(options.conll):
        for size in map(int, options.sizes.split(",")):
            for seed in map(int, options.seeds.split(",")):
                document["runs"].append(run(ground, size, seed, options.method))
                options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
