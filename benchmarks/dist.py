"""Build wheel and sdist, and try them: install the wheel where nothing is yet, and run the README's first commands.

    python benchmarks/dist.py --out dist [--python python3.12 ...]

Without ``--python`` it tries the Python it runs with. Everything happens outside the checkout, so that what is tried is
what was built.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Sequence
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
    wanted = ("License-Expression: Apache-2.0", "Requires-Python: >=3.11", "Provides-Extra: all", "Description-Content")
    return lacks + strange + [f"the metadata lack {line!r}" for line in wanted if line not in metadata]


def readme_commands() -> list[str]:
    """Return the commands of the README's first block."""
    found = FIRST_BLOCK.search((ROOT / "README.md").read_text("utf-8"))
    assert found, "the README has no block of commands"
    return [line for line in found[1].splitlines() if line.strip()]


def try_wheel(wheel: Path, python: str) -> None:
    """Install a wheel into an environment of its own, and run the README's first commands with it."""
    with tempfile.TemporaryDirectory(prefix="retainer-dist-") as scratch:
        place, began = Path(scratch), time.monotonic()
        _call([python, "-m", "venv", str(place / "venv")])
        bin_ = place / "venv" / "bin"
        pip = [str(bin_ / "pip"), "install", "--quiet", "--constraint", str(ROOT / "constraints.txt")]
        _call([*pip, "torch"])
        _call([*pip, f"retainer[builtin] @ {wheel.absolute().as_uri()}"])
        _call([str(bin_ / "pip"), "check"])
        size = sum(
            file.stat().st_size for file in (place / "venv").rglob("*") if file.is_file() and not file.is_symlink()
        )
        installed = time.monotonic() - began
        shutil.copytree(ROOT / "examples", place / "work" / "examples")
        environment = {"PATH": f"{bin_}:/usr/bin:/bin", "HOME": str(place), "HF_HUB_OFFLINE": "1"}
        for command in readme_commands():
            print(f"$ {command}", flush=True)
            subprocess.run(["sh", "-c", command], cwd=place / "work", env=environment, check=True)
        version = subprocess.run([bin_ / "python", "--version"], capture_output=True, text=True).stdout.strip()
        spent = time.monotonic() - began
        print(f"{version}: installed in {installed:.0f} s, {size / 1e6:.0f} MB, commands in {spent - installed:.0f} s")


def _call(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, cwd=tempfile.gettempdir())


def main() -> int:
    """Build, look inside, and try; a fault ends with status 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--python", action="append", default=[])
    chosen = parser.parse_args()
    wheel, sdist = build(chosen.out.absolute())
    with tarfile.open(sdist) as packed, zipfile.ZipFile(wheel) as zipped:
        members = [member.name for member in packed.getmembers() if member.isfile()]
        about = next(name for name in zipped.namelist() if name.endswith(".dist-info/METADATA"))
        faults = sdist_faults(members) + wheel_faults(zipped.namelist(), zipped.read(about).decode())
    if faults:
        print("\n".join(faults), file=sys.stderr)
        return 1
    for python in chosen.python or [sys.executable]:
        try_wheel(wheel, python)
    print(f"{wheel.name} {wheel.stat().st_size / 1e6:.1f} MB, {sdist.name} {sdist.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
