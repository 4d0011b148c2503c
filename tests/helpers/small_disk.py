"""A real disk that is soon full: a small file system in memory, where the tests may mount one."""

import contextlib
import subprocess

import pytest


class SmallDisk:
    """A folder on a file system of its own, and a file that takes what room is left."""

    def __init__(self, folder):
        self.folder, self._ballast = folder, folder / "ballast"

    def fill(self, leave=0):
        """Take all room but some bytes."""
        with self._ballast.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        if leave:
            with self._ballast.open("ab") as file:
                file.truncate(max(0, self._ballast.stat().st_size - leave))

    def make_room(self):
        self._ballast.unlink(missing_ok=True)


@contextlib.contextmanager
def small_disk(folder, megabytes):
    """Mount a small disk; where that is not allowed, the test is skipped and says so."""
    folder.mkdir()
    call = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"a real full disk needs the right to mount one: {done.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
