"""What a server allows: to whom, how much, how long. Safe where nothing was said."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, fields
from pathlib import Path

from retainer.errors import InputError

LEAST_TOKEN = 16
"""Characters; a shorter token can be guessed."""
LOCAL = ("localhost", "127.0.0.1", "[::1]")
"""What a browser on this machine may call us by."""

_ORIGIN = re.compile(r"https?://[A-Za-z0-9.\-]+(:\d+)?|https?://\[[0-9A-Fa-f:]+\](:\d+)?")


@dataclass(frozen=True)
class Limits:
    """How much one may ask for. Whoever asks for more gets an answer that says so, never a stalled server."""

    body: int = 2**20
    """Bytes of a request."""
    texts: int = 256
    """Texts of a request."""
    characters: int = 50_000
    """Characters of a text."""
    requests: int = 256
    """Requests at once, read or worked on; the next one is told to come again."""
    seconds: float = 30.0
    """What a request may take from the moment it was read."""
    slow: float = 10.0
    """Seconds a client may take to send the head of a request, and again for its body."""
    connections: int = 1024
    """Open connections, idle ones included."""

    def __post_init__(self) -> None:
        """Refuse limits under which nothing would work."""
        for one in fields(self):
            if not getattr(self, one.name) > 0:
                raise InputError(f"a limit must be above 0, not {getattr(self, one.name)} ({one.name})")


@dataclass(frozen=True)
class Settings:
    """All a server needs to know besides the versions."""

    limits: Limits = Limits()
    token: str = ""
    """What a client must show; empty where anybody may ask."""
    origins: tuple[str, ...] = ()
    """Where else pages may come from that ask us (CORS)."""
    hosts: tuple[str, ...] = ()
    """The names we answer to; empty for any. Without it a stranger's page could make its own name mean this machine."""

    def __post_init__(self) -> None:
        """Refuse origins a browser would never send."""
        for origin in self.origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise InputError(f"{origin!r} is no origin; expected http:// or https://, a host and perhaps a port")


def read_token(path: str) -> str:
    """Read a token from a file: one line that a header can hold."""
    try:
        token = Path(path).read_text(encoding="ascii").strip()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} holds more than ASCII, which no header can") from None
    if len(token) < LEAST_TOKEN or not re.fullmatch(r"[!-~]+", token):
        raise InputError(f"{path} must hold one token of at least {LEAST_TOKEN} characters without blanks")
    return token


def names_of(host: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names to answer to: those of this machine where only it can reach us, and those allowed besides."""
    if is_local(host):
        return (*LOCAL, *(name.lower() for name in allowed))
    return tuple(name.lower() for name in allowed)


def is_local(host: str) -> bool:
    """Tell whether an address is reached from this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
