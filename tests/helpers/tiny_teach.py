"""Teaching in a process of its own, as `python -m retainer.workbench.teach` does it, from a tiny built-in encoder."""

import os
import sys
from pathlib import Path

from retainer.model import tagger
from retainer.workbench.teach import run_job

if __name__ == "__main__":
    tagger.builtin_folder = lambda: Path(os.environ["TINY_ENCODER"])
    sys.exit(run_job(sys.argv[1:]))
