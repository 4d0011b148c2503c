"""A real browser for tests, and pages that remember what went wrong in them."""

import os
import re
import shutil
from contextlib import contextmanager

import httpx2
import pytest
from playwright.sync_api import expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REQUIRED = "RETAINER_BROWSER"
"""Set it to "required", as .ci/run does, and a missing browser is a failure."""

EVIL_TYPE = '<img src="x" onerror="window.hurt=1">\u202egnp'
"""A type whose name is markup, and reverses what follows it."""
MARKUP_NAME = "<u>v3<script>window.hurt()"
"""The name of a version."""
TEXT = "play songs by boston on the drive to paris"

WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""


def chromium():
    """Where the browser is; without one the tests are skipped, or fail if a browser is required."""
    found = next((place for name in NAMES if (place := shutil.which(name))), None)
    if found is None:
        missing = f"no browser: none of {', '.join(NAMES)} is on the PATH (Debian: apt-get install chromium)"
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(missing)
        pytest.skip(missing)
    return found


@contextmanager
def browser():
    """A browser without windows. Chromium's sandbox refuses to run as root."""
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    place = chromium()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=place, args=options)
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def tab(opened, address, *, fine=(), **options):
    """A page in a context of its own. At the end nothing must have failed but what is ``fine``."""
    options = {"reduced_motion": "reduce", "viewport": {"width": 1100, "height": 900}, **options}
    context = opened.new_context(**options)
    context.add_init_script(WATCH)
    page = context.new_page()
    page.set_default_timeout(10_000)
    wrong = []
    page.on("console", lambda one: wrong.append(one.text) if one.type in ("error", "warning") else None)
    page.on("pageerror", lambda one: wrong.append(str(one)))
    requested = []
    page.on("request", lambda one: requested.append(one.url))
    try:
        page.goto(f"{address}/")
        yield page
        assert page.evaluate("window.violations") == []
        assert [one for one in wrong if not any(part in one for part in fine)] == []
        assert [url for url in requested if not url.startswith((f"{address}/", "blob:"))] == []
    finally:
        context.close()


def api(server, path, **request):
    """What the server answers to the same request, asked without the page."""
    response = httpx2.post(f"{server.address}/v1/{path}", json=request, timeout=60)
    assert response.status_code == 200, response.text
    return response.json()


def show(page, text, view="find"):
    """Show a text in a view, and wait for the result."""
    if not page.locator(f"#{view}").is_visible():
        page.click(f"nav a[href='#{view}']")
    page.fill("#text", text)
    page.click("#go")
    page.wait_for_selector(f"#{view}-results .card, #{view}-alert:not(:empty)")


def drawn(page, view, nth=0):
    """The entities of a text on the page: words and types."""
    return (
        page.locator(f"#{view}-results .text")
        .nth(nth)
        .evaluate(
            "text => [...text.querySelectorAll('.entity')]"
            ".map(one => [one.querySelector('.words').textContent, one.querySelector('bdi').textContent])"
        )
    )


def plain(page, view):
    """The texts on the page, without what is written beside their entities."""
    return page.locator(f"#{view}-results .text").evaluate_all(
        "all => all.map(text => { const copy = text.cloneNode(true);"
        " copy.querySelectorAll('.chip').forEach(one => one.remove()); return copy.textContent; })"
    )


def found(server, version, text):
    """The entities that a version finds: words and types."""
    [result] = api(server, "predict", texts=[text], version=version)["results"]
    return [[one["word"], one["entity_group"]] for one in result["entities"]]


def put(tmp_path, content, name="texts.txt"):
    """Write a file to open on the page."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


LUMINANCE = r"""
() => {
  const number = (part) => { const c = part / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const parse = (colour) => { const p = colour.match(/[\d.]+/g).map(Number); return [p[0], p[1], p[2], p[3] ?? 1]; };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = (c) => 0.2126 * number(c[0]) + 0.7152 * number(c[1]) + 0.0722 * number(c[2]);
  const behind = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) layers.unshift(parse(getComputedStyle(one).backgroundColor));
    return layers.reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim();
    const element = walker.currentNode.parentElement;
    if (!text || element.closest("option, noscript, [disabled]") || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const ground = behind(element);
    const svg = element instanceof SVGElement;
    const ink = over(parse(svg ? style.fill : style.color), ground);
    const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), text.slice(0, 40), element.className.baseVal ?? element.className]);
  }
  return found;
}
"""
"""The contrast of every visible piece of text, with what it says and the class of its element."""


def contrasts(page):
    """All contrasts of a page."""
    return [(round(ratio, 2), text, style) for ratio, text, style in page.evaluate(LUMINANCE)]


@contextmanager
def another_text(page):
    """Do what brings another text of a workbench, and wait for it: what is said of this one may change before."""
    number = page.inner_text("#look-state").split()[1].rstrip(",")
    yield
    expect(page.locator("#look-state")).not_to_have_text(re.compile(rf"Text {number}\b"))
