"""Servers in the background: each in a session of its own, and ended with all it started, whatever happens."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

PATIENCE = 20.0
"""Seconds in which a process that was asked to end must have ended: a workbench keeps the last epoch of its job."""


@dataclass(frozen=True)
class Background:
    """A process that runs, and the file of what it says."""

    process: subprocess.Popen[bytes]
    log: Path

    def said(self) -> str:
        """Return all it has said so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, found: Callable[[], Any], seconds: float) -> Any:
        """Wait until something is there, and return it; a process that ends before is an error."""
        end = time.monotonic() + seconds
        while not (there := found()):
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.log.stem} ended with status {self.process.returncode}")
            if time.monotonic() > end:
                raise TimeoutError(f"{self.log.stem} was waited for {seconds:g} seconds in vain")
            time.sleep(0.2)
        return there

    def wait_for_line(self, pattern: str, seconds: float) -> str:
        """Wait until it says something, and return the first group of it."""
        return str(self.wait_for(lambda: re.search(pattern, self.said()), seconds)[1])


@contextmanager
def background(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> Iterator[Background]:
    """Run a command meanwhile."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**os.environ, **environment},
            cwd=log.parent,
            start_new_session=True,
        )
    try:
        yield Background(process, log)
    finally:
        end_session(process)


def end_session(process: subprocess.Popen[bytes]) -> None:
    """Ask a process and those it started to end, and kill what does not."""
    try:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@dataclass(frozen=True)
class Site:
    """What answers at an address of this machine, and what it wants to be shown."""

    address: str
    authorization: str

    def ask(self, method: str, path: str, document: object = None) -> Any:
        """Send a request, by no proxy, and return the document of the answer; a status of 400 and above is an error."""
        body = None if document is None else json.dumps(document).encode()
        heads = {"Authorization": self.authorization, "Content-Type": "application/json"}
        request = Request(self.address + path, body, heads, method=method)
        try:
            with build_opener(ProxyHandler({})).open(request, timeout=120) as answer:
                return json.loads(answer.read() or b"null")
        except HTTPError as error:
            said = error.read().decode(errors="replace")[:500]
            raise RuntimeError(f"{method} {path.partition('?')[0]}: status {error.code}, {said}") from None

    def answers(self, path: str) -> bool:
        """Say whether it can be asked yet."""
        try:
            self.ask("GET", path)
        except (URLError, OSError):
            return False
        return True
