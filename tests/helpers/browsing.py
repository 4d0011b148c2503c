"""A real browser for tests, and pages that remember whatever went wrong in them."""

import asyncio
import os
import shutil
from contextlib import contextmanager
from threading import Thread

import pytest
import uvicorn
from playwright.sync_api import sync_playwright

from retainer.serve.app import application, busy_app
from retainer.serve.metrics import Metrics
from retainer.serve.model_paths import paths_by_name
from retainer.serve.registry import Registry
from retainer.serve.server import bind_socket, socket_url, uvicorn_config
from retainer.serve.settings import LOCAL_HOSTS, Settings

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REQUIRED = "RETAINER_BROWSER"
"""Set it to "required", as .ci/run does, and a missing browser is a failure."""

WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""


def chromium():
    """Where the browser is; without one the tests are skipped, unless somebody insists on it."""
    found = next((place for name in NAMES if (place := shutil.which(name))), None)
    if found is None:
        missing = f"no browser: none of {', '.join(NAMES)} is on the PATH (Debian: apt-get install chromium)"
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(missing)
        pytest.skip(missing)
    return found


class Served:
    """What `retainer serve` runs, in a thread of this process: no second one has to load torch."""

    def __init__(self, specs, settings):
        self.socket = bind_socket("127.0.0.1", 0)
        self.address = socket_url(self.socket)
        self.registry = Registry(paths_by_name(specs), Metrics(), lambda _: None, device="cpu")
        app = application(self.registry, settings, lambda _: None)
        self.server = uvicorn.Server(uvicorn_config(app, busy_app(self.registry), settings))
        self.thread = Thread(target=lambda: asyncio.run(self.server.serve(sockets=[self.socket])), daemon=True)
        self.thread.start()

    def stop(self):
        """End it; the browser's connections are closed, and nobody listens any more."""
        self.server.should_exit = self.server.force_exit = True
        self.thread.join(10)
        self.socket.close()
        self.registry.close(seconds=5)


@contextmanager
def served(*specs, token=""):
    """Serve versions at an address of this machine."""
    running = Served(specs, Settings(token=token, hosts=LOCAL_HOSTS))
    try:
        yield running
    finally:
        running.stop()


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
    """A page in a browser of its own. At the end nothing must have failed but what is ``fine``."""
    options = {"reduced_motion": "reduce", "viewport": {"width": 1100, "height": 900}, **options}
    context = opened.new_context(**options)
    context.add_init_script(WATCH)
    page = context.new_page()
    page.set_default_timeout(10_000)
    wrong = []
    page.on("console", lambda one: wrong.append(one.text) if one.type in ("error", "warning") else None)
    page.on("pageerror", lambda one: wrong.append(str(one)))
    asked = []
    page.on("request", lambda one: asked.append(one.url))
    try:
        page.goto(f"{address}/")
        yield page
        assert page.evaluate("window.violations") == []
        assert [one for one in wrong if not any(part in one for part in fine)] == []
        assert [url for url in asked if not url.startswith((f"{address}/", "blob:"))] == []
    finally:
        context.close()


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
"""The contrast of every piece of text that is seen, with what it says and the class of its element."""


def contrasts(page):
    """All contrasts of a page."""
    return [(round(ratio, 2), text, style) for ratio, text, style in page.evaluate(LUMINANCE)]
