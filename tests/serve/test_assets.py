"""The files of the page: how they are served, and what must never stand in them."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from retainer.serve.assets import asset_paths
from retainer.serve.settings import Settings

FOLDER = files("retainer.serve").joinpath("page")
STORED = sorted((one for one in FOLDER.iterdir()), key=lambda one: one.name)
SCRIPTS = [one for one in STORED if one.name.endswith(".js")]
NAMES = [one.name for one in SCRIPTS]


MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
}


def test_every_file_has_its_media_type_and_is_sent_again_when_it_changed(applications):
    settings = Settings(token="a-token-of-sixteen-characters")  # the page itself needs none
    bodies = {}
    for path in asset_paths():
        suffix = "html" if path == "/" else path.rpartition(".")[2]
        full = applications.ask("GET", path, settings)
        assert (full.status_code, full.headers["content-type"]) == (200, MEDIA_TYPES[suffix]), path
        assert full.headers.get_list("cache-control") == ["no-cache"]
        assert "script-src 'self'; style-src 'self'" in full.headers["content-security-policy"]
        known, other, head = applications.ask_all(
            [
                ("GET", path, {"headers": {"If-None-Match": f'"other", W/{full.headers["etag"]}'}}),
                ("GET", path, {"headers": {"If-None-Match": '"other"'}}),
                ("HEAD", path, {}),
            ],
            settings,
        )
        assert (known.status_code, known.content) == (304, b"")
        assert other.content == full.content != b""
        assert (head.status_code, head.content) == (200, b"")
        bodies[path] = full.content
    assert bodies["/"] == FOLDER.joinpath("index.html").read_bytes()
    assert all(bodies[f"/page/{one.name}"] == one.read_bytes() for one in STORED if one.name != "index.html")


@pytest.mark.parametrize(
    "path",
    [
        "/page/",
        "/page",
        "/page/index.html",
        "/page/../app.py",
        "/page/%2e%2e/app.py",
        "/page/..%2fapp.py",
        "/page//etc",
    ],
)
def test_no_other_file_is_sent(applications, path):
    response = applications.ask("GET", f"http://127.0.0.1{path}")
    assert response.status_code == 404 and response.json()["error"]["code"] == "not_found"


def test_responses_of_the_api_are_not_stored(applications):
    assert applications.ask("GET", "/v1/versions").headers.get_list("cache-control") == ["no-store"]


FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|createContextualFragment|DOMParser"
    r"|setHTML|srcdoc|localStorage|sessionStorage|document\.cookie|indexedDB|javascript:"
)


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_a_script_makes_no_markup_and_stores_nothing(script):
    text = script.read_text(encoding="utf-8")
    assert FORBIDDEN.findall(text) == []
    assert re.findall(r"https?://[^\s\"']+", text) in ([], ["http://www.w3.org/2000/svg"])


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_a_script_is_small_and_says_what_it_is(script):
    lines = script.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("/**")
    assert len(lines) <= 200 and max(map(len, lines)) <= 120


def test_every_script_is_used_and_every_import_is_there():
    """An import of a missing file would only be noticed in a browser."""
    imported = {"main.js"}
    for script in SCRIPTS:
        imported |= set(re.findall(r'from "\./([\w.]+)"', script.read_text(encoding="utf-8")))
    assert imported == set(NAMES)


def test_the_index_holds_no_script_and_no_style_of_its_own():
    html = FOLDER.joinpath("index.html").read_text(encoding="utf-8")
    assert re.findall(r"<style|style=|\son\w+=|https?:", html) == []
    assert re.findall(r"<script[^>]*>(.*?)</script>", html, re.DOTALL) == [""]
    ids = re.findall(r'id="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    linked = set(re.findall(r'(?:href|src)="page/([^"]+)"', html))
    assert {f"/page/{name}" for name in linked} <= set(asset_paths())


def test_the_keys_are_in_the_manual():
    manual = (Path(__file__).parents[2] / "docs" / "page.md").read_text(encoding="utf-8")
    html = FOLDER.joinpath("index.html").read_text(encoding="utf-8")
    for key in set(re.findall(r'aria-keyshortcuts="([^"]+)"', html)):
        written = key.replace("Arrow", "").replace("Left", "←").replace("Right", "→").replace("Shift+", "Shift ")
        assert f"`{written}`" in manual, key
