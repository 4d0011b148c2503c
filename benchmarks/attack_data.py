"""Thousands of damaged, odd and hostile data files, through the readers, `check` and `learn --dry-run`.

    python benchmarks/attack_data.py [--quick] [--files 10000] [--processes 60] [--seed 0]

Every format, and a compressed table, is written, damaged in one of the ways of WAYS, and read again, all in one
process; some more files go to the verbs in processes of their own. A file is either read or refused: InputError in
Python, status 0 or 2 on the command line, and then one printable line of at most 2,100 characters on stderr. Nothing
may take the processor more than 10 s, and after some healthy files the process may not grow by more than 500 MB. Prints
a table by way of damage, then every failure with the seed of its file (--only repeats it); exits with 1 if there is
one.
"""

import argparse
import contextlib
import copy
import gzip
import io
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from real_process import Ended, called_as_process
from tiny_encoder import tiny_encoder

from retainer.cli.main import main as retainer
from retainer.data.formats.binary import BINARY_FORMATS
from retainer.data.formats.table import FORMATS, holds_complete
from retainer.data.generated import generate
from retainer.data.io import read
from retainer.data.spans import Sentence, Span
from retainer.errors import InputError, printable

GZIP = "gzip"
KINDS = sorted([*FORMATS, *BINARY_FORMATS, GZIP])
"""What is written and damaged: every format, and a compressed table."""
SECONDS, MEGABYTES, SENTENCE = 10.0, 500.0, 2100
ODD_LABELS = (
    "\x1b[2J\x1b]0;x\x07",
    "a\nretainer: b",
    "[/red]",
    " ",
    "O",
    "B-",
    "x" * 100_000,
    "\u202eabc",
    "é\u0301\u0302",
    "<b>&amp;",
    "a\tb",
    "'\"`$(x)",
    "../../x",
    "\x00",
    "😀",
    "%s%n{}",
)
ODD_VALUES = (None, True, -1, 1e309, 10**30, "", [], {}, [[]], "\ud800", 0.5, "x" * 50_000, {"a": {"b": []}})


def cut(data: bytes, draw: random.Random) -> bytes:
    """Lose the end."""
    return data[: draw.randrange(len(data) + 1)]


def flipped(data: bytes, draw: random.Random) -> bytes:
    """Flip some bits."""
    damaged = bytearray(data or b" ")
    for _ in range(draw.choice((1, 2, 5, 20, 200))):
        damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
    return bytes(damaged)


def encoded(data: bytes, draw: random.Random) -> bytes:
    """Write it in another encoding."""
    text = data.decode(errors="replace")
    return draw.choice(
        (
            lambda: text.encode("utf-16"),
            lambda: text.encode("utf-32"),
            lambda: text.replace("a", "ä").encode("latin-1", "replace"),
            lambda: b"\xef\xbb\xbf" * draw.randrange(1, 4) + data,
            lambda: text.replace("\n", "\r\n").encode(),
            lambda: text.replace("\n", "\r").encode(),
            lambda: text.replace(" ", "\u2028").encode(),
            lambda: text.replace("e", "\x00").encode(),
        )
    )()


def nested(data: bytes, draw: random.Random) -> bytes:
    """Put deep nesting somewhere."""
    depth = draw.choice((10, 900, 30_000))
    begins = draw.choice((b"[", b'{"a":', b"<a>", b'<ENAMEX TYPE="x">', b"(x", b'[{"data":'))
    at = draw.randrange(len(data) + 1)
    ends = {b"[": b"]", b'{"a":': b"}", b"<a>": b"</a>", b'<ENAMEX TYPE="x">': b"</ENAMEX>", b"(x": b")"}
    inside = begins * depth + (b"1" + ends.get(begins, b"") * depth if draw.random() < 0.5 else b"")
    return draw.choice((inside, data[:at] + inside + data[at:], data + inside))


def huge(data: bytes, draw: random.Random) -> bytes:
    """Make a line, or a run of one character, very long."""
    lines = data.split(b"\n")
    at = draw.randrange(len(lines))
    one = draw.choice((b" ", b"\t", b"a ", b"\xcc\x81", b"<ENAMEX ", b"{", b'"', b"\\", b"0 ", lines[at] + b" "))
    lines[at] += (one * (300_000 // len(one) + 1))[:300_000]
    return b"\n".join(lines)


def shuffled(data: bytes, draw: random.Random) -> bytes:
    """Lose, repeat or swap lines."""
    lines = data.split(b"\n")
    for _ in range(draw.randrange(1, 5)):
        at, other = draw.randrange(len(lines)), draw.randrange(len(lines))
        kind = draw.randrange(3)
        if kind == 0:
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == 1:
            lines.insert(at, lines[other])
        elif len(lines) > 1:
            del lines[at]
    return b"\n".join(lines)


def numbers(data: bytes, draw: random.Random) -> bytes:
    """Put other numbers where there are numbers."""
    text = data.decode(errors="replace")
    digits = [at for at, character in enumerate(text) if character.isdigit()]
    for at in draw.sample(digits, min(len(digits), 3)):
        other = draw.choice(("-1", "99999999999999999999", "1e5", "0x1", "٣", "", "1.5", "9" * 5000))
        text = text[:at] + other + text[at + 1 :]
    return text.encode()


def values(data: bytes, draw: random.Random) -> bytes:
    """Put other values into JSON; where there is none, put JSON into the file."""
    text = data.decode(errors="replace")
    try:
        records = (
            json.loads(text) if text.lstrip().startswith("[") else [json.loads(line) for line in text.splitlines()]
        )
    except ValueError:
        records = []
    if not records or not all(isinstance(record, dict) for record in records):
        return data + json.dumps(draw.choice(ODD_VALUES)).encode()
    for _ in range(draw.randrange(1, 4)):
        _change(draw.choice(records), draw)
    if text.lstrip().startswith("["):
        return json.dumps(records).encode()
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def _change(place: object, draw: random.Random) -> None:
    """Change a value somewhere below a record."""
    while True:
        keys: list[object] = list(place) if isinstance(place, dict) else list(range(len(place)))  # type: ignore[arg-type]
        if not keys:
            return
        key = draw.choice(keys)
        inner = place[key]  # type: ignore[index]
        if not isinstance(inner, dict | list) or not inner or draw.random() < 0.3:
            place[key] = copy.deepcopy(draw.choice(ODD_VALUES))  # type: ignore[index]
            return
        place = inner


def empty(data: bytes, draw: random.Random) -> bytes:
    """Leave hardly anything."""
    return draw.choice((b"", b"\n" * 50, b" \t\r\n", b"\x00" * 100, os.urandom(200), data[:1], b"O\n", b"{}", b"[]"))


WAYS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "healthy": lambda data, draw: data,
    "truncated": cut,
    "flipped bits": flipped,
    "encodings": encoded,
    "nesting": nested,
    "huge lines": huge,
    "lines moved": shuffled,
    "numbers": numbers,
    "JSON values": values,
    "hardly anything": empty,
    "odd labels": lambda data, draw: data,
    "two at once": lambda data, draw: flipped(shuffled(data, draw) or b" ", draw),
}
"""The ways of damage; labels are odd before a file is written."""


@dataclass
class Tally:
    """What became of the files of one way."""

    files: int = 0
    read: int = 0
    refused: int = 0
    failed: list[str] = field(default_factory=list)
    slowest: float = 0.0


def corpus(draw: random.Random, format: str, odd: bool) -> list[Sentence]:
    """Generate a few sentences, some with odd names of types, or with types that are complete in them."""
    made = list(generate(draw.choice((1, 3, 12, 40)), seed=draw.randrange(10**6)).sentences)
    if (format == GZIP or holds_complete(format)) and draw.random() < 0.5:
        made = [one.completed(span.type for span in one.spans) if draw.random() < 0.7 else one for one in made]
    if not odd:
        return made
    label = draw.choice(ODD_LABELS)
    named = [one.with_spans(Span(span.start, span.end, label) for span in one.spans) for one in made]
    return [one if one.complete is None else one.completed([label]) for one in named]


def put(place: Path, format: str, way: str, draw: random.Random) -> Path | None:
    """Write a damaged file, or a folder of brat, of which one file is damaged; None where no file can hold it."""
    try:
        content = written(corpus(draw, format, way == "odd labels"), format)
    except InputError:
        return None
    if format == "spacy" and isinstance(content, bytes):
        file = place / f"data.{format}"
        file.write_bytes(damaged_bytes(content, way, draw))
        return file
    if isinstance(content, bytes):
        file = place / f"data.{format}"
        file.write_bytes(WAYS[way](content, draw))
        return file
    folder = place / format
    folder.mkdir()
    damaged = draw.choice(sorted(content))
    for name, data in content.items():
        (folder / name).write_bytes(WAYS[way](data, draw) if name == damaged else data)
    return draw.choice((folder, *sorted(folder.glob("0001.*"))))


def written(sentences: list[Sentence], format: str) -> bytes | dict[str, bytes]:
    """Write sentences in a format of text, in one that is no text, or as a compressed table."""
    if format in BINARY_FORMATS:
        content = BINARY_FORMATS[format].write(sentences)
        return dict(content) if isinstance(content, Mapping) else content
    made = FORMATS["csv" if format == GZIP else format].write(sentences)
    if isinstance(made, str):
        return gzip.compress(made.encode(), mtime=0) if format == GZIP else made.encode()
    return {name: text.encode() for name, text in made.items()}


def damaged_bytes(content: bytes, way: str, draw: random.Random) -> bytes:
    """Damage a file that is not text, as it lies there or inside of its compression."""
    if draw.random() < 0.3:
        return bytes(WAYS[way](content, draw))
    return zlib.compress(WAYS[way](zlib.decompress(content), draw))


def called(argv: list[str]) -> str:
    """Run a verb; return what is wrong with how it ended."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = retainer(argv)
    return judged(argv, status, out.getvalue(), err.getvalue())


def called_alone(argv: list[str], usual: Ended) -> str:
    """Run a verb in a process of its own; return what is wrong with how it ended, or took more than is usual."""
    ended = called_as_process(argv)
    if ended.seconds - usual.seconds > SECONDS or ended.megabytes - usual.megabytes > MEGABYTES:
        return f"{argv[0]}: it took {ended.seconds:.1f} s and {ended.megabytes:.0f} MB"
    return judged(argv, ended.status, ended.out, ended.err)


def judged(argv: list[str], status: int, out: str, err: str) -> str:
    """Return what is wrong with how a verb ended."""
    said = err.splitlines()
    if status not in (0, 2):
        return f"{argv[0]}: status {status}: {(said or [''])[-1][:300]}"
    if printable(out) != out:
        return f"{argv[0]}: what it prints steers the terminal"
    complaint = [line for line in said if line.startswith("retainer: ")]
    if status == 2 and (len(complaint) != 1 or len(complaint[0]) > SENTENCE or printable(complaint[0]) != complaint[0]):
        return (
            f"{argv[0]}: {len(complaint)} complaints, the longest of {max(map(len, complaint), default=0)} characters"
        )
    return ""


def tried(file: Path, format: str | None, encoder: Path) -> tuple[bool, str]:
    """Read a file in every way; say whether it was read, and what went wrong."""
    try:
        read(file, format)
        healthy = True
    except InputError as error:
        healthy = False
        if len(str(error)) > SENTENCE:
            return False, f"read: a complaint of {len(str(error))} characters"
    except Exception:
        return False, f"read: {traceback.format_exc(limit=-2)}"
    check, learn = verbs(file, encoder)
    return healthy, called(check) or called(learn)


def verbs(file: Path, encoder: Path) -> tuple[list[str], list[str]]:
    """Return the calls of the verbs that read a file."""
    how = ["--from", str(encoder), "--out", str(file.parent / "v"), "--dry-run", "--device", "cpu"]
    return ["check", str(file)], ["learn", str(file), *how]


def one(seed: str, place: Path, encoder: Path, tally: dict[str, Tally]) -> None:
    """Make one file out of its seed, and try it."""
    draw = random.Random(seed)
    format, way = draw.choice(KINDS), draw.choice(sorted(WAYS))
    place.mkdir()
    file, mine = put(place, format, way, draw), tally[way]
    if file is not None:
        began = time.process_time()
        healthy, wrong = tried(file, None if file.is_dir() or format == GZIP else draw.choice((None, format)), encoder)
        seconds = time.process_time() - began
        mine.files, mine.read, mine.refused = mine.files + 1, mine.read + healthy, mine.refused + (not healthy)
        mine.slowest = max(mine.slowest, seconds)
        if seconds > SECONDS:
            wrong = wrong or f"it took {seconds:.1f} s"
        if wrong:
            mine.failed.append(f"file {seed} ({format}, {way}): {wrong}")
    shutil.rmtree(place)


def alone(count: int, seed: str, place: Path, encoder: Path) -> Tally:
    """Make files like the others, and give each to the verbs in processes of their own."""
    place.mkdir()
    mine, healthy = Tally(), put(place, "conll", "healthy", random.Random("healthy"))
    assert healthy
    usual = [called_as_process(argv) for argv in verbs(healthy, encoder)]
    for number in range(count):
        draw = random.Random(f"{seed}-alone-{number}")
        shutil.rmtree(place)
        place.mkdir()
        format, way = draw.choice(KINDS), draw.choice(sorted(WAYS))
        file = put(place, format, way, draw)
        if file is None:
            continue
        calls = zip(verbs(file, encoder), usual, strict=True)
        mine.files += 1
        mine.failed += [
            f"file {seed}-alone-{number} ({format}, {way}): {wrong}"
            for argv, one in calls
            if (wrong := called_alone(argv, one))
        ]
    return mine


def warm_up(place: Path, encoder: Path) -> None:
    """Read a few healthy files, so that all that is loaded once is there before the start.

    oneDNN, which torch calls, keeps compiled kernels for every shape of a batch, some hundred megabytes of them in the
    end. They say nothing about us, so it is left out.
    """
    import torch

    torch.backends.mkldnn.enabled = False
    place.mkdir()
    for seed in range(5):
        file = place / f"{seed}.conll"
        file.write_text(str(FORMATS["conll"].write(generate(10 + 10 * seed, seed=seed))), encoding="utf-8")
        tried(file, None, encoder)


def memory() -> float:
    """Return the most megabytes the process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Try all files, print the table, and say whether all went well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="300 files, and 2 by real processes")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--processes", type=int, default=60, help="files that real processes read")
    parser.add_argument("--only", help="try the one file with this seed, as a failure names it")
    options = parser.parse_args()
    tally = {way: Tally() for way in WAYS}
    with tempfile.TemporaryDirectory() as place:
        encoder = tiny_encoder(Path(place) / "encoder")
        warm_up(Path(place) / "warm", encoder)
        start = memory()
        seeds = [options.only] if options.only else []
        seeds = seeds or [f"{options.seed}-{n}" for n in range(300 if options.quick else options.files)]
        for seed in seeds:
            one(seed, Path(place) / "file", encoder, tally)
        grown, count = memory() - start, 0 if options.only else 2 if options.quick else options.processes
        tally["in a process"] = alone(count, options.seed, Path(place) / "alone", encoder)
    return told(tally, grown)


def told(tally: dict[str, Tally], grown: float) -> int:
    """Print the table and the failures; return the status."""
    print(f"{'way':16} {'files':>6} {'read':>6} {'refused':>8} {'failed':>7} {'slowest':>8}")
    total: Counter[str] = Counter()
    for way, mine in tally.items():
        print(f"{way:16} {mine.files:6} {mine.read:6} {mine.refused:8} {len(mine.failed):7} {mine.slowest:6.1f} s")
        total.update(files=mine.files, read=mine.read, refused=mine.refused, failed=len(mine.failed))
    print(f"{'all':16} {total['files']:6} {total['read']:6} {total['refused']:8} {total['failed']:7}")
    large = grown > MEGABYTES
    print(f"memory: {grown:.0f} MB more than at the start" + (", which is too much" if large else ""))
    for mine in tally.values():
        for failure in mine.failed:
            print(failure)
    return 1 if total["failed"] or large else 0


if __name__ == "__main__":
    sys.exit(main())
