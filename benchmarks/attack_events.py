"""kill -9 at the file events of every verb that writes, then the same command again.

    python benchmarks/attack_events.py [--quick] [--each 25] [--only learn,export] [--seed 0]

Python reports when a file is opened to be written, renamed or removed and when a folder is made (audit hooks). Every
verb runs once undisturbed, to count its events, and then again and again in a folder of its own, each time killed just
before another of them. What lies there under its final name must then be what the undisturbed run wrote. The command is
given a second time: it must end well, or say that the result exists already, and afterwards the folder holds the same
files as after the undisturbed run, byte for byte, and nothing else. What the verbs read must not change. The clock
stands still, a state is kept after every epoch instead of once a minute, and a tiny encoder stands in for the built-in
one; otherwise the commands are as a user gives them. Of the database of a project every SQL statement is an event, and
its rows are compared instead of its bytes. Prints a table; exits with 1 if anything is wrong.
"""

import argparse
import hashlib
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from retainer.cli.main import main as retainer  # isort: skip (retainer settles the threads before torch starts any)
import transformers.models.bert.modeling_bert  # noqa: F401  (loaded once, not once per kill)
from tiny_encoder import tiny_encoder

import retainer.model.tagger as tagger
import retainer.training.learn as learning
import retainer.versions.version as version
import retainer.workbench.clock as clock
import retainer.workbench.database as database
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.files import sha256
from retainer.model.tagger import quiet

TRAIN = "--epochs 3 --set.patience 0 --set.base_lr 1e-3 --set.batch 16 --device cpu"
VERBS = {
    "learn": f"learn {{given}}/artist.conll --from builtin --out v {TRAIN}",
    "learn --keep-parent": f"learn {{given}}/city.conll --from {{given}}/v1 --out v --keep-parent {TRAIN}",
    "learn --text": f"learn {{given}}/city.conll --from {{given}}/v1 --out v --text {{given}}/texts.txt {TRAIN}",
    "types rename": "types rename {given}/v2 city=place --out v",
    "types merge": "types merge {given}/v2 artist,city --into name --out v",
    "types drop": "types drop {given}/v2 city --out v",
    "types split": "types split {given}/v2 city --into town,village --out v",
    "rollback": "rollback {given}/v2 --out v",
    "export --onnx": "export {given}/v2 --onnx v",
    "export --plain": "export {given}/v2 --plain v",
    "export --labelstudio": "export {given}/v2 --labelstudio tasks.json --input {given}/texts.txt --device cpu",
    "export --prodigy": "export {given}/v2 --prodigy tasks.jsonl --input {given}/texts.txt --device cpu",
    "compare --page": "compare {given}/v1 {given}/v2 {given}/both.conll --page page.html --device cpu",
    "evaluate --page": "evaluate {given}/v2 {given}/both.conll --page page.html --device cpu",
    "convert": "convert {given}/both.conll both.jsonl",
    "convert to brat": "convert {given}/both.conll both --to brat",
    "split": "split {given}/corpus --fg 1 --pg 1 --out tasks",
    "bench": "bench own --data {given}/corpus --out cells --setting FG-1-PG-1 --methods finetune,rdp --seeds 1 "
    "--set.epochs 1 --device cpu",
    "report": "report {given}/cells --out report.html",
    "report of a version": "report {given}/v2 --data {given}/both.conll --out report.html",
    "demo": "demo --out demo --sentences 60 --epochs 1 --device cpu",
    "demo --corpus": "demo --corpus corpus --sentences 60",
    "project import": "project import project {given}/both.conll",
    "project export": "project export {given}/project --out texts.jsonl",
}
"""What is killed, by name."""
SLOW = ("export --onnx", "demo", "bench")
"""What takes seconds, and so is killed less often."""
SQL = "attack.sql"
"""The event of a statement that a database is about to run."""
CHANGES = {SQL, "os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.truncate", "os.symlink", "os.link", "os.chmod"}
PRIVATE = re.compile(r"(^|/)\.|\.lock$|\.partial(/|$)|\.sqlite-(wal|shm)$")
"""Names that no reader takes for a result: hidden ones, locks, kept states, and the log of a database."""


class StoppedClock(datetime):
    """A clock that shows the same moment for ever, so that two runs can be compared byte for byte."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "StoppedClock":
        """Return the first second of 2026."""
        return cls(2026, 1, 1, tzinfo=tz)


@dataclass
class Tally:
    """What became of one verb."""

    events: int
    kills: int = 0
    before: int = 0
    """Kills after which there was no result yet."""
    wrong: list[str] = field(default_factory=list)


def run(command: str, folder: Path, kill_at: int = 0) -> tuple[int, int, str]:
    """Run a command in a folder, in a process of its own; return its status, its file events and what it said."""
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            os.chdir(folder)
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            count_events(folder, kill_at, writer)
            os._exit(ended(command.split()))
        os.close(writer)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with open(reader, "rb") as counted:
            events = len(counted.read())
        said.seek(0)
        return status, events, said.read().decode(errors="replace")


def ended(argv: list[str]) -> int:
    """Call the command line, whose --help and refusals end by an exception."""
    try:
        status = retainer(argv)
        sys.stdout.flush()
        return status
    except SystemExit as error:
        return int(error.code or 0)


def count_events(folder: Path, kill_at: int, writer: int) -> None:
    """Write a byte to a pipe for every event that changes a file in a folder; before a given one the process ends."""
    events = 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal events
        if is_change(event, arguments, folder):
            events += 1
            if events == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            os.write(writer, b".")

    sys.addaudithook(hook)


def is_change(event: str, arguments: tuple[object, ...], folder: Path) -> bool:
    """Return whether an event changes something in a folder."""
    if event != "open" and event not in CHANGES:
        return False
    if event == "open" and not (
        isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    ):
        return False
    name = arguments[0]
    return isinstance(name, str | os.PathLike) and str(Path.cwd() / name).startswith(f"{folder}{os.sep}")


def content(folder: Path) -> dict[str, str]:
    """Return the hash of every file in a folder by name; folders have none."""
    return {str(path.relative_to(folder)): hashed(path) for path in sorted(folder.rglob("*"))}


def hashed(path: Path) -> str:
    """Return the hash of a file, of the rows of a database; a database without rows is not a result yet."""
    if path.is_dir():
        return ""
    if path.suffix != ".sqlite":
        return sha256(path)
    found = rows(path)
    return hashlib.sha256(repr(found).encode()).hexdigest() if any(found.values()) else ""


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Read the tables of a database from a copy of it, lest looking at it repair it; its index follows from them."""
    with tempfile.TemporaryDirectory() as place:
        for file in path.parent.glob(f"{path.name}*"):
            shutil.copy(file, place)
        connection = sqlite3.connect(Path(place) / path.name)
        names = "SELECT name FROM sqlite_master WHERE type = 'table' AND NOT name GLOB '*_index*' ORDER BY name"
        found = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for [name] in connection.execute(names)}
        connection.close()
        return {name: rows for name, rows in found.items() if name != "sqlite_sequence"}


def killed(command: str, folder: Path, wanted: dict[str, str], at: int, tally: Tally) -> None:
    """Kill a command at an event, look at what is there, give the command again, and note what is wrong."""
    folder.mkdir()
    status, _, said = run(command, folder, at)
    tally.kills += 1
    if status != -signal.SIGKILL:
        tally.wrong.append(f"event {at}: ended with status {status} before it could be killed: {said[-200:]!r}")
    there = {name: hash_ for name, hash_ in content(folder).items() if hash_ and not PRIVATE.search(name)}
    tally.before += not there
    tally.wrong += [f"event {at}: {name} was half written" for name, one in there.items() if one != wanted.get(name)]
    status, _, said = run(command, folder)
    if status != 0 and not (status == 2 and there and "exists already" in said):
        tally.wrong.append(f"event {at}: given again, it ended with status {status}: {said[-200:]!r}")
    after = content(folder)
    tally.wrong += [f"event {at}: {name} was left behind" for name in sorted(after.keys() - wanted.keys())]
    tally.wrong += [f"event {at}: {name} differs" for name in sorted(wanted) if after.get(name) != wanted[name]]
    shutil.rmtree(folder)


def attacked(name: str, place: Path, most: int, draw: random.Random) -> Tally:
    """Run a verb undisturbed, then kill it at some of its events."""
    command, folder = VERBS[name].format(given=place / "given"), place / "run"
    folder.mkdir()
    status, events, said = run(command, folder)
    wanted = content(folder)
    shutil.rmtree(folder)
    tally = Tally(events)
    if status or not events:
        tally.wrong.append(f"undisturbed: status {status}, {events} events: {said[-300:]!r}")
        return tally
    for at in sorted(draw.sample(range(1, events + 1), min(events, most))):
        killed(command, folder, wanted, at, tally)
    return tally


def stand_in(encoder: Path) -> None:
    """Put what is tiny, frequent and timeless in the place of what is not."""
    made = learning.Checkpoint
    vars(tagger)["builtin_folder"] = lambda: encoder
    vars(learning)["Checkpoint"] = lambda folder, key, seconds, warn: made(folder, key, 0.0, warn)
    vars(version)["datetime"] = vars(clock)["datetime"] = StoppedClock
    vars(database)["_connect"] = watched(vars(database)["_connect"])
    vars(time)["perf_counter"] = lambda: 0.0


def watched(connect: Callable[..., sqlite3.Connection]) -> Callable[..., sqlite3.Connection]:
    """Let every statement of a database be an event, since what SQLite does to its files is none."""

    def connected(path: Path, **how: bool) -> sqlite3.Connection:
        connection = connect(path, **how)
        connection.set_trace_callback(lambda statement: sys.audit(SQL, path))
        return connection

    return connected


def prepare(given: Path) -> None:
    """Write what the verbs read: an encoder, data, texts, two versions, the cells of a bench and a project."""
    given.mkdir()
    stand_in(tiny_encoder(given / "encoder"))
    both = generate(60, seed=3, types=["artist", "city"])
    write(both, given / "both.conll", "conll")
    (given / "texts.txt").write_text("".join(sentence.located()[0] + "\n" for sentence in both))
    for number, type_ in enumerate(("artist", "city"), 1):
        write(generate(60, seed=number, types=[type_]), given / f"{type_}.conll", "conll")
    for number, part in enumerate(("train", "dev", "test")):
        (given / "corpus").mkdir(exist_ok=True)
        write(generate(60, seed=10 + number, types=["artist", "city"]), given / "corpus" / f"{part}.conll", "conll")
    for command in (
        f"learn artist.conll --from builtin --out v1 {TRAIN}",
        f"learn city.conll --from v1 --out v2 --keep-parent {TRAIN}",
        VERBS["bench"].format(given=given),
        VERBS["project import"].format(given=given),
    ):
        status, _, said = run(command, given)
        if status:
            raise SystemExit(said)


def told(tallies: dict[str, Tally], changed: list[str]) -> int:
    """Print the table, and what is wrong; return the exit status."""
    print(f"{'verb':22} {'events':>7} {'killed':>7} {'no result yet':>14} {'wrong':>6}")
    for name, one in tallies.items():
        print(f"{name:22} {one.events:7} {one.kills:7} {one.before:14} {len(one.wrong):6}")
    for name, one in tallies.items():
        for line in one.wrong[:5]:
            print(f"{name}: {line}")
    for name in changed:
        print(f"a verb changed what it read: {name}")
    wrong = sum(len(one.wrong) for one in tallies.values()) + len(changed)
    print(f"{sum(one.kills for one in tallies.values())} kills, {wrong} wrong")
    return 1 if wrong else 0


def main() -> int:
    """Kill, give the command again, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1 kill of each quick verb")
    parser.add_argument("--each", type=int, default=25, help="kills of a verb; a fifth of what is slow")
    parser.add_argument("--only", help=f"some of {','.join(VERBS)}")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    quiet()
    draw = random.Random(options.seed)
    names = (
        options.only.split(",") if options.only else [name for name in VERBS if not options.quick or name not in SLOW]
    )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        prepare(place / "given")
        before = content(place / "given")
        each = 1 if options.quick else options.each
        tallies = {name: attacked(name, place, max(1, each // 5) if name in SLOW else each, draw) for name in names}
        after = content(place / "given")
    return told(tallies, sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)))


if __name__ == "__main__":
    sys.exit(main())
