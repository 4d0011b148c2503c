"""Tag a corpus with one model in every way there is, and compare speed and entities.

    python benchmarks/tagging.py MODEL DATA --out FILE [--device cuda] [--texts 3453]

Ways: retainer (PyTorch), retainer with the ONNX export in full precision and in int8 (CPU only), and
transformers.pipeline with aggregation_strategy="first" at its default and at every batch size given, the best of which
is the one to beat. Every way gets the same list of texts and is timed from text to entities, after one small warm-up.
F1 is that of whole entities against DATA's annotation; "same" is the share of texts with the very same entities as
retainer's.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from retainer.data.io import read  # isort: skip (retainer settles the threads before torch starts any)
from machine import machine

from retainer.metrics.f1 import gold_spans, score
from retainer.versions.version import load

Entities = list[list[dict[str, Any]]]


def timed(tag: Callable[[list[str]], Entities], texts: list[str]) -> tuple[float, Entities]:
    """Run a way once over all texts."""
    tag(texts[:64])
    began = time.perf_counter()
    found = tag(texts)
    return time.perf_counter() - began, found


def ways(model: str, device: str, sizes: list[int], place: Path) -> dict[str, Callable[[list[str]], Entities]]:
    """Return every way to tag."""
    from transformers import pipeline

    table: dict[str, Callable[[list[str]], Entities]] = {"retainer": load(model, device=device).predict}
    if device == "cpu":
        for name, int8 in (("retainer onnx", False), ("retainer onnx int8", True)):
            table[name] = load(load(model, device="cpu").export(place / name.replace(" ", "-"), int8=int8)).predict
    pipe = pipeline("token-classification", model=model, aggregation_strategy="first", device=device)
    table["pipeline"] = pipe
    for size in sizes:
        table[f"pipeline batch {size}"] = lambda texts, size=size: pipe(texts, batch_size=size)
    return table


def keys(found: Entities) -> list[list[tuple[Any, ...]]]:
    """Return what makes entities equal."""
    return [[(e["entity_group"], int(e["start"]), int(e["end"])) for e in one] for one in found]


def f1(found: Entities, sentences: Any, types: Any) -> float:
    """Score entities given by characters against the annotation."""
    import numpy as np

    from retainer.metrics.f1 import Spans

    starts = np.cumsum([0, *(len(s.words) for s in sentences)])
    rows = []
    for base, sentence, one in zip(starts.tolist(), sentences, found, strict=False):
        offsets = sentence.located()[1]
        first, last = {b: i for i, (b, _) in enumerate(offsets)}, {e: i + 1 for i, (_, e) in enumerate(offsets)}
        for e in one:
            place = first.get(e["start"], 0), last.get(e["end"], 0)  # cut through a word: an entity nobody annotated
            rows.append((base + place[0], base + place[1], list(types).index(e["entity_group"])))
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return score(gold_spans(sentences, starts, types), Spans(*table.T), types).micro


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--texts", type=int, default=0, help="tag only the first so many")
    parser.add_argument("--batches", default="8,16,32,64")
    parser.add_argument("--out")
    options = parser.parse_args()
    sentences = read(options.data).sentences[: options.texts or None]
    texts = [sentence.located()[0] for sentence in sentences]
    types, characters = load(options.model, device="cpu").types, sum(map(len, texts))
    rows, ours = [], None
    with tempfile.TemporaryDirectory() as place:
        sizes = [int(size) for size in options.batches.split(",")]
        for name, way in ways(options.model, options.device, sizes, Path(place)).items():
            seconds, found = timed(way, texts)
            ours = keys(found) if ours is None else ours
            same = sum(a == b for a, b in zip(ours, keys(found), strict=True)) / len(texts)
            speed = {"sentences_per_second": len(texts) / seconds, "characters_per_second": characters / seconds}
            rows.append({"way": name, "seconds": seconds, **speed, "micro": f1(found, sentences, types), "same": same})
            figures = f"{seconds:7.2f} s {len(texts) / seconds:8.0f} sentences/s, micro F1 {rows[-1]['micro']:.2f}"
            print(f"{name:22} {figures}, same entities {100 * same:.2f} %", flush=True)
    best = min(row["seconds"] for row in rows if row["way"].startswith("pipeline"))
    for row in rows:
        row["times_best_pipeline"] = best / row["seconds"]
    print(", ".join(f"{row['way']} {row['times_best_pipeline']:.2f}x" for row in rows if "retainer" in row["way"]))
    if options.out:
        facts = {"device": options.device, "texts": len(texts), "characters": characters}
        document = {"machine": machine(), **facts, "ways": rows}
        Path(options.out).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
