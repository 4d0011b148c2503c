"""How the cost of learning, tagging, comparing and reporting grows with the work: seconds, CPU seconds, peak memory.

    python benchmarks/scale.py --out FILE [--parts predict,log] [--most 100000] [--sizes 10,30] [--device cuda]

Every point is a call of the command line in a process of its own, on data that are made on the spot: a tiny encoder
(with --device cuda the built-in one), generated sentences, and cells and versions copied from one. A point is written
to FILE as it comes, and what FILE has is not measured again, so a run that was stopped goes on. The first point of a
part is next to nothing: its cost is the start, and is taken off the others before a line is laid through them on log
axes. CPU seconds are those of the process and its children; other work on the machine changes them little.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from bulk import family, make_lines, usage
from machine import machine
from tiny_encoder import tiny_encoder

from retainer.bench.cell import pack, save_gold, save_result
from retainer.bench.result import CellResult
from retainer.data.corpus import Corpus
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.spans import Sentence, Span
from retainer.data.tasks import hide
from retainer.metrics.significance import count_entities, f1_of_counts
from retainer.training.learn import learn
from retainer.training.recipe import Recipe
from retainer.versions.lineage import RECORD_FILE, record_bytes, record_hash

Call = list[str]
METHODS = ("rdp", "finetune", "extend_ner", "cfner", "cpfd", "tbcl", "retain", "lucir", "podnet", "self_training")


class Place:
    """A folder with what the calls need, made when a part first asks for it."""

    def __init__(self, folder: Path, device: str) -> None:
        self.folder, self.device = folder, device
        self.encoder = "builtin" if device == "cuda" else str(tiny_encoder(folder / "encoder"))

    def teach(self, data: Corpus, start: str | Path, out: Path, epochs: int = 1) -> Path:
        """Write a version that has learned some data."""
        recipe = Recipe(epochs=epochs, base_lr=5e-3, lr=5e-3, holdout=0)
        learn(data, start, recipe=recipe, seed=1, device=self.device).save(out)
        return out

    @cache  # noqa: B019 (one place lives as long as the program)
    def pair(self) -> tuple[Path, Path]:
        """Two versions that find something, the second made from the first."""
        data = generate(400, seed=1, types=["artist", "city"])
        first = self.teach(hide(data, ["artist"]), self.encoder, self.folder / "pair-1", 6)
        return first, self.teach(hide(data, ["city"]), first, self.folder / "pair-2", 6)

    @cache  # noqa: B019
    def lines(self, count: int) -> Path:
        """So many texts, one JSON object per line."""
        return make_lines(self.folder / f"{count}.jsonl", count)

    @cache  # noqa: B019
    def sentences(self, count: int, type_: str = "city") -> Path:
        """So many sentences in which one type is annotated."""
        file = self.folder / f"{type_}-{count}.conll"
        write(hide(generate(count, seed=3), [type_]), file, "conll")
        return file


def learning(place: Place, start: Path, sentences: int, name: str) -> Call:
    """Teach a version one more type, for one epoch."""
    out = place.folder / f"out-{name}"
    return ["learn", str(place.sentences(sentences)), "--from", str(start), "--out", str(out), "--epochs", "1"]


def learn_sentences(place: Place, count: int) -> Call:
    """Against the number of sentences."""
    return learning(place, place.pair()[0], count, f"sentences-{count}")


SENTENCES = 30_000
"""How many are learned against types and tasks: enough to be most of the work."""


def learn_types(place: Place, count: int) -> Call:
    """Against the number of types the version knows; with none, the start: a hundred sentences and one type."""
    types = count or 1
    rows = [Sentence(("ask", "for", f"name{at % types}"), (Span(2, 3, f"t{at % types}"),)) for at in range(2000)]
    start = place.teach(Corpus(tuple(rows)), place.encoder, place.folder / f"types-{count}")
    return learning(place, start, SENTENCES if count else 100, f"types-{count}")


def learn_tasks(place: Place, count: int) -> Call:
    """Against the number of tasks the version has learned before, a type per task; with none, the start as above."""
    start: str | Path = place.encoder
    for task in range(1, (count or 1) + 1):
        known = place.folder / f"task-{task}"
        if not known.exists():
            rows = [Sentence(("ask", "for", f"name{at % 9}"), (Span(2, 3, f"t{task}"),)) for at in range(64)]
            place.teach(Corpus(tuple(rows)), start, known)
        start = known
    return learning(place, Path(start), SENTENCES if count else 100, f"tasks-{count}")


def predict(place: Place, count: int) -> Call:
    """One text after the other, to stdout."""
    return ["predict", str(place.pair()[1]), "--input", str(place.lines(count))]


def predict_out(place: Place, count: int) -> Call:
    """One worker, which writes shards."""
    return [*predict(place, count), "--out", str(place.folder / f"shards-{count}")]


def compare(place: Place, count: int) -> Call:
    """Two versions on texts."""
    return ["compare", *map(str, place.pair()), str(place.lines(count))]


TEST = generate(200, seed=4, types=["artist", "city"])
"""The test set of the cells that are made up."""
Found = list[tuple[Span, ...]]
"""What was found in each of its sentences."""


def report(place: Place, count: int) -> Call:
    """Make a page of so many cells: up to ten methods on 200 test sentences, the rest are seeds."""
    folder, chance = place.folder / f"bench-{count}" / "p", np.random.default_rng(count)
    for number in range(count):
        method, seed = METHODS[number % 10], 1 + number // 10
        found: Found = [sentence.spans if chance.random() < 0.9 else () for sentence in TEST]
        early: Found = [tuple(span for span in spans if span.type == "artist") for spans in found]
        file = folder / "FG-1-PG-1" / method / f"seed-{seed}.json"
        save_result(file, cell(method, seed, early, found), [pack(early), pack(found)])
    save_gold(folder, TEST)
    return ["report", str(folder)]


def cell(method: str, seed: int, *found: Found) -> CellResult:
    """Score what was found after two tasks, as a bench would."""
    tasks = [task(types, spans) for types, spans in zip((["artist"], ["artist", "city"]), found, strict=True)]
    micro, macro = (sum(one[name] for one in tasks) / 2 for name in ("micro", "macro"))
    about = {"preset": "p", "setting": "FG-1-PG-1", "variant": "", "method": method, "seed": seed, "encoder": "e"}
    sums = {"average": {"micro": micro, "macro": macro}, "forgetting": {}, "backward_transfer": {}, "seconds": 2.0}
    rest = {"versions": {}, "recipe": {}, "fields": {}, "key": f"{method}{seed}"}
    return CellResult.of({**about, "tasks": tasks, **sums, **rest})


def task(types: Sequence[str], found: Found) -> dict[str, Any]:
    """Score a task; the last of the types is what it brought."""
    gold = [sentence.spans for sentence in TEST]
    micro, macro = map(float, f1_of_counts(count_entities(gold, found, types).sum(0)))
    score = {"precision": macro, "recall": macro, "f1": macro, "support": 100}
    known = {"per_type": dict.fromkeys(types, score), "seconds": 1.0}
    return {"types": types[-1:], "micro": micro, "macro": macro, **known}


def log(place: Place, count: int) -> Call:
    """Print the history of the last of so many versions, which lie side by side; only their records are there."""
    folder, one = place.folder / f"chain-{count}", json.loads((place.pair()[1] / RECORD_FILE).read_bytes())
    ancestors, before = list[str](), ""
    for number in range(count):
        record = {**one, "task": number + 1, "parent_hash": before, "parent_name": f"v{number - 1}", "ancestors": []}
        before = record["hash"] = record_hash(record)
        text = record_bytes(record).decode()
        inside = f'"ancestors": [\n{",".join(ancestors)}\n  ]'
        (folder / f"v{number}").mkdir(parents=True)
        (folder / f"v{number}" / RECORD_FILE).write_text(text.replace('"ancestors": []', inside), encoding="utf-8")
        ancestors.append(text.replace(',\n  "ancestors": []', ""))
    return ["log", str(folder / f"v{count - 1}")]


PARTS: dict[str, tuple[Callable[[Place, int], Call], Sequence[int]]] = {
    "learn-sentences": (learn_sentences, (100, 1000, 3000, 10_000, 30_000, 100_000, 300_000)),
    "learn-types": (learn_types, (0, 4, 12, 40, 120, 200)),
    "learn-tasks": (learn_tasks, (0, 1, 3, 10, 30)),
    "predict": (predict, (100, 10_000, 30_000, 100_000, 300_000, 1_000_000)),
    "predict-out": (predict_out, (100, 10_000, 30_000, 100_000, 300_000, 1_000_000)),
    "compare": (compare, (100, 10_000, 30_000, 100_000, 300_000, 1_000_000)),
    "report": (report, (10, 30, 100, 300, 1000)),
    "log": (log, (1, 10, 30, 100, 300, 1000)),
}
"""What is measured against which sizes; the first is the start."""


def measured(call: Call, device: str) -> dict[str, float]:
    """Run a call; the system counts the time of it and of its children. Memory is the most that one of them held.

    Memory of a GPU is not in it. The system's own count of a child's memory begins with that of its parent, which is
    this program with torch in it, so the processes are looked at instead.
    """
    options = ["--device", device] if call[0] in ("learn", "predict", "compare") else []
    command, began, peak = [sys.executable, "-m", "retainer", *call, *options], time.perf_counter(), 0.0
    with open(os.devnull, "w") as nowhere, tempfile.TemporaryFile("w+") as told:
        process = subprocess.Popen(command, stdout=nowhere, stderr=told)
        ended: Any = (0, 0, None)
        while not ended[0]:
            peak = max([peak, *(usage(one)[1] for one in family(process.pid))])
            time.sleep(0.1)
            ended = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(ended[1])
        if process.returncode:
            told.seek(0)
            raise SystemExit(f"{' '.join(call)}: {told.read()}")
    used, seconds = ended[2], time.perf_counter() - began
    return {"seconds": seconds, "cpu_seconds": used.ru_utime + used.ru_stime, "peak_mib": peak}


def slope(points: Sequence[dict[str, float]], name: str) -> dict[str, float]:
    """Lay a line through the cost beyond the start, on log axes: over all points, and through the last two.

    A point that costs no more than a fifth of the start says nothing about growth and is left out.
    """
    if not points:
        return {}
    start, rest = points[0][name], points[1:]
    beyond = [(point["size"], point[name] - start) for point in rest if point[name] > 1.2 * start]
    if len(beyond) < 2:
        return {}
    x, y = np.log(np.array(beyond)).T
    return {
        "all": float(np.polyfit(x, y, 1)[0]),
        "last": float((y[-1] - y[-2]) / (x[-1] - x[-2])),
        "points": len(beyond),
    }


def document(known: dict[str, Any]) -> str:
    """Write all points with their slopes."""
    for part in known["parts"].values():
        part["slopes"] = {name: slope(part["points"], name) for name in ("cpu_seconds", "seconds", "peak_mib")}
    return json.dumps(known, indent=1) + "\n"


def missing(known: dict[str, Any], parts: Sequence[str], most: int, only: set[int]) -> Iterator[tuple[str, int]]:
    """Yield the points that are not measured yet."""
    for part in parts:
        done = {point["size"] for point in known["parts"].setdefault(part, {"points": []})["points"]}
        wanted = [size for size in PARTS[part][1] if size <= most and (not only or size in only)]
        yield from ((part, size) for size in wanted if size not in done)


def main() -> None:
    """Measure what is missing; write after every point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--sizes", default="", help="only these sizes, separated by commas")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    only = {int(size) for size in options.sizes.split(",") if size}
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    known: dict[str, Any] = {"machine": machine(), "device": options.device, "calls": [], "parts": {}}
    if options.out.exists():
        known = json.loads(options.out.read_text(encoding="utf-8"))
    sizes = f" --sizes {options.sizes}" if options.sizes else ""
    call_made = f"--parts {options.parts} --most {options.most} --device {options.device}{sizes}"
    known.setdefault("calls", []).append(f"python benchmarks/scale.py --out FILE {call_made}")
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), options.device)
        for part, size in list(missing(known, options.parts.split(","), options.most, only)):
            call = PARTS[part][0](place, size)
            points = known["parts"][part]["points"]
            points.append({"size": size, **measured(call, options.device), "load": os.getloadavg()[0]})
            points.sort(key=lambda point: point["size"])
            options.out.write_text(document(known), encoding="utf-8")
            print(part, json.dumps(points[-1] if points[-1]["size"] == size else points), flush=True)


if __name__ == "__main__":
    main()
