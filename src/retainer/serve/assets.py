"""The page at /: files of this package, each at an address of its own.

A request never becomes a path: all addresses are listed once, when the server starts, and any other one is not found.
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

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
INDEX_FILE = "index.html"
TYPE_STYLES = 42
"""Types that look different from each other; after these, colours, dashes and markers repeat."""


@dataclass(frozen=True)
class Asset:
    """A file as it is sent."""

    body: bytes
    media_type: str
    etag: str
    """Lets a browser that already has the file skip its body."""


def asset_paths() -> tuple[str, ...]:
    """Return all addresses of the page. Nothing there is secret, so they need no token."""
    return tuple(_path(name) for name in (*_stored_files(), *_generated_files(Settings())))


def asset_routes(settings: Settings, *, workbench: bool = False) -> APIRouter:
    """Return the routes of the page; with a ``workbench`` it shows a project."""
    router = APIRouter(include_in_schema=False)
    for name, body in {**_stored_files(), **_generated_files(settings, workbench)}.items():
        _add_route(router, name, body)
    return router


def _add_route(router: APIRouter, name: str, body: bytes) -> None:
    media_type = MEDIA_TYPES["." + name.rpartition(".")[2]]
    asset = Asset(body, media_type, f'"{hashlib.sha256(body).hexdigest()[:32]}"')

    async def send(request: Request) -> Response:
        headers = {"ETag": asset.etag, "Cache-Control": "no-cache"}
        if _matches(request.headers.get("if-none-match", ""), asset.etag):
            return Response(status_code=304, headers=headers)
        return Response(asset.body, headers=headers, media_type=asset.media_type)

    router.add_api_route(_path(name), send, methods=["GET", "HEAD"])


def _matches(if_none_match: str, etag: str) -> bool:
    """Return whether a browser already has the file with this tag."""
    return any(one.strip().removeprefix("W/") in (etag, "*") for one in if_none_match.split(","))


def _path(name: str) -> str:
    return "/" if name == INDEX_FILE else f"/page/{name}"


@cache
def _stored_files() -> Mapping[str, bytes]:
    """Read the files of the page: a few dozen kilobytes."""
    folder = files("retainer.serve").joinpath("page")
    return {
        file.name: file.read_bytes() for file in sorted(folder.iterdir(), key=lambda file: file.name) if file.is_file()
    }


def _generated_files(settings: Settings, workbench: bool = False) -> dict[str, bytes]:
    """Return the files that repeat what the code knows: the colours of the reports, the limits of this server."""
    style = (
        f":root {{ {theme.variables(theme.LIGHT)} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {theme.variables(theme.DARK)} }} }}\n"
        f"@media print {{ :root {{ {theme.variables(theme.LIGHT)} }} }}\n"
        f"{theme.classes()}\n{theme.hue_strokes()}\n"
    )
    styles = [{"hue": theme.hue(at), "dash": theme.dash(at), "marker": theme.marker(at)} for at in range(TYPE_STYLES)]
    limits = {**asdict(settings.limits), "token": bool(settings.token), "workbench": workbench}
    return {
        "theme.css": style.encode(),
        "type_styles.json": json.dumps(styles).encode(),
        "limits.json": json.dumps(limits).encode(),
    }
