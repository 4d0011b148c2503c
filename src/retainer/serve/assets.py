"""The page at /: plain files of this package, each under an address of its own, and nothing else.

A request never becomes a path. What can be had is listed once, at the start; every other address is a stranger's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Request, Response

from retainer.report.draw import theme
from retainer.serve.settings import Settings

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
FRONT = "index.html"
LOOKS = 42
"""Types that look different from each other; then colours, dashes and markers begin again."""


@dataclass(frozen=True)
class Asset:
    """A file as it goes out."""

    body: bytes
    kind: str
    tag: str
    """Its ETag: a browser that has it already gets no body."""


def addresses() -> tuple[str, ...]:
    """Return all addresses of the page. Nothing there is secret, so none needs a token."""
    return tuple(_address(name) for name in (*_stored(), *_made(Settings())))


def assets(settings: Settings) -> APIRouter:
    """Return the routes of the page."""
    router = APIRouter(include_in_schema=False)
    for name, body in {**_stored(), **_made(settings)}.items():
        _add(router, name, body)
    return router


def _add(router: APIRouter, name: str, body: bytes) -> None:
    asset = Asset(body, KINDS["." + name.rpartition(".")[2]], f'"{hashlib.sha256(body).hexdigest()[:32]}"')

    async def answer(request: Request) -> Response:
        headers = {"ETag": asset.tag, "Cache-Control": "no-cache"}
        if _has(request.headers.get("if-none-match", ""), asset.tag):
            return Response(status_code=304, headers=headers)
        return Response(asset.body, headers=headers, media_type=asset.kind)

    router.add_api_route(_address(name), answer, methods=["GET", "HEAD"])


def _has(shown: str, tag: str) -> bool:
    """Tell whether a browser shows the tag of what we would send."""
    return any(one.strip().removeprefix("W/") in (tag, "*") for one in shown.split(","))


def _address(name: str) -> str:
    return "/" if name == FRONT else f"/page/{name}"


@cache
def _stored() -> Mapping[str, bytes]:
    """Read the files of the page: a few dozen kilobytes."""
    folder = files("retainer.serve").joinpath("page")
    return {one.name: one.read_bytes() for one in sorted(folder.iterdir(), key=lambda one: one.name) if one.is_file()}


def _made(settings: Settings) -> dict[str, bytes]:
    """Return what is not written down twice: the colours of the reports, and the limits of this server."""
    style = (
        f":root {{ {theme.variables(theme.LIGHT)} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {theme.variables(theme.DARK)} }} }}\n"
        f"@media print {{ :root {{ {theme.variables(theme.LIGHT)} }} }}\n"
        f"{theme.classes()}\n{theme.hue_strokes()}\n"
    )
    looks = [{"hue": theme.hue(at), "dash": theme.dash(at), "marker": theme.marker(at)} for at in range(LOOKS)]
    limits = {**asdict(settings.limits), "token": bool(settings.token)}
    return {
        "theme.css": style.encode(),
        "looks.json": json.dumps(looks).encode(),
        "limits.json": json.dumps(limits).encode(),
    }
