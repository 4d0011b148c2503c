"""A server that stops, is busy, fails or needs a token: the page says so and loses nothing."""

import json

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
