"""A server that stops, is busy, fails or needs a token: the page says so and loses nothing."""

import asyncio
import json
import shutil

from browsing import TEXT, put, show, tab
from serving import served

from retainer.serve.settings import LOCAL_HOSTS, Settings

TOKEN = "a-token-of-sixteen-characters"


def test_a_server_that_stops(chromium, specs, tmp_path):
    with served(specs[1]) as server, tab(chromium, server.address, fine=["ERR_CONNECTION"]) as page:
        page.wait_for_selector("#find:not([hidden])")
        show(page, TEXT)
        server.stop()
        page.click("#go")
        page.wait_for_selector("#find-alert:has-text('The server cannot be reached')")
        assert page.input_value("#text") == TEXT
        page.click("nav a[href='#review']")
        page.set_input_files("#review-file", put(tmp_path, TEXT))
        page.wait_for_selector("#review-alert:has-text('The server cannot be reached')")


def answering(status, body):
    """Answer in place of the server."""
    return lambda route: route.fulfill(status=status, body=body)


def test_a_busy_or_broken_server(chromium, server):
    messages = {
        503: (
            {"error": {"code": "busy", "message": "too many requests at once"}},
            "is busy: too many requests at once.",
        ),
        504: ({"error": {"code": "timeout", "message": "it took long"}}, "took too long: it took long."),
        422: (
            {"error": {"code": "unknown_version", "message": "there is no such version"}},
            "refused: there is no such version.",
        ),
        500: ("<h1>nonsense</h1>", "The server failed (status 500)."),
    }
    with tab(chromium, server.address, fine=["Failed to load resource"]) as page:
        page.wait_for_selector("#find:not([hidden])")
        page.fill("#text", TEXT)
        for status, (body, words) in messages.items():
            content = body if isinstance(body, str) else json.dumps(body)
            page.route("**/v1/predict", answering(status, content))
            page.click("#go")
            page.wait_for_selector(f"#find-alert:has-text('{words}')")
            page.unroute("**/v1/predict")
        page.route("**/v1/predict", answering(200, '{"results": ['))
        page.click("#go")
        page.wait_for_selector("#find-alert:has-text('broke off')")


def test_a_token_is_asked_for_and_stored_nowhere(chromium, specs):
    with (
        served(specs[1], settings=Settings(token=TOKEN, hosts=LOCAL_HOSTS)) as server,
        tab(chromium, server.address, fine=["401"]) as page,
    ):
        page.wait_for_selector("#token[open]")
        page.keyboard.type("a-wrong-token-with-letters")
        page.keyboard.press("Enter")
        page.wait_for_selector("#token-wrong:has-text('not the token')")
        page.click("#token-cancel")
        page.wait_for_selector("#begin:has-text('This server needs a token')")
        page.click("#begin button")
        page.wait_for_selector("#token[open]")
        page.fill("#token-field", TOKEN)
        page.keyboard.press("Enter")
        page.wait_for_selector("#find:not([hidden])")
        show(page, TEXT)
        assert page.locator("#find-results .card").count() == 1
        kept = page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])")
        assert TOKEN not in kept and TOKEN not in page.content()
        page.reload()
        page.wait_for_selector("#token[open]")


def replace_by(server, folder, other):
    """Put another version into a folder that is served, and have the server load it."""
    shutil.rmtree(folder)
    shutil.copytree(other, folder)
    done = asyncio.run_coroutine_threadsafe(server.registry.reload(), server.server.loop).result(30)
    assert list(done.values()) == ["swapped"]


def test_a_swap_while_the_page_is_open(chromium, specs, tmp_path):
    """A page in use hears of it with the next answer, an idle one when somebody looks at it."""
    folder = shutil.copytree(specs[0], tmp_path / "current")
    with served(folder) as server, tab(chromium, server.address) as page, tab(chromium, server.address) as idle:
        for one in (page, idle):
            one.wait_for_selector("#find:not([hidden])")
            show(one, TEXT)
            one.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        replace_by(server, folder, specs[1])
        assert not page.locator("#swapped").is_visible()
        page.click("#go")
        idle.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        for one in (page, idle):
            one.wait_for_selector("#swapped:has-text('current was replaced while this page was open')")
        page.click("#swapped button")
        page.wait_for_selector("#find:not([hidden])")
        show(page, TEXT)
        assert not page.locator("#swapped").is_visible() and page.locator("#find-types label").count() == 2


def test_a_server_that_is_stopped_under_a_request(chromium, server):
    with tab(chromium, server.address, fine=["Failed to load resource"]) as page:
        page.wait_for_selector("#find:not([hidden])")
        page.route("**/v1/predict", answering(503, json.dumps({"error": {"code": "stopping", "message": "it ended"}})))
        page.fill("#text", TEXT)
        page.click("#go")
        page.wait_for_selector("#find-alert:has-text('The server was stopped before it could answer; nothing')")
