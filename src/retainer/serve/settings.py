"""What a server allows: which clients, how much, how long. The defaults are safe."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, fields
from pathlib import Path

from retainer.errors import InputError

MIN_TOKEN_LENGTH = 16
"""Characters; a shorter token can be guessed."""
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
"""The names by which a browser on this machine reaches the server."""

_ORIGIN = re.compile(r"https?://[A-Za-z0-9.\-]+(:\d+)?|https?://\[[0-9A-Fa-f:]+\](:\d+)?")


@dataclass(frozen=True)
class Limits:
    """How much a client may ask for. Asking for more ends in an error that says so, never in a stalled server."""

    body: int = 2**20
    """Bytes per request."""
    texts: int = 256
    """Texts per request."""
    characters: int = 50_000
    """Characters per text."""
    requests: int = 256
    """Requests being read or computed at once; the next client is asked to retry."""
    answer_seconds: float = 30.0
    """How long the answer may take once the request has been read."""
    receive_seconds: float = 10.0
    """How long a client may take to send the head of a request, and again to send its body."""
    connections: int = 1024
    """Open connections, idle ones included; fewer where the system allows too few file descriptors."""
    stalled_seconds: float = 10.0
    """How long a client may take nothing of an answer that waits for it."""

    def __post_init__(self) -> None:
        """Refuse limits that would refuse every request."""
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise InputError(f"a limit must be above 0, not {getattr(self, field.name)} ({field.name})")


@dataclass(frozen=True)
class Settings:
    """All that a server needs to know besides the versions."""

    limits: Limits = Limits()
    token: str = ""
    """What a client must show; empty if no token is needed."""
    origins: tuple[str, ...] = ()
    """Other origins whose pages may send requests (CORS)."""
    hosts: tuple[str, ...] = ()
    """The host names of the server; empty for any. They stop a page elsewhere whose own name points to this machine."""
    label_studio: bool = False
    """Whether it is an ML backend of Label Studio too."""

    def __post_init__(self) -> None:
        """Refuse origins that a browser would never send."""
        for origin in self.origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise InputError(
                    f"{origin!r} is not an origin; expected http:// or https://, a host and perhaps a port"
                )


MAKE_TOKEN = '(umask 077; python -c "import secrets; print(secrets.token_urlsafe())" > {})'
"""The command that makes the file of a token, which nobody else can read."""


def read_token(path: str) -> str:
    """Read a token from a file: one line that fits into a header."""
    try:
        token = Path(path).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise InputError(
            f"there is no file {path}; make one with a token of your own: {MAKE_TOKEN.format(path)}"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} holds characters beyond ASCII, which a header cannot hold") from None
    if len(token) < MIN_TOKEN_LENGTH or not re.fullmatch(r"[!-~]+", token):
        raise InputError(f"{path} must hold one token of at least {MIN_TOKEN_LENGTH} characters without spaces")
    return token


def host_names(host: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names to answer to: the local ones if only this machine can connect, and the allowed ones."""
    if is_local(host):
        return (*LOCAL_HOSTS, *(name.lower() for name in allowed))
    return tuple(name.lower() for name in allowed)


def is_local(host: str) -> bool:
    """Return whether an address can be reached from this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
