"""Make the pictures of docs/workbench.md and README: from a text file to a better model, as a person would do it.

    python benchmarks/workbench.py docs

The built-in encoder learns cities from 160 texts and then artists from 160 others, five epochs each: some minutes on
two cores. The first text is decided on the page; of the others the script says what their author knows.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx2
from playwright.sync_api import Browser, Page, expect, sync_playwright

from retainer.data.generated import generate
from retainer.data.spans import Sentence

TOKEN = "the-token-of-the-pictures"
TYPES = ("city", "artist")
SENTENCES = {" ".join(one.words): one for one in generate(420, seed=41, types=TYPES)}
TAUGHT = 160
"""Texts that are decided for each type, and about a fifth more that are held back."""
MINUTES = 15 * 60_000


class Author:
    """Somebody who knows all entities, over HTTP."""

    def __init__(self, address: str) -> None:
        self.client = httpx2.Client(base_url=f"{address}/v1/project", headers={"Authorization": f"Bearer {TOKEN}"})

    def decide(self, types: tuple[str, ...], count: int) -> None:
        """Decide about texts that nobody decided about, for some types."""
        page = self.client.get("/texts", params={"decided": "false", "limit": 200}).json()
        for item in page["items"][:count]:
            annotation = {"entities": entities(item["text"], types), "decided": True, "complete": list(types)}
            request = {"id": item["id"], "revision": item["revision"], "annotation": annotation, "who": "Mia"}
            self.client.post("/annotate", json=request).raise_for_status()


def entities(text: str, types: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return what is right."""
    sentence: Sentence = SENTENCES[text]
    spans = [span for span in sentence.character_spans() if span.type in types]
    return [{"start": span.start, "end": span.end, "type": span.type} for span in spans]


def shot(page: Page, out: Path, name: str, height: int) -> None:
    """Take a picture of the top of the page."""
    page.evaluate("window.scrollTo(0, 0)")
    page.mouse.move(5, 5)
    page.screenshot(path=out / f"workbench-{name}.png", clip={"x": 0, "y": 0, "width": 1160, "height": height})


def teach(page: Page, version: str, out: Path | None = None) -> None:
    """Check and teach; take a picture while it goes on."""
    page.click("#bench-parts a[href='#workbench/teach']")
    page.click("#teach-check")
    page.wait_for_selector("#teach-form:not([hidden])", timeout=60_000)
    page.fill("#teach-epochs", "5")
    page.click("#teach-go")
    if out:
        expect(page.locator("#job-epochs tr")).to_have_count(3, timeout=MINUTES)
        shot(page, out, "teach", 920)
    expect(page.locator("#job-now")).to_have_text(f"Done: {version} is ready.", timeout=MINUTES)


def use(page: Page) -> None:
    """Put the newest version into use."""
    page.click("#bench-parts a[href='#workbench/history']")
    page.click("#history-versions button >> nth=0")
    expect(page.locator("#workbench-status")).to_contain_text("is in use now.", timeout=60_000)


def enter(page: Page, address: str, lines: Path) -> None:
    """Open the page, add the texts, and make the first type."""
    page.goto(f"{address}/")
    page.fill("#token-field", TOKEN)
    page.keyboard.press("Enter")
    page.wait_for_selector("#add-details[open]")
    page.set_input_files("#add-file", lines)
    page.wait_for_selector("#look-item:not([hidden])")
    page.fill("#look-new-type", "city")
    page.locator("#look-text .word").first.click()
    page.click("#look-new button")
    page.fill("#person-field", "Mia")
    page.keyboard.press("Enter")
    expect(page.locator("#look-text .entity")).to_have_count(1)
    page.keyboard.press("u")


def walk(page: Page, address: str, out: Path, lines: Path) -> None:
    """Go the whole way."""
    enter(page, address, lines)
    author = Author(address)
    author.decide(TYPES[:1], round(TAUGHT * 1.25))
    teach(page, "v1")
    use(page)
    page.click("#bench-parts a[href='#workbench/look']")
    page.keyboard.press("n")
    page.wait_for_selector("#look-text .entity")
    page.keyboard.press("m")
    page.fill("#look-new-type", "artist")
    page.click("#look-new button")
    expect(page.locator("#look-types button")).to_have_count(2)
    page.keyboard.press("u")
    page.locator("#look-text").focus()
    page.wait_for_timeout(500)
    shot(page, out, "look", 900)
    author.decide(TYPES, round(TAUGHT * 1.25))
    teach(page, "v2", out)
    page.click("#job a")
    page.click("#against-go")
    page.wait_for_selector("#against-answer:not([hidden])", timeout=60_000)
    page.wait_for_timeout(300)
    shot(page, out, "compare", 1000)
    page.click("#against-use")
    expect(page.locator("#workbench-status")).to_have_text("v2 is in use now.", timeout=60_000)
    page.click("#bench-parts a[href='#workbench/history']")
    page.wait_for_selector("#history-uses li >> nth=1")
    page.wait_for_timeout(300)
    shot(page, out, "use", 760)


def strip(browser: Browser, out: Path) -> None:
    """Put the four pictures side by side, for the README."""
    rows = "".join(f'<img src="workbench-{name}.png" alt="">' for name in ("look", "teach", "compare", "use"))
    style = "body{margin:0;display:grid;grid-template-columns:1fr 1fr;gap:12px;background:#fff}"
    style += "img{width:100%;height:430px;object-fit:cover;object-position:top;border:1px solid #ccc}"
    style += "img{box-sizing:border-box}"
    scratch = out / "workbench-strip.html"
    scratch.write_text(f"<style>{style}</style>{rows}", encoding="utf-8")
    page = browser.new_page(viewport={"width": 1320, "height": 872})
    page.goto(scratch.resolve().as_uri())
    page.screenshot(path=out / "workbench.png")
    scratch.unlink()


def main(out: Path) -> None:
    """Serve an empty project, and work in it."""
    chromium = next(
        found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))
    )
    with tempfile.TemporaryDirectory() as scratch:
        lines, token = Path(scratch, "requests.txt"), Path(scratch, "token")
        lines.write_text("\n".join(SENTENCES), encoding="utf-8")
        token.write_text(TOKEN)
        token.chmod(0o600)
        call = [sys.executable, "-m", "retainer", "serve", "--workbench", f"{scratch}/requests", "--token-file"]
        call += [str(token), "--port", "0", "--device", "cpu"]
        with subprocess.Popen(call, stderr=subprocess.PIPE, text=True) as server:
            try:
                assert server.stderr is not None
                said = next(found for line in server.stderr if (found := re.search(r"on (http://[\d.:]+),", line)))
                with sync_playwright() as playwright:
                    options = ["--no-sandbox"] if os.geteuid() == 0 else []
                    browser = playwright.chromium.launch(executable_path=chromium, args=options)
                    size = {"width": 1160, "height": 1000}
                    walk(browser.new_page(viewport=size, reduced_motion="reduce"), said[1], out, lines)
                    strip(browser, out)
                    browser.close()
            finally:
                server.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
