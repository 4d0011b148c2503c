"""The clock of a project: one place to read the time, so that all records write it alike."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> str:
    """Return the time as it is recorded: UTC, to the second. Order comes from numbers, never from the clock."""
    return datetime.now(UTC).isoformat(timespec="seconds")
