"""The address of a server: a port that is taken before anything is loaded, and how it is written down."""

from __future__ import annotations

import socket

from retainer.errors import InputError

BACKLOG = 2048
"""Connections that the system holds until they are accepted."""


def bind_socket(host: str, port: int) -> socket.socket:
    """Take a port before any version is loaded; it does not listen yet."""
    if not 0 <= port < 2**16:
        raise InputError(f"--port {port}: expected 0 to 65535")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"cannot listen on {host}, port {port}: {reason}; choose others with --host and --port"
        ) from None
    return bound


def socket_url(bound: socket.socket) -> str:
    """Return the address of a bound socket as a URL."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def started_line(names: str, url: str) -> str:
    """Return the line that says what is served where."""
    return f"retainer: serving {names} on {url}, API at {url}/docs, page at {url}/"
