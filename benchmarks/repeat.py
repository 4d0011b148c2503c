"""Learn the same two tasks several times with one seed and compare the weights bit for bit.

    python benchmarks/repeat.py [DEVICE]

Twice in the usual way, and on a GPU once more with steps that are not recorded: recording must change nothing. Some
texts are long, because attention over more than 128 pieces has kernels that are not repeatable unless told to be.
"""

import json
import sys
import time

from retainer.data.generated import generate  # isort: skip (retainer settles the threads before torch starts any)
from dataclasses import replace

import torch
from machine import machine

from retainer.data.corpus import Corpus
from retainer.data.spans import Sentence, Span
from retainer.data.tasks import hide
from retainer.runtime import pick_device
from retainer.training.learn import learn
from retainer.training.recipe import Recipe


def joined(corpus: Corpus, size: int) -> Corpus:
    """Join the first sentences of a corpus, so that some texts are long."""
    parts = corpus.sentences[: len(corpus) // 2]
    made: list[Sentence] = []
    for at in range(0, len(parts), size):
        words: list[str] = []
        spans: list[Span] = []
        for sentence in parts[at : at + size]:
            spans += [Span(s.start + len(words), s.end + len(words), s.type) for s in sentence.spans]
            words += sentence.words
        made.append(Sentence(tuple(words), tuple(spans)))
    return replace(corpus, sentences=(*made, *corpus.sentences[len(parts) :]))


device = pick_device(sys.argv[1] if len(sys.argv) > 1 else "auto")
types = ["artist", "city"]
corpora = (joined(generate(600, seed=seed, types=types), 20) for seed in (1, 2))
artist, city = (hide(corpus, [type_]) for corpus, type_ in zip(corpora, types, strict=True))
WAYS = {"first": Recipe(epochs=3), "again": Recipe(epochs=3), "not recorded": Recipe(epochs=3, capture=False)}
weights, rows = {}, []
for way, recipe in WAYS.items():
    began = time.perf_counter()
    base = learn(artist, "builtin", recipe=recipe, seed=3, device=str(device))
    weights[way] = learn(city, base, recipe=recipe, seed=3, device=str(device)).tagger.state_dict()
    differ = [name for name in weights[way] if not torch.equal(weights[way][name], weights["first"][name])]
    rows.append({"way": way, "seconds": time.perf_counter() - began, "same": not differ, "differ": differ[:3]})
print(json.dumps({"machine": machine(), "device": str(device), "ways": rows}, indent=1))
