"""Folders that one process of a test run makes, and all of them use."""

import os

from filelock import FileLock


def made_once(tmp_path_factory, name, make):
    """Return a folder that ``make`` has filled; under pytest-xdist whichever process needs it first makes it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    complete = folder.with_name(f"{name}.complete")
    with FileLock(folder.with_name(f"{name}.lock")):
        if not complete.exists():
            assert not folder.exists(), f"{name} is needed here, and making it failed before"
            folder.mkdir()
            make(folder)
            complete.touch()
    return folder
