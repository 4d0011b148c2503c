"""kill -9 of a real `retainer learn` at random moments, started again with the same command until it is done.

    python benchmarks/attack_kill.py [--quick] [--kills 30] [--seed 0]

A tiny encoder learns from generated data, first undisturbed, then killed again and again: somewhere between its start
and its end, or somewhere after its first epoch. The states of epochs are kept after every epoch instead of once a
minute, so that there is something to go on from; everything else is the command as a user gives it. The weights must be
those of the undisturbed run, bit for bit, and so must the losses and scores of every epoch; nothing may be left behind.
In one more run a bit of the kept state is flipped while nobody holds it: the same must come out, after a sentence about
it. Prints a table; exits with 1 if anything differs.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from tiny_encoder import tiny_encoder

from retainer.data.generated import generate
from retainer.data.io import write

LEARN = """
import sys
import retainer.training.learn as learn
from retainer.cli.main import main
made = learn.Checkpoint
learn.Checkpoint = lambda folder, key, seconds, warn: made(folder, key, 0.0, warn)
sys.exit(main(sys.argv[1:]))
"""
"""The command line, with a state after every epoch."""


class Run:
    """One command, as often as it takes."""

    def __init__(self, place: Path, name: str, epochs: int) -> None:
        self.out, self.log = place / name, place / f"{name}.log"
        where = ["--from", str(place / "encoder"), "--out", str(self.out), "--device", "cpu"]
        numbers = ["--epochs", str(epochs), "--set.patience", "0", "--set.base_lr", "1e-3", "--set.batch", "8"]
        self.command = [sys.executable, "-c", LEARN, "learn", str(place / "data.conll"), *where, *numbers]

    def start(self) -> subprocess.Popen[bytes]:
        """Start the command once; what it says goes to the log."""
        self.log.write_bytes(b"")
        with self.log.open("wb") as log:
            return subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=log)

    def whole(self) -> tuple[float, float]:
        """Let the command run to its end; return the seconds it took, and those after its first epoch."""
        began, process = time.monotonic(), self.start()
        while self.epoch == "-" and process.poll() is None:
            time.sleep(0.01)
        first = time.monotonic()
        if process.wait():
            raise SystemExit(f"status {process.returncode}: {self.log.read_text()[-500:]}")
        return time.monotonic() - began, time.monotonic() - first

    @property
    def epoch(self) -> str:
        """The last epoch that the command has finished."""
        lines = [line.split()[1] for line in self.log.read_text().splitlines() if line.startswith("  epoch ")]
        return lines[-1] if lines else "-"

    @property
    def resumed(self) -> bool:
        """Whether the command went on from a kept state."""
        return "resuming an unfinished run" in self.log.read_text()

    def result(self) -> tuple[bytes, str]:
        """Return the weights, and the history without the time it took."""
        record = json.loads((self.out / "retainer.json").read_text())
        history = [{**epoch, "seconds": 0} for epoch in record["scores"]["history"]]
        return (self.out / "model.safetensors").read_bytes(), json.dumps([history, record["scores"]["per_type"]])

    def litter(self) -> list[str]:
        """Name what was left behind beside the version and the log."""
        name = self.out.name
        return sorted(path.name for path in self.out.parent.iterdir() if path.name.startswith(f"{name}.partial"))


def killed(run: Run, draw: random.Random, seconds: tuple[float, float]) -> bool:
    """Start the command and kill it; return whether it was done before."""
    process = run.start()
    after_an_epoch = draw.random() < 0.7
    deadline = time.monotonic() + 120
    while after_an_epoch and run.epoch == "-" and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    wait = draw.uniform(0, seconds[after_an_epoch])
    try:
        process.wait(wait)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    moment = f"{wait:.2f} s after {'its first epoch' if after_an_epoch else 'its start'}"
    end, again = "killed" if process.returncode < 0 else "ended", "yes" if run.resumed else ""
    print(f"{end:8} {moment:32} {run.epoch:>8}  {again}")
    return process.returncode == 0 or run.out.exists()


def damage(run: Run, draw: random.Random) -> None:
    """Flip a bit of the kept state."""
    state = run.out.with_name(run.out.name + ".partial") / "state.safetensors"
    data = bytearray(state.read_bytes())
    data[draw.randrange(len(data) // 2, len(data))] ^= 1 << draw.randrange(8)
    state.write_bytes(data)


def compared(run: Run, wanted: tuple[bytes, str]) -> int:
    """Print what differs from the undisturbed run; return how much."""
    found = run.result()
    weights, history, litter = found[0] == wanted[0], found[1] == wanted[1], run.litter()
    print(
        f"{run.out.name}: weights {'equal' if weights else 'DIFFER'}, history {'equal' if history else 'DIFFERS'}",
        end="",
    )
    print(f", left behind: {', '.join(litter)}" if litter else ", nothing left behind")
    return (not weights) + (not history) + bool(litter)


def main() -> int:
    """Run, kill, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="3 kills")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    kills, epochs = (3, 12) if options.quick else (options.kills, 30)
    draw = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        tiny_encoder(place / "encoder")
        write(generate(160, seed=1, types=["artist", "city"]), place / "data.conll", "conll")
        whole, often, flipped = (Run(place, name, epochs) for name in ("undisturbed", "killed-1", "damaged"))
        seconds = whole.whole()
        wanted = whole.result()
        print(f"undisturbed: {epochs} epochs in {seconds[0]:.1f} s\n\n{'':8} {'when':32} {'epoch':>8}  resumed")
        wrong, number = 0, 1
        for _ in range(kills):
            if killed(often, draw, seconds):
                wrong += compared(often, wanted)
                number += 1
                often = Run(place, f"killed-{number}", epochs)
        if not often.out.exists():
            often.whole()
            print(f"{'ended':8} {'':32} {often.epoch:>8}  {'yes' if often.resumed else ''}")
            wrong += compared(often, wanted)
        wrong += damaged(flipped, wanted, draw)
        print("something differs" if wrong else "everything is as if nothing had happened")
        return 1 if wrong else 0


def damaged(run: Run, wanted: tuple[bytes, str], draw: random.Random) -> int:
    """Kill a run after an epoch, damage its state, and run it to its end; return how much is wrong."""
    process = run.start()
    state = run.out.with_name(run.out.name + ".partial") / "state.safetensors"
    while not state.exists() and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    damage(run, draw)
    run.whole()
    noticed = "is damaged" in run.log.read_text() and not run.resumed
    print(f"damaged: {'noticed' if noticed else 'NOT NOTICED'}")
    return compared(run, wanted) + (not noticed)


if __name__ == "__main__":
    sys.exit(main())
