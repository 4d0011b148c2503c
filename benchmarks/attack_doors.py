"""A door of a server, attacked as all doors are: by strangers, and with bodies of every bad kind; nothing may change.

Not a program: attack_project.py and attack_label_studio.py say which routes, whose word counts, and what could change.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from attack_http import Attack, Server, Sizes, answered, request, statuses

TOKEN = "the-token-of-the-attacks"
BEARER = f"Authorization: Bearer {TOKEN}"
STRANGERS = (
    ("X-Nothing: 1",),
    ("Authorization: Bearer",),
    ("Authorization: Bearer wrong-token-of-some-length",),
    (f"Authorization: Bearer {TOKEN[:-1]}",),
    (f"Authorization: Bearer {TOKEN}x",),
    (f"Authorization: Bearer {TOKEN.upper()}",),
    (f"Authorization: Token {TOKEN}",),
    (f"Cookie: token={TOKEN}", f"X-Token: {TOKEN}"),
)
"""Heads of those who do not have the token, or send it some other way."""
MALFORMED = (
    b"[" * 500_000,
    b'{"who": ' * 10_000,
    b"[]",
    b"null",
    b'"texts"',
    b'{"who": 1e400}',
    b'{"who": "a"',
    b"{'who': 'a'}",
    b"\xff\xfe\x00",
    '{"who": "a"}'.encode("utf-16"),
    json.dumps({str(number): 1 for number in range(90_000)}, separators=(",", ":")).encode(),
    b'{"\\ud800": 1}',
)
"""Bodies that no route can take."""
Document = dict[str, Any]


def document_of(said: bytes) -> Any:
    """Return the body of an answer."""
    return json.loads(said.partition(b"\r\n\r\n")[2] or b"{}")


@dataclass(frozen=True)
class Door:
    """Some routes of a server."""

    owns: Callable[[str], bool]
    """Whether a path is one of them."""
    state: Callable[[Server], object]
    """Returns what a client could have changed."""
    least: int
    """Routes that there must be: an attack on none would stop nothing."""
    strangers: tuple[tuple[str, ...], ...] = STRANGERS

    def routes(self, server: Server) -> Iterator[tuple[str, str]]:
        """Yield the method and the path of every route, as the server documents them."""
        for path, methods in document_of(server.send(request("GET", "/openapi.json")))["paths"].items():
            if self.owns(path):
                yield from ((method.upper(), re.sub(r"\{\w+\}", "1", path)) for method in methods)

    def posts(self, server: Server) -> list[str]:
        """Return the paths that take a body."""
        return [path for method, path in self.routes(server) if method == "POST"]

    def unchanged(self, attack: Attack) -> Attack:
        """Return an attack after which all must be as it was."""

        def run(server: Server, sizes: Sizes) -> tuple[bool, str]:
            before = self.state(server)
            well, seen = attack(server, sizes)
            same = self.state(server) == before
            return well and same, seen + ("" if same else ", something changed")

        return run

    def without_token(self, server: Server, sizes: Sizes) -> tuple[bool, str]:
        """Read and write through every route without the token."""
        tried = list(self.routes(server))
        asked = [
            request(method, path + query, b"{}" if method == "POST" else b"", *headers)
            for method, path in tried
            for headers, query in [*((headers, "") for headers in self.strangers), ((), f"?token={TOKEN}")]
        ]
        well, seen = self.unchanged(answered("401", *asked))(server, sizes)
        return well and len(tried) >= self.least, f"{seen} on {len(tried)} routes"

    def every_post(self, expected: str, *bodies: bytes, kind: str = "application/json", host: str = "") -> Attack:
        """Return an attack with bodies on every route that takes one."""

        def run(server: Server, sizes: Sizes) -> tuple[bool, str]:
            paths = self.posts(server)
            heads = (BEARER, *([f"Host: {host}"] if host else []))
            asked = [request("POST", path, body, *heads, kind=kind) for path in paths for body in bodies]
            well, seen = self.unchanged(answered(expected, *asked, seconds=10))(server, sizes)
            return well and bool(paths), f"{seen} on {len(paths)} routes"

        return run

    def slow_bodies(self, server: Server, sizes: Sizes) -> tuple[bool, str]:
        """Declare a body for every route that takes one, and send none of it."""
        asked = [request("POST", path, b" ", BEARER, "Content-Length: 1000") for path in self.posts(server)]
        with ThreadPoolExecutor(len(asked)) as pool:
            seen = Counter(statuses(said) or "closed" for said in pool.map(server.send, asked))
        return set(seen) == {"408"}, ", ".join(f"{number} x {what}" for what, number in seen.items())
