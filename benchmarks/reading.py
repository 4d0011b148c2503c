"""Read, split and encode a million words, and say how long each takes and that it grows with the size alone.

python benchmarks/reading.py --out FILE [--words 1000000]
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from retainer.data.io import read, write  # isort: skip (retainer settles the threads before torch starts any)
from machine import machine

from retainer.data.corpus import Splits
from retainer.data.generated import generate
from retainer.data.tasks import plan
from retainer.versions.version import load


def main() -> None:
    """Measure two sizes, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=1_000_000)
    parser.add_argument("--out")
    options = parser.parse_args()
    encoder = load("builtin", device="cpu").tagger.tokenize
    rows = [measure(share * options.words // 4, encoder) for share in (1, 4)]
    if options.out:
        Path(options.out).write_text(json.dumps({"machine": machine(), "sizes": rows}, indent=1) + "\n")


def measure(words: int, encoder: Any) -> dict[str, Any]:
    """Time every step on a corpus of about so many words."""
    base = generate(4000, seed=1).sentences
    mean = sum(len(s.words) for s in base) / len(base)
    sentences = (base * (1 + int(words / mean) // len(base)))[: int(words / mean)]
    row: dict[str, Any] = {"words": sum(len(s.words) for s in sentences), "sentences": len(sentences), "seconds": {}}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        result = work()
        row["seconds"][name] = time.perf_counter() - began
        return result

    with tempfile.TemporaryDirectory() as place:
        for format_ in ("conll", "jsonl", "prodigy"):
            file = Path(place) / f"corpus.{format_}"
            timed(f"write {format_}", lambda file=file, format_=format_: write(sentences, file, format_))
            corpus = timed(f"read {format_}", lambda file=file: read(file))
    made = timed("split", lambda: plan(Splits(corpus), fg=1, pg=1, seed=1))
    timed("encode", lambda: encoder(corpus.sentences))
    row["tasks"] = len(made)
    print(f"{row['words']} words:", ", ".join(f"{name} {seconds:.2f} s" for name, seconds in row["seconds"].items()))
    return row


if __name__ == "__main__":
    main()
