"""What the event loop and uvicorn report, one line each and not too many: a client must not be able to fill a disk."""

from __future__ import annotations

import logging
import os
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LINES_PER_PERIOD = 5
PERIOD_SECONDS = 10.0
LABEL_STUDIO_LOGGER = "retainer.label_studio"
LOGGERS = ("asyncio", "uvicorn.error", LABEL_STUDIO_LOGGER)


class ErrorLog(logging.Handler):
    """Passes a few records per period on to the server's log and counts the others."""

    def __init__(self, log: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        """Start with a fresh period."""
        super().__init__(logging.ERROR)
        self._log, self._clock = log, clock
        self._began, self._seen = clock(), 0

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record, unless the period has had its share."""
        if self._clock() - self._began >= PERIOD_SECONDS:
            self.flush()
        self._seen += 1
        if self._seen <= LINES_PER_PERIOD:
            self._log(_one_line(record))

    def flush(self) -> None:
        """Say how many records were left out, and begin a new period."""
        if self._seen > LINES_PER_PERIOD:
            self._log(f"retainer: {self._seen - LINES_PER_PERIOD} more errors were not logged")
        self._began, self._seen = self._clock(), 0


@contextmanager
def error_log(log: Callable[[str], None]) -> Iterator[None]:
    """Take over the loggers of the event loop and of uvicorn while a server runs."""
    handler = ErrorLog(log)
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [one.propagate for one in loggers]
    for one in loggers:
        one.addHandler(handler)
        one.propagate = False
    try:
        yield
    finally:
        for one, propagates in zip(loggers, before, strict=True):
            one.removeHandler(handler)
            one.propagate = propagates
        handler.flush()


def _one_line(record: logging.LogRecord) -> str:
    """Return a record without its traceback, and without the message of an error other than the system's own.

    Such a message may hold a text of a client.
    """
    error = record.exc_info[1] if record.exc_info else None
    if os.environ.get("RETAINER_DEBUG") and error is not None:
        return "".join(traceback.format_exception(error))
    said = record.getMessage().partition("\n")[0]
    if error is None:
        return f"retainer: {said}"
    return f"retainer: {said}: {error.strerror if isinstance(error, OSError) else type(error).__name__}"
