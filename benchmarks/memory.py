"""Peak memory and time of one `learn` against the size of the slice, the number of types known, and the text length.

    python benchmarks/memory.py --out FILE [--device cuda] [--epochs 1]

Every point is a process of its own: a version that knows some types learns one more. On a GPU the peak is what torch
allocated, on a CPU the most the process ever held. Time per step must not grow with the types known beyond the width
of the head, and the time of an epoch must grow with the sentences alone.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

POINTS = (
    [{"sentences": n, "types": 4, "length": 1} for n in (500, 1000, 2000, 4000)]
    + [{"sentences": 1000, "types": n, "length": 1} for n in (1, 16, 64)]
    + [{"sentences": 250, "types": 4, "length": n} for n in (4, 16)]
)


def one(point: dict[str, int], device: str, epochs: int) -> dict[str, Any]:
    """Learn one type and say what it took."""
    from retainer.data.generated import generate  # isort: skip
    import torch

    from retainer.data.labels import Labels
    from retainer.data.tasks import hide
    from retainer.model.heads import LinearHead, Rows
    from retainer.training.learn import learn
    from retainer.training.recipe import Recipe
    from retainer.versions.version import load

    base = load("builtin", device=device)
    names = ("O", *(f"{tag}-known{i}" for i in range(point["types"]) for tag in "BI"))
    rows = Rows(torch.randn(len(names), base.tagger.width) * 0.02, torch.zeros(len(names)))
    base.tagger.labels, base.tagger.head = Labels(names), LinearHead(rows).to(base.tagger.device)
    count, length = point["sentences"], point["length"]
    parts = hide(generate(count * length, seed=1), ["city"])
    corpus = replace(parts, sentences=tuple(join(parts.sentences[i::count]) for i in range(count)))
    recipe = Recipe(batch=8, epochs=epochs, holdout=0, patience=0)
    began = time.perf_counter()
    version = learn(corpus, base, recipe=recipe, device=device)
    seconds = time.perf_counter() - began
    epoch = version.lineage.scores["history"][-1]["seconds"]
    steps = -(-len(corpus) // recipe.batch)
    gpu = torch.cuda.max_memory_allocated() if base.tagger.device.type == "cuda" else None
    peak = gpu or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        **point,
        "words": sum(len(sentence.words) for sentence in corpus),
        "seconds": seconds,
        "last_epoch_seconds": epoch,
        "ms_per_step": 1e3 * epoch / steps,
        "peak_mib": peak / 2**20,
    }


def join(sentences: Any) -> Any:
    """Make one long text of several sentences."""
    from retainer.data.spans import Sentence, Span

    words, spans = [], []
    for sentence in sentences:
        spans += [Span(s.start + len(words), s.end + len(words), s.type) for s in sentence.spans]
        words += sentence.words
    return Sentence(tuple(words), tuple(spans))


def main() -> None:
    """Measure all points, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--out")
    parser.add_argument("--point", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        Path(options.out).write_text(json.dumps(one(json.loads(options.point), options.device, options.epochs)))
        return
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for number, point in enumerate(POINTS):
            file = Path(place) / f"{number}.json"
            arguments = ["--point", json.dumps(point), "--out", str(file), "--device", options.device]
            subprocess.run([sys.executable, __file__, *arguments, "--epochs", str(options.epochs)], check=True)
            rows.append(json.loads(file.read_text()))
            print(" ".join(f"{name} {value:.6g}" for name, value in rows[-1].items()), flush=True)
    from machine import machine

    if options.out:
        document = {"machine": machine(), "device": options.device, "epochs": options.epochs, "points": rows}
        Path(options.out).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
