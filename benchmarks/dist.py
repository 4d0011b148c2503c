"""Build wheel and sdist, and try them: install the wheel where nothing is yet, and run the README's first commands.

    python benchmarks/dist.py --out dist --record results/dist.txt [--python python3.12 ...]

Without ``--python`` it tries the Python it runs with. Everything happens outside the checkout, so that what is tried is
what was built. ``--record`` keeps what was run and what it printed, Python by Python.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEEDED = (
    "src/retainer/py.typed",
    "examples/cities.jsonl",
    "constraints.txt",
    "LICENSE",
    "README.md",
    "docs/install.md",
)
"""What someone needs who has the sdist alone."""
FORBIDDEN = re.compile(r"(^|/)(results/(?!README\.md$)|\.venv/|__pycache__/|shared/|models/|runs/|mlruns/)")
WANTED = (
    "Author: ",
    "License-Expression: Apache-2.0",
    "Requires-Python: >=3.11",
    "Provides-Extra: all",
    "Description-Content-Type: text/markdown",
)
"""Metadata that pip and an index show."""
RELATIVE = re.compile(r"\]\((?!https?://)[^)]*\)")
"""A link, or a picture, that leads nowhere but beside the README."""
FIRST_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def build(out: Path) -> tuple[Path, Path]:
    """Build the sdist, and the wheel from it, so that the sdist is known to be whole."""
    shutil.rmtree(out, ignore_errors=True)
    _call([sys.executable, "-m", "build", "--outdir", str(out), str(ROOT)])
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


def sdist_faults(names: Sequence[str]) -> list[str]:
    """Say what an sdist lacks, and what it should not have; names are those inside its one folder."""
    inside = [name.partition("/")[2] for name in names]
    lacks = [f"the sdist lacks {name}" for name in NEEDED if name not in inside]
    return lacks + [f"the sdist has {name}" for name in inside if FORBIDDEN.search(name)]


def wheel_faults(names: Sequence[str], metadata: str) -> list[str]:
    """Say what a wheel lacks, or has beside the package and its metadata."""
    lacks = [f"the wheel lacks {name}" for name in ("retainer/py.typed", "retainer/cli/main.py") if name not in names]
    strange = [f"the wheel has {name}" for name in names if not re.match(r"retainer(/|-[^/]+\.dist-info/)", name)]
    dead = [
        f"the long description links to a file beside the README: {link[1:]}" for link in RELATIVE.findall(metadata)
    ]
    return lacks + strange + [f"the metadata lack {line!r}" for line in WANTED if line not in metadata] + dead


def readme_commands() -> list[str]:
    """Return the commands of the README's first block."""
    found = FIRST_BLOCK.search((ROOT / "README.md").read_text("utf-8"))
    assert found, "the README has no block of commands"
    return [line for line in found[1].splitlines() if line.strip()]


@dataclass
class Record:
    """What was run and what it printed: on the screen at once, and kept without the paths of this machine."""

    lines: list[str] = field(default_factory=list)
    hidden: dict[str, str] = field(default_factory=dict)
    """Paths of this machine, and what stands for them."""

    def say(self, text: str) -> None:
        """Print and keep a text."""
        for path, shown in self.hidden.items():
            text = text.replace(path, shown)
        print(text, flush=True)
        self.lines += [line.rstrip() for line in text.splitlines()]


@dataclass
class Trial:
    """A wheel in an environment of its own, in a folder that goes away."""

    wheel: Path
    place: Path
    record: Record

    @property
    def bin(self) -> Path:
        """The programs of the environment."""
        return self.place / "venv" / "bin"

    def run(self, shown: str, command: Sequence[str], environment: Mapping[str, str], *, tell: bool = True) -> None:
        """Run a command in the folder, and say what it printed and how long it took; one that fails ends everything."""
        self.record.say(f"$ {shown}")
        began = time.monotonic()
        ended = subprocess.run(
            command, cwd=self.place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if ended.stdout.strip() and (tell or ended.returncode):
            self.record.say(ended.stdout.rstrip())
        if ended.returncode:
            raise SystemExit(f"{shown}: ended with status {ended.returncode}")
        self.record.say(f"({time.monotonic() - began:.0f} s)")

    def run_pip(self, shown: str, *words: str, tell: bool = True) -> None:
        """Run pip, configured as it is on this machine, but without a path to a checkout."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self.run(shown, [str(self.bin / "pip"), *words], environment, tell=tell)

    def run_retainer(self, command: str) -> None:
        """Run a line of the README with nothing but what was installed."""
        environment = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.place), "HF_HUB_OFFLINE": "1"}
        self.run(command, ["sh", "-c", command], environment)

    def install(self, extra: str, *options: str, shown: str = "") -> None:
        """Install the wheel with an extra, in one line, as the README does; pip's own words would name this machine."""
        said = f"pip install {shown}--constraint constraints.txt 'dist/{self.wheel.name}[{extra}]'"
        pinned = ("--quiet", "--constraint", str(ROOT / "constraints.txt"))
        self.run_pip(said, "install", *options, *pinned, f"{self.wheel}[{extra}]", tell=False)


def try_wheel(wheel: Path, python: str, call: str, record: Record) -> None:
    """Resolve all extras, install the wheel with the built-in encoder, and run the README's first commands."""
    with tempfile.TemporaryDirectory(prefix="retainer-dist-") as scratch:
        record.hidden = {scratch: "SCRATCH", str(wheel.parent): "dist", str(ROOT): "CHECKOUT"}
        trial = Trial(wheel, Path(scratch), record)
        _call([python, "-m", "venv", str(trial.place / "venv")])
        record.say(f"## {_printed(trial.bin / 'python', '--version')}\n\n$ {call}")
        resolve_all(trial)
        trial.install("builtin")
        torch = _printed(trial.bin / "python", "-c", "import importlib.metadata as m; print(m.version('torch'))")
        record.say(f"{_size(trial.place / 'venv') / 1e6:.0f} MB, torch {torch}")
        trial.run_pip("pip check", "check")
        shutil.copytree(ROOT / "examples", trial.place / "examples")
        for command in readme_commands():
            trial.run_retainer(command)


def resolve_all(trial: Trial) -> None:
    """Ask pip what the extra `all` would bring where nothing is yet, and install none of it."""
    report = trial.place / "all.json"
    trial.install("all", "--dry-run", "--report", str(report), shown="--dry-run ")
    found = [one["metadata"] for one in json.loads(report.read_text("utf-8"))["install"]]
    versions = {_canonical(one["name"]): one["version"] for one in found}
    free = sorted(versions.keys() - _pinned() - {"retainer"})
    trial.record.say(f"would install {len(versions)} packages, torch {versions['torch']} among them")
    trial.record.say(f"not in constraints.txt: {', '.join(free) or 'none'}")


def keep(record: Record, path: Path) -> None:
    """Put what one Python printed into a file, in place of what the same one printed before; others stay."""
    before = path.read_text("utf-8") if path.exists() else ""
    parts = re.split(r"^(?=## )", before, flags=re.MULTILINE)[1:]
    stay = [part.strip() for part in parts if part.partition("\n")[0] != record.lines[0]]
    parts = sorted([*stay, "\n".join(record.lines)], key=_release)
    path.write_text("\n\n".join(parts) + "\n", "utf-8")


def _release(part: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", part.partition("\n")[0])]


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


def _pinned() -> set[str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").split()
    return {_canonical(line.split("==")[0]) for line in lines}


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _printed(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _call(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, cwd=tempfile.gettempdir())


def main() -> int:
    """Build, look inside, and try; a fault ends with status 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("--record", type=Path, help="a file to keep what was run and what it printed")
    chosen = parser.parse_args()
    wheel, sdist = build(chosen.out.absolute())
    with tarfile.open(sdist) as packed, zipfile.ZipFile(wheel) as zipped:
        members = [member.name for member in packed.getmembers() if member.isfile()]
        about = next(name for name in zipped.namelist() if name.endswith(".dist-info/METADATA"))
        faults = sdist_faults(members) + wheel_faults(zipped.namelist(), zipped.read(about).decode())
    if faults:
        print("\n".join(faults), file=sys.stderr)
        return 1
    sizes = ", ".join(f"{file.name} {file.stat().st_size / 1e6:.1f} MB" for file in (wheel, sdist))
    calls = {python: f"make dist PYTHONS={Path(python).name}" for python in chosen.python} or {
        sys.executable: "make dist"
    }
    for python, call in calls.items():
        record = Record()
        try_wheel(wheel, python, call, record)
        record.say(sizes)
        if chosen.record:
            keep(record, chosen.record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
