"""How the time of every reader, check and route grows with its data: each size is twice the one before.

    python benchmarks/slopes.py [--seconds 1.0] [--only NAME,...]

For every format of the table there are ordinary sentences, one sentence that is as long as all of them together, and
shapes that invite quadratic work: nested and overlapping annotation, tags that never end, runs of spaces. Routes that
take a body get many texts, long ones, and long lists of everything else, with the limits of the server raised; the
others take nothing that could grow. The slope is the time of the last size divided by that of the size before: 2 is
linear, 4 is quadratic. Sizes are doubled until one takes longer than --seconds or the file has 24 MB. Exits with 1 if a
slope is above 2.6 where the larger size takes more than half a second.
"""

import argparse
import asyncio
import gc
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import httpx2
from tiny_encoder import tiny_encoder

from retainer.data.checks import annotation, findings, type_clashes, unreadable_scripts
from retainer.data.checks.names import similar_types
from retainer.data.corpus import Corpus
from retainer.data.formats.binary import BINARY_FORMATS
from retainer.data.formats.table import FORMATS
from retainer.data.generated import generate
from retainer.data.io import read, write
from retainer.data.spans import Sentence, Span
from retainer.data.text_files import write_text_file
from retainer.errors import InputError
from retainer.serve.app import application
from retainer.serve.settings import Limits, Settings
from retainer.serve.workbench.opening import served_project
from retainer.training.learn import learn
from retainer.training.recipe import Recipe

STEEP = 2.6
COUNTS = 0.5
LARGEST = 24_000_000
FIRST = 1000
Make = Callable[[int], Callable[[], object]]
"""Makes data of a size, and returns the work on it."""


def sentences(count: int, length: int = 20) -> tuple[Sentence, ...]:
    """Make sentences of invented words, of which every fourth is an entity."""
    words = [tuple(f"w{(31 * row + at) % 9973}" for at in range(length)) for row in range(count)]
    return tuple(Sentence(row, tuple(Span(at, at + 1, "x") for at in range(0, length, 4))) for row in words)


def reading(format: str, make: Callable[[int], str | dict[str, str]], place: Path) -> Make:
    """Return the work of reading what ``make`` writes in a format; a refusal is an answer too."""

    def prepared(size: int) -> Callable[[], object]:
        content, file = make(size), place / f"{format}-{size}"
        place.mkdir(exist_ok=True)
        if isinstance(content, str):
            file.write_text(content, encoding="utf-8")
        elif not file.exists():
            write_text_file(content, str(file))

        def work() -> object:
            try:
                return read(file, format)
            except InputError:
                return None

        return work

    return prepared


def rereading(format: str, length: int, place: Path) -> Make:
    """Return the work of reading sentences of a length from a file that is not text."""

    def prepared(size: int) -> Callable[[], object]:
        file = place / f"{format}-{size}"
        place.mkdir(exist_ok=True)
        if not file.exists():
            write(sentences(max(20 * size // length, 1), length), file, format)
        return lambda: read(file, format)

    return prepared


def unpacking(place: Path) -> Make:
    """Return the work of reading compressed columns."""

    def prepared(size: int) -> Callable[[], object]:
        file = place / f"{size}.conll.gz"
        text = FORMATS["conll"].write(sentences(size))
        assert isinstance(text, str)
        file.write_bytes(gzip.compress(text.encode()))
        return lambda: read(file)

    return prepared


def notes(text: str, tags: Iterator[tuple[int, int]]) -> str:
    """Write a note of I2B2."""
    marks = "".join(f'<N id="P" start="{start}" end="{end}" TYPE="x"/>' for start, end in tags)
    return f"<deIdi2b2><TEXT>{text}</TEXT><TAGS>{marks}</TAGS></deIdi2b2>"


def brat(text: str, tags: Iterator[tuple[int, int]]) -> dict[str, str]:
    """Write a document of brat."""
    return {"1.txt": text, "1.ann": "".join(f"T{n}\tx {start} {end}\n" for n, (start, end) in enumerate(tags))}


def task(count: int) -> str:
    """Write a task of Label Studio with regions over all of its text."""
    value = {"start": 0, "end": 4 * count, "labels": ["x"]}
    results = [{"type": "labels", "value": value}] * count
    return json.dumps([{"data": {"text": "word" * count}, "annotations": [{"result": results}]}])


ODD: dict[tuple[str, str], Callable[[int], str | dict[str, str]]] = {
    ("conll", "spaces after a tag"): lambda n: f'x\tB-x{" " * (20 * n)}"\n',
    ("conll", "many types"): lambda n: "".join(f"w\tB-t{at}\n" for at in range(n)),
    ("conll", "one long line"): lambda n: "w " * (10 * n) + "O\n",
    ("conll2012", "nested entities"): lambda n: "\n".join(
        ["#begin document (a); part 0", f"a 0 0 w - - - - - - {'(x' * n}* -", f"a 0 1 w - - - - - - *{')' * n} -"]
    ),
    ("enamex", "tags without an end"): lambda n: '<DOC DOCNO="a">\n' + "<ENAMEX " * (10 * n),
    ("enamex", "nested entities"): lambda n: f"<DOC>\n{'<ENAMEX TYPE=' + chr(34) + 'x' + chr(34) + '>'}w" * n,
    ("i2b2", "nested elements"): lambda n: "<deIdi2b2>" + "<a>" * (10 * n),
    ("i2b2", "tags over everything"): lambda n: notes("word " * n, ((0, 5 * n - at) for at in range(n))),
    ("i2b2", "nested tags"): lambda n: notes("word " * n, ((at, 5 * n - at) for at in range(n))),
    ("i2b2", "tags in one line"): lambda n: notes("word " * n, ((5 * at, 5 * at + 4) for at in range(n))),
    ("brat", "tags over everything"): lambda n: brat("word " * n, ((0, 5 * n - at) for at in range(n))),
    ("brat", "pieces"): lambda n: {
        "1.txt": "w " * n,
        "1.ann": "T1\tx " + ";".join(f"{2 * at} {2 * at + 1}" for at in range(n)) + "\n",
    },
    ("csv", "quotes"): lambda n: 'text,entities\n"' + '""' * (10 * n) + '",[]\n',
    ("csv", "a quote without an end"): lambda n: 'text,entities\n"' + "a,b\n" * (5 * n),
    ("csv", "one word per row"): lambda n: "sentence_id,word,tag\n" + "".join(f"{at // 9},w,B-x\n" for at in range(n)),
    ("csv", "many columns"): lambda n: ",".join(["text", "entities", *(f"c{at}" for at in range(n))]) + "\n",
    ("csv", "entities over everything"): lambda n: f'text,entities\n{"word" * n},"{json.dumps([[0, 4 * n, 1]] * n)}"\n',
    ("csv", "lists as Python prints"): lambda n: f"tokens;tags\n{['w'] * n};{['O'] * n}\n",
    ("csv", "nested lists"): lambda n: "text;entities\nw;" + "[" * (10 * n) + "\n",
    ("tsv", "quotes"): lambda n: 'text\tentities\n"' + '""' * (10 * n) + '"\t[]\n',
    ("labelstudio", "regions over everything"): task,
    ("jsonl", "spaces after a brace"): lambda n: "{" + " " * (20 * n) + "x",
    ("jsonl", "nested lists"): lambda n: '{"text": ' + "[" * (10 * n),
    ("jsonl", "many keys"): lambda n: json.dumps({f"k{at}": at for at in range(5 * n)}),
    ("doccano", "spans over everything"): lambda n: json.dumps({"text": "word" * n, "label": [[0, 4 * n, "x"]] * n}),
    ("prodigy", "tokens over everything"): lambda n: json.dumps(
        {"text": "word" * n, "spans": [], "tokens": [{"start": 0, "end": 4 * n}] * n}
    ),
}
"""Shapes that invite quadratic work, by their format."""


def on(make: Callable[[int], Corpus], check: Callable[[Corpus], object]) -> Make:
    """Return the work of a check on a corpus; what it yields is consumed."""

    def prepared(size: int) -> Callable[[], object]:
        corpus = make(size)
        return lambda: list(check(corpus))  # type: ignore[call-overload]

    return prepared


def shapes() -> dict[str, Callable[[int], Corpus]]:
    """Return corpora of many short sentences, of one long sentence, of long entities and of many types."""

    def long_entities(n: int) -> Corpus:
        spans = [Span(at, at + n // 2, "x") for at in range(0, 20 * n - n, n)]
        return Corpus((Sentence(("w",) * (20 * n), tuple(spans)),) * 3)

    def many_types(n: int) -> Corpus:
        return Corpus(tuple(Sentence(("w",), (Span(0, 1, f"t-{at}"),)) for at in range(n)))

    return {
        "short sentences": lambda n: Corpus(sentences(n)),
        "one long sentence": lambda n: Corpus(sentences(1, 20 * n)),
        "long entities": long_entities,
        "many types": many_types,
    }


def guessed(corpus: Corpus) -> object:
    """Look for clashes with a model that finds every word."""
    found = [tuple(Span(at, at + 1, "y") for at in range(len(one.words))) for one in corpus]
    return type_clashes(corpus, found, ["y"])


def spelled(corpus: Corpus) -> object:
    """Look for scripts that a model cannot read."""
    return unreadable_scripts(corpus, ([[1]] * len(one.words) for one in corpus), 0)


CHECKS: dict[str, Callable[[Corpus], object]] = {
    **{
        name: getattr(annotation, name)
        for name in (
            "duplicate_texts",
            "conflicting_annotations",
            "missed_mentions",
            "odd_edges",
            "picked_types",
            "rare_types",
        )
    },
    "similar_types": similar_types,
    "type_clashes": guessed,
    "unreadable_scripts": spelled,
    "all findings": findings,
}


def works(place: Path) -> Iterator[tuple[str, str, Make]]:
    """Yield everything that is measured."""
    for name, format in FORMATS.items():
        written = format.write
        yield name, "short sentences", reading(name, lambda n, write=written: write(sentences(n)), place / "a")
        yield (
            name,
            "one long sentence",
            reading(name, lambda n, write=written: write(sentences(1, 20 * n)), place / "b"),
        )
        for (of, shape), make in ODD.items():
            if of == name:
                yield name, shape, reading(name, make, place / shape)
    for name in BINARY_FORMATS:
        yield name, "short sentences", rereading(name, 20, place / "a")
        yield name, "sentences of 1,000 words", rereading(name, 1000, place / "b")
    yield "gzip", "short sentences", unpacking(place)
    for check, call in CHECKS.items():
        for shape, corpus in shapes().items():
            yield check, shape, on(corpus, call)


LONG = 50_000
"""Characters of the one text that is annotated: as many as a text may have."""


def annotation(places: list[tuple[object, object]], complete: list[str] | None = None) -> object:
    """Return what somebody says about the long text; nobody has seen it yet, so it is written at most once."""
    entities = [{"start": start, "end": end, "type": "city"} for start, end in places]
    said = {"entities": entities, "decided": True, "complete": complete or []}
    return {"id": 1, "revision": 0, "annotation": said, "who": "ann"}


LABEL_CONFIG = '<View><Labels name="l" toName="t"><Label value="City"/></Labels><Text name="t" value="$text"/></View>'
SENT_PROJECT = {"id": 1, "created_at": "2024-05-01T10:00:00Z", "label_config": LABEL_CONFIG}
"""A project of Label Studio, which the route ``/setup`` announces first."""


def many_labels(count: int) -> str:
    """Write a label config."""
    return LABEL_CONFIG.replace("<Label ", "".join(f'<Label value="t{at}"/>' for at in range(count)) + "<Label ")


def sent(count: int, *, step: int) -> object:
    """Return an annotation of Label Studio with many regions, one behind the other or all over each other."""
    places = [(step * at, step * at + 1) for at in range(count)] if step else [(0, count)] * count
    names = {"from_name": "l", "to_name": "t", "type": "labels"}
    result = [{**names, "value": {"start": start, "end": end, "labels": ["City"]}} for start, end in places]
    task = {"id": 1, "data": {"text": "w " * min(count, LONG // 2)}}
    return {
        "action": "ANNOTATION_CREATED",
        "project": SENT_PROJECT,
        "annotation": {"id": 1, "result": result},
        "task": task,
    }


ROUTES: dict[tuple[str, str], Callable[[int], object]] = {
    ("/v1/predict", "many texts"): lambda n: {"texts": ["play songs by miles davis in boston"] * (n // 10)},
    ("/v1/predict", "one long text"): lambda n: {"texts": "play songs by miles davis in boston\n" * (n // 10)},
    ("/v1/predict", "no blank"): lambda n: {"texts": "boston" * n},
    ("/v1/predict", "blanks"): lambda n: {"texts": "boston" + " " * (10 * n) + "paris"},
    ("/v1/predict", "repeated types"): lambda n: {"texts": "boston", "types": ["city"] * (10 * n)},
    ("/v1/predict", "unknown types"): lambda n: {"texts": "boston", "types": [f"t{at}" for at in range(10 * n)]},
    ("/v1/predict", "unknown fields"): lambda n: {f"f{at}": at for at in range(10 * n)},
    ("/v1/predict", "wrong texts"): lambda n: {"texts": list(range(10 * n))},
    ("/v1/compare", "many texts"): lambda n: {"old": "v1", "new": "v2", "texts": ["miles in boston"] * (n // 10)},
    ("/v1/compare", "one long text"): lambda n: {"old": "v1", "new": "v2", "texts": "miles in boston " * (n // 10)},
    ("/v1/compare", "long names"): lambda n: {"old": "v" * n, "new": "w" * n, "texts": "boston"},
    ("/v1/project/texts", "many texts"): lambda n: {"texts": [f"play songs by band {at}" for at in range(n // 10)]},
    ("/v1/project/texts", "one long text"): lambda n: {"texts": ["play songs by miles davis\n" * (n // 10)]},
    ("/v1/project/texts", "no blank"): lambda n: {"texts": ["boston" * n]},
    ("/v1/project/remove", "many numbers"): lambda n: {"ids": list(range(2, n)), "who": "ann"},
    ("/v1/project/annotate", "many entities"): lambda n: annotation([(2 * at, 2 * at + 1) for at in range(n)]),
    ("/v1/project/annotate", "entities over everything"): lambda n: annotation([(at, LONG) for at in range(n)]),
    ("/v1/project/annotate", "repeated types"): lambda n: annotation([], ["city"] * n),
    ("/v1/project/annotate", "wrong entities"): lambda n: annotation([("a", "b")] * n),
    ("/v1/project/undo", "a long name"): lambda n: {"who": "w" * (10 * n)},
    ("/v1/project/redo", "a long name"): lambda n: {"who": "w" * (10 * n)},
    ("/v1/project/types", "a long name"): lambda n: {"action": "add", "name": "t" * (10 * n), "who": "ann"},
    ("/v1/project/check", "unknown fields"): lambda n: {f"f{at}": at for at in range(10 * n)},
    ("/v1/project/teach", "a long name"): lambda n: {"method": "m" * (10 * n), "who": "ann"},
    ("/v1/project/jobs/{n}/cancel", "a long name"): lambda n: {"who": "w" * (10 * n)},
    ("/v1/project/use", "a long name"): lambda n: {"version": "v" * (10 * n), "who": "ann"},
    ("/v1/project/back", "a long name"): lambda n: {"who": "w" * (10 * n)},
    ("/setup", "announced"): lambda n: {
        "project": "1.1714557600",
        "schema": LABEL_CONFIG,
        "extra_params": "x" * (10 * n),
    },
    ("/setup", "many labels"): lambda n: {"project": "2.2", "schema": many_labels(n)},
    ("/setup", "nested tags"): lambda n: {"project": "3.3", "schema": "<a>" * (10 * n)},
    ("/predict", "many tasks"): lambda n: {
        "label_config": LABEL_CONFIG,
        "tasks": [{"id": at, "data": {"text": "play songs by miles davis in boston"}} for at in range(n // 10)],
    },
    ("/predict", "tasks without a text"): lambda n: {"label_config": LABEL_CONFIG, "tasks": [{"data": {}}] * n},
    ("/webhook", "many regions"): lambda n: sent(n, step=2),
    ("/webhook", "regions over everything"): lambda n: sent(n, step=0),
    ("/webhook", "never kept"): lambda n: {
        "action": "ANNOTATIONS_DELETED",
        "project": SENT_PROJECT,
        "annotations": [{"id": 10 + at} for at in range(n)],
    },
}
"""What is sent to the routes that take a body, by route and shape."""


def route_works(versions: dict[str, Path]) -> Iterator[tuple[str, str, Make]]:
    """Yield the work of every route on every shape, on a workbench of two versions in this process."""
    paths = {name: str(path) for name, path in versions.items()}
    limits = Limits(body=2**40, texts=2**40, characters=2**40, answer_seconds=3600.0)
    with (
        tempfile.TemporaryDirectory() as place,
        served_project(f"{place}/project", paths, lambda line: None, device="cpu") as served,
    ):
        served.project.texts.add(["w " * (LONG // 2)], "slopes")
        app = application(served.registry, Settings(limits, label_studio=True), lambda line: None, served)
        for (route, shape), body in ROUTES.items():
            yield route, shape, asking(app, route.replace("{n}", "1"), body)
        served.registry.close(seconds=10.0)


def asking(app: Any, route: str, body: Callable[[int], object]) -> Make:
    """Return the work of one request; a refusal is an answer too, a failure is not."""

    async def ask(content: bytes) -> None:
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=3600) as client:
            answer = await client.post(route, content=content, headers={"content-type": "application/json"})
            if answer.status_code >= 500:
                raise SystemExit(f"{route}: status {answer.status_code}: {answer.text[:300]}")

    def prepared(size: int) -> Callable[[], object]:
        content = json.dumps(body(size)).encode()
        return lambda: asyncio.run(ask(content))

    return prepared


def two_versions(place: Path) -> dict[str, Path]:
    """Learn two versions, one after the other, on a tiny encoder."""
    start: Path = tiny_encoder(place / "encoder")
    for number, type_ in enumerate(("artist", "city"), 1):
        recipe, out = Recipe(epochs=4, base_lr=1e-3, lr=1e-3), place / f"v{number}"
        learn(generate(60, seed=number, types=[type_]), start, recipe=recipe, device="cpu", out=out)
        start = out
    return {name: place / name for name in ("v1", "v2")}


def doubled(make: Make, enough: float) -> tuple[int, float, float]:
    """Double a size until it takes long enough; return it, its time and that of half of it.

    What looks steep is measured again, and the best of all times counts: other programs disturb a time, and they only
    ever make it longer. What is still steep is doubled once more.
    """
    size, before = FIRST, 0.0
    while True:
        seconds = timed(make(size))
        if seconds >= enough or 20 * size * 6 >= LARGEST:
            break
        size, before = 2 * size, seconds
    half, whole = before or seconds, seconds
    for _ in range(3):
        if not is_steep(half, whole):
            break
        half, whole = min(half, timed(make(size // 2))), min(whole, timed(make(size)))
    if is_steep(half, whole):  # a table that has outgrown a cache is steep once, quadratic work is steep every time
        size, half, whole = 2 * size, whole, timed(make(2 * size))
    return size, whole, half


def is_steep(half: float, whole: float) -> bool:
    """Say whether the larger of two sizes takes too long, compared with the smaller."""
    return whole > STEEP * half and whole > COUNTS


def timed(work: Callable[[], object]) -> float:
    """Return the processor's seconds of some work, without those of collecting what earlier work left behind."""
    gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> int:
    """Measure, print, and say whether everything is about linear."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--only", default="", help="formats, checks and routes, by their names")
    options = parser.parse_args()
    steep, only = 0, set(filter(None, options.only.split(",")))
    print(f"{'what':24} {'shape':26} {'size':>8} {'half':>8} {'whole':>8} {'slope':>6}")
    with tempfile.TemporaryDirectory() as place:
        for what, shape, make in chain(works(Path(place)), route_works(two_versions(Path(place)))):
            if only and what not in only:
                continue
            size, whole, half = doubled(make, options.seconds)
            slope, bad = whole / max(half, 1e-6), is_steep(half, whole)
            steep += bad
            mark = "  too steep" if bad else ""
            print(f"{what:24} {shape:26} {size:8} {half:8.3f} {whole:8.3f} {slope:6.2f}{mark}", flush=True)
    print(f"{steep} too steep" if steep else "everything is about linear")
    return 1 if steep else 0


if __name__ == "__main__":
    sys.exit(main())
