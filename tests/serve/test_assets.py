"""The files of the page: how they are served, and what must never stand in them."""

import asyncio
import re
from importlib.resources import files

import pytest
from serving import serving

from retainer.serve.assets import asset_paths
from retainer.serve.settings import Settings

FOLDER = files("retainer.serve").joinpath("page")
STORED = sorted((one for one in FOLDER.iterdir()), key=lambda one: one.name)
SCRIPTS = [one for one in STORED if one.name.endswith(".js")]
NAMES = [one.name for one in SCRIPTS]


def asked(place, ask, settings=None):
    async def run():
        async with serving({"v1": place}, settings) as (client, _):
            return await ask(client)

    return asyncio.run(run())


def test_every_file_has_its_kind_and_is_looked_at_again_when_it_changed(first, tmp_path):
    first.save(tmp_path / "v1")
    kinds = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}
    kinds |= {"js": "text/javascript; charset=utf-8", "json": "application/json"}

    async def ask(client):
        for address in asset_paths():
            answer = await client.get(address)
            suffix = "html" if address == "/" else address.rpartition(".")[2]
            assert (answer.status_code, answer.headers["content-type"]) == (200, kinds[suffix]), address
            assert answer.headers.get_list("cache-control") == ["no-cache"]
            assert "script-src 'self'; style-src 'self'" in answer.headers["content-security-policy"]
            again = await client.get(address, headers={"If-None-Match": f'"other", W/{answer.headers["etag"]}'})
            assert (again.status_code, again.content) == (304, b"")
            other = await client.get(address, headers={"If-None-Match": '"other"'})
            assert other.content == answer.content != b""
            head = await client.head(address)
            assert (head.status_code, head.content) == (200, b"")
        return {address: (await client.get(address)).content for address in asset_paths()}

    got = asked(tmp_path / "v1", ask, Settings(token="a-token-of-sixteen-characters"))  # the page itself needs none
    assert got["/"] == FOLDER.joinpath("index.html").read_bytes()
    assert all(got[f"/page/{one.name}"] == one.read_bytes() for one in STORED if one.name != "index.html")


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
def test_no_other_file_can_be_had(first, tmp_path, path):
    first.save(tmp_path / "v1")

    async def ask(client):
        return await client.request("GET", f"http://127.0.0.1{path}")

    answer = asked(tmp_path / "v1", ask)
    assert answer.status_code == 404 and answer.json()["error"]["code"] == "not_found"


def test_api_answers_are_not_kept(first, tmp_path):
    first.save(tmp_path / "v1")
    answer = asked(tmp_path / "v1", lambda client: client.get("/v1/versions"))
    assert answer.headers.get_list("cache-control") == ["no-store"]


FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|createContextualFragment|DOMParser"
    r"|setHTML|srcdoc|localStorage|sessionStorage|document\.cookie|indexedDB|javascript:"
)


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_a_script_makes_no_markup_and_keeps_nothing(script):
    text = script.read_text(encoding="utf-8")
    assert FORBIDDEN.findall(text) == []
    assert re.findall(r"https?://[^\s\"']+", text) in ([], ["http://www.w3.org/2000/svg"])


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_a_script_is_small_and_says_what_it_is(script):
    lines = script.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("/**")
    assert len(lines) <= 200 and max(map(len, lines)) <= 120


def test_every_script_is_used_and_every_import_is_there():
    """An import that misses its file would only be seen in a browser."""
    named = {"main.js"}
    for script in SCRIPTS:
        named |= set(re.findall(r'from "\./([\w.]+)"', script.read_text(encoding="utf-8")))
    assert named == set(NAMES)


def test_the_front_holds_no_script_and_no_style_of_its_own():
    html = FOLDER.joinpath("index.html").read_text(encoding="utf-8")
    assert re.findall(r"<style|style=|\son\w+=|https?:", html) == []
    assert re.findall(r"<script[^>]*>(.*?)</script>", html, re.DOTALL) == [""]
    ids = re.findall(r'id="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    linked = set(re.findall(r'(?:href|src)="page/([^"]+)"', html))
    assert {f"/page/{name}" for name in linked} <= set(asset_paths())


def test_the_keys_are_in_the_manual():
    from pathlib import Path

    manual = (Path(__file__).parents[2] / "docs" / "page.md").read_text(encoding="utf-8")
    html = FOLDER.joinpath("index.html").read_text(encoding="utf-8")
    for key in set(re.findall(r'aria-keyshortcuts="([^"]+)"', html)):
        told = key.replace("Arrow", "").replace("Left", "←").replace("Right", "→").replace("Shift+", "Shift ")
        assert f"`{told}`" in manual, key
