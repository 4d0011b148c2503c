"""Attack saved pipelines of spaCy that carry a version: damaged bytes and damaged folders of our component.

    python benchmarks/attack_pipelines.py [--quick] [--bytes 2000] [--folders 300] [--seed 0]

What spaCy itself writes is left as it is; damaged is what the component wrote: the bytes of `to_bytes`, and the folder
of the version inside a saved pipeline. Loading it and finding entities must end in one sentence (`InputError`), or find
what it found before; nothing else, nothing that takes over ten seconds, no more than 500 MB of memory, and nothing
outside the folder it unpacks into. Afterwards the component must still find what it found. The exit status is 1 if
anything failed.
"""

import argparse
import contextlib
import io
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attack_versions as base  # first: it settles threads and the hub
import spacy
import srsly

import retainer.versions.spacy_factory  # noqa: F401 (where retainer is installed, the entry point does this)
from retainer.errors import InputError
from retainer.versions.spacy_component import CARRIED

Found = list[tuple[int, int, str]]
Way = Callable[[bytes, random.Random], bytes]


def cut(data: bytes, draw: random.Random) -> bytes:
    """Lose the end."""
    return data[: draw.randrange(len(data))]


def flip(data: bytes, draw: random.Random) -> bytes:
    """Change one byte; half the time one of the first, which say how long everything is."""
    at = draw.randrange(draw.choice([64, len(data)]))
    return data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]


def noise(data: bytes, draw: random.Random) -> bytes:
    """Put other bytes in the place of all, behind a head that promises very much."""
    heads = [b"", b"\xdf\xff\xff\xff\xff", b"\x81\xa1a\xc6\xff\xff\xff\xff", b"\xdd\x7f\xff\xff\xff", b"\x91" * 5000]
    return draw.choice(heads) + draw.randbytes(draw.randrange(200))


def rename(data: bytes, draw: random.Random) -> bytes:
    """Give a file a name that leads elsewhere, that no file can have, or that a folder has already."""
    files = srsly.msgpack_loads(data)
    name = draw.choice(sorted(files))
    odd = ["../x", "/x", "", ".", "a\0b", "x" * 300, f"{name}/x", "config.json/x", "a\\b", "~", "retainer.json/.."]
    new = draw.choice(odd)
    content = files[name] if draw.random() < 0.5 else files.pop(name)
    return bytes(srsly.msgpack_dumps({**files, new: content}))


def reshape(data: bytes, draw: random.Random) -> bytes:
    """Put another kind of value in the place of all or of one file."""
    files = srsly.msgpack_loads(data)
    name, odd = draw.choice(sorted(files)), draw.choice([None, 1, "text", [], {}, [b"x"], {"a": b"x"}, True])
    return bytes(srsly.msgpack_dumps(odd if draw.random() < 0.3 else {**files, name: odd}))


def lose(data: bytes, draw: random.Random) -> bytes:
    """Lose a file, or damage its content."""
    files = srsly.msgpack_loads(data)
    name = draw.choice(sorted(files))
    files[name] = draw.choice([b"", cut(files[name] + b"x", draw), flip(files[name] + b"x" * 64, draw)])
    if draw.random() < 0.4:
        files.pop(name)
    return bytes(srsly.msgpack_dumps(files))


WAYS: tuple[Way, ...] = (cut, flip, noise, rename, reshape, lose)


def found(doc: Any) -> Found:
    """Return what was found in a document."""
    return [(one.start_char, one.end_char, one.label_) for one in doc.ents]


def pipeline(model: Path) -> Any:
    """Return a pipeline with a version."""
    nlp = spacy.blank("en")
    nlp.add_pipe("retainer", config={"model": str(model), "device": "cpu"})
    return nlp


def judged(nlp: Any, expected: Found) -> str:
    """Say that a pipeline finds what it found before it was damaged."""
    if found(nlp(base.TEXT)) != expected:
        raise AssertionError("it finds something else")
    return "found the same"


def require_kept(nlp: Any, expected: Found) -> None:
    """Make sure that a component which refused something still has what it had."""
    try:
        judged(nlp, expected)
    except InputError as error:
        raise AssertionError(f"what was there before is lost: {error}") from error


def attack_bytes(nlp: Any, place: Path, numbers: range, seed: int) -> base.Tally:
    """Give the component bytes that are damaged; it must keep what it had where it refuses them."""
    component, tally = nlp.get_pipe("retainer"), base.Tally()
    expected, whole = found(nlp(base.TEXT)), component.to_bytes()
    component.from_bytes(whole)
    beside = sorted(place.iterdir())
    for number in numbers:
        draw = random.Random(f"{seed} bytes {number}")
        way = draw.choice(WAYS)
        with tally.case(f"bytes {number} ({way.__name__})"):
            try:
                component.from_bytes(way(whole, draw))
            except InputError:
                require_kept(nlp, expected)
                raise
            tally.outcomes[judged(nlp, expected)] += 1
        component.from_bytes(whole)
        if sorted(place.iterdir()) != beside:
            tally.failures.append(f"bytes {number} ({way.__name__}): something was written elsewhere")
            beside = sorted(place.iterdir())
    return tally


def attack_folders(nlp: Any, place: Path, numbers: range, seed: int) -> base.Tally:
    """Damage the version inside a saved pipeline, as other versions are damaged."""
    tally, expected = base.Tally(), found(nlp(base.TEXT))
    nlp.to_disk(place / "saved")
    for number in numbers:
        draw, damaged = random.Random(f"{seed} folder {number}"), place / "damaged"
        shutil.copytree(place / "saved", damaged)
        how = f"folder {number} ({base.damage(damaged / 'retainer' / CARRIED, draw)})"
        with tally.case(how):
            loaded = spacy.load(damaged)
            forged = loaded.get_pipe("retainer").version.lineage.method == base.PLANTED
            tally.outcomes["loaded with a forged record" if forged else judged(loaded, expected)] += 1
        if base.sprung(place):
            tally.failures.append(f"{how}: a module was imported because a record names it")
        shutil.rmtree(damaged)
    return tally


def main() -> int:
    """Attack, print one table, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="80 times bytes, and 15 folders")
    parser.add_argument("--bytes", type=int)
    parser.add_argument("--folders", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, base._too_slow)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch).resolve()
        with contextlib.redirect_stderr(io.StringIO()):
            base.make_versions(place)
        nlp = pipeline(place / "v2")
        with base.trap(place):
            rows = {
                "bytes": attack_bytes(
                    nlp, place, range(options.bytes or (80 if options.quick else 2000)), options.seed
                ),
                "folders": attack_folders(
                    nlp, place, range(options.folders or (15 if options.quick else 300)), options.seed
                ),
            }
    print(base.table(rows))
    failures = [f"{name}: {one}" for name, tally in rows.items() for one in tally.failures]
    if failures:
        print("\n".join([f"{len(failures)} failures:", *failures[:40]]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
