"""A folder in which a page is run, top to bottom, as a reader would do it."""

import io
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager, redirect_stderr, redirect_stdout

import pytest
from pages import ROOT, plain, require_valid

from retainer.cli.main import main

SHIM = """#!{python}
import os, sys
from retainer.bench import cell
from retainer.cli.main import main
from retainer.model import tagger
if encoder := os.environ.get("DOCS_TEST_ENCODER"):
    tagger.builtin_folder = cell.builtin_folder = lambda: __import__("pathlib").Path(encoder)
sys.exit(main())
"""
"""`retainer` for lines that need a shell: that of this checkout, with the encoder of the page."""


class Place:
    """The folder, all that was printed in it, and what was run and what was not."""

    def __init__(self, folder, tiny):
        shutil.copytree(ROOT / "examples", folder / "examples")
        self.folder, self.tiny = folder, tiny
        self.shim = folder.parent / f"{folder.name}-bin" / "retainer"
        self.shim.parent.mkdir()
        self.shim.write_text(SHIM.format(python=sys.executable))
        self.shim.chmod(0o755)
        self.said, self.done, self.left_out, self.times = "", [], [], []

    def walk(self, page):
        """Run the blocks of a page; what is marked not to be run must still be a valid call."""
        for block in page.blocks:
            where = f"{page.name}:{block.line}"
            assert block.status == 0 or len(block.steps) == 1, f"{where}: the status of which command?"
            for step in block.steps:
                if not block.reason:
                    self.run(step, block, where)
                elif step in block.calls:
                    require_valid(step)
            (self.left_out if block.reason else self.done).append((where, block))
        return self

    def run(self, step, block, where):
        """Run one line, or one Python program."""
        began = time.monotonic()
        with self.inside(block.encoder) as setting, redirect_stdout(io.StringIO()) as out, redirect_stderr(out):
            status = _program(step, where) if block.language == "python" else _line(step, setting)
        self.said += out.getvalue()
        self.times.append((time.monotonic() - began, where, step.splitlines()[0]))
        assert status == block.status, f"{where}: {step}\nended with status {status}:\n{out.getvalue()[-3000:]}"

    @contextmanager
    def inside(self, encoder):
        """Be in the folder, with nobody at the keyboard, and let `builtin` be what the page says."""
        path = [str(self.shim.parent), os.path.dirname(sys.executable), os.environ["PATH"]]
        setting = {**os.environ, "PATH": os.pathsep.join(path)}
        with pytest.MonkeyPatch.context() as patch, open(os.devnull) as nothing:
            patch.chdir(self.folder)
            patch.setattr("sys.stdin", nothing)
            if encoder == "tiny":
                setting["DOCS_TEST_ENCODER"] = str(self.tiny)
                for module in ("model.tagger", "bench.cell"):
                    patch.setattr(f"retainer.{module}.builtin_folder", lambda: self.tiny)
            yield setting


def _line(step, setting):
    """Run a line: in this process where it is a plain call, because starting one takes seconds; else in a shell."""
    if words := plain(step):
        return main(words[1:])
    shell = ["bash", "-o", "pipefail", "-c", step]
    done = subprocess.run(shell, env=setting, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    sys.stdout.write(done.stdout + done.stderr)
    return done.returncode


def _program(text, where):
    exec(compile(text, where, "exec"), {"__name__": "__main__"})
    return 0
