"""File descriptors: every connection takes one, so the system's limit bounds how many connections can be open."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, replace

from retainer.errors import InputError
from retainer.serve.settings import Limits

ACCEPTS_PER_TURN = 8
"""Connections that are accepted before the event loop turns to others."""
REFUSED_AT_ONCE = 64
"""Connections above the limit that are answered 503 at the same time; any further one is closed unanswered."""
RESERVED = REFUSED_AT_ONCE + 4 * ACCEPTS_PER_TURN + 64
"""Descriptors that admitted connections leave to others: refused ones, those being accepted, and files."""
FEWEST_CONNECTIONS = 16
"""A server that could hold fewer open does not start."""


@dataclass(frozen=True)
class DescriptorLimit:
    """How many descriptors this process may have open, and how many it has."""

    allowed: int
    """Of the system; 0 if there is no limit, or none that can be known."""
    used: int

    @property
    def room(self) -> int | None:
        """The connections that may be open at once; None if the system sets no limit."""
        return self.allowed - self.used - RESERVED if self.allowed else None


def raise_limit(connections: int) -> DescriptorLimit:
    """Ask the system for as many descriptors as these connections need, as far as it lets a user go."""
    used = _open_descriptors()
    try:
        import resource
    except ImportError:  # Windows
        return DescriptorLimit(0, used)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = used + connections + RESERVED
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):  # then the lower limit holds
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return DescriptorLimit(0 if soft == resource.RLIM_INFINITY else soft, used)


def within_descriptors(limits: Limits, found: DescriptorLimit) -> Limits:
    """Lower the limit of connections to what the descriptors allow: without any left, nobody is even refused."""
    if found.room is None or found.room >= limits.connections:
        return limits
    if found.room < min(FEWEST_CONNECTIONS, limits.connections):
        raise InputError(
            f"this process may open {found.allowed} files and connections, too few to serve; "
            f"allow {found.used + RESERVED + limits.connections} (ulimit -n, or LimitNOFILE of systemd)"
        )
    return replace(limits, connections=found.room)


def describe_limits(limits: Limits, found: DescriptorLimit) -> str:
    """Say in one line what the server allows."""
    files = f", {found.allowed} file descriptors" if found.allowed else ""
    return (
        f"limits: {limits.connections} connections, {limits.requests} requests at once, {limits.body} bytes a request, "
        f"{limits.receive_seconds:g} s to send it, {limits.stalled_seconds:g} s without reading the answer{files}"
    )


def _open_descriptors() -> int:
    for folder in ("/proc/self/fd", "/dev/fd"):
        with contextlib.suppress(OSError):
            return len(os.listdir(folder))
    return 64
