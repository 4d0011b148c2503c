"""Stdout and stderr as they really are: closed, full, or read by somebody who leaves early.

- A reader that leaves (``| head``) has what it wants. What is printed after that goes nowhere, and the status of a verb
  is what it would have been.
- A stdout that cannot be written (a full disk) loses results, so it ends the verb with one sentence and status 2.
- A stderr that cannot be written loses remarks alone, so nothing happens.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from retainer.errors import InputError


class _Stream:
    """A stream that survives its other end; all but writing is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.left = stream, False

    def write(self, text: str) -> int:
        """Write a text; what the encoding cannot hold is written as an escape."""
        with self._survived():
            try:
                self.stream.write(text)
            except UnicodeEncodeError as error:
                self.stream.write(text.encode(error.encoding, "backslashreplace").decode(error.encoding))
        return len(text)

    def flush(self) -> None:
        """Hand over what was written."""
        with self._survived():
            self.stream.flush()

    @contextlib.contextmanager
    def _survived(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            _forget(self.stream)
            self._refused(error)

    def _refused(self, error: OSError) -> None:
        """Go on without the stream."""
        self.left = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _Results(_Stream):
    """Stdout, whose loss matters unless its reader is gone."""

    def _refused(self, error: OSError) -> None:
        if not isinstance(error, BrokenPipeError):
            raise InputError(f"stdout cannot be written: {error.strerror}") from error
        self.left = True


def _forget(stream: TextIO) -> None:
    """Let what a stream still holds go nowhere: Python would fail once more when it ends, and change the status."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextlib.contextmanager
def guarded_stderr() -> Iterator[None]:
    """Guard stderr as long as a verb runs."""
    before = sys.stderr
    with contextlib.ExitStack() as stack:
        stream = before or stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
        sys.stderr = _Stream(stream)
        try:
            yield
        finally:
            sys.stderr.flush()
            sys.stderr = before


@contextlib.contextmanager
def guarded_stdout() -> Iterator[None]:
    """Guard stdout as long as a verb runs; a closed one is refused, since the next file opened would take its place."""
    before = sys.stdout
    if before is None:
        raise InputError("stdout is closed, so there is nowhere to print to")
    sys.stdout = _Results(before)
    try:
        yield
    finally:
        try:
            sys.stdout.flush()
        finally:
            sys.stdout = before


def reader_left() -> bool:
    """Say whether nobody reads stdout any more, so that what is only printed need not be computed."""
    return bool(getattr(sys.stdout, "left", False))
