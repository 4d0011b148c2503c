"""Folders that one process of a test run makes, and all of them use."""

import os
import shutil

from filelock import FileLock


def made_once(tmp_path_factory, name, make):
    """Return a folder that ``make`` has filled; under pytest-xdist whichever process needs it first makes it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    complete = folder.with_name(f"{name}.complete")
    with FileLock(folder.with_name(f"{name}.lock")):
        if not complete.exists():
            folder.mkdir()
            try:
                make(folder)
            except BaseException:  # a skip, too: the next process that needs it gets the same answer
                shutil.rmtree(folder)
                raise
            complete.touch()
    return folder
