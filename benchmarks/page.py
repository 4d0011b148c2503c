"""Make the pictures of docs/page.md: learn four types one after the other, serve the versions, look at the page.

    python benchmarks/page.py MODELS docs

MODELS is a folder for the versions (learned once, a few minutes on two cores); the browser is Chromium from the PATH.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from retainer.data.generated import generate
from retainer.data.tasks import hide
from retainer.training.learn import learn
from retainer.training.recipe import Recipe

TYPES = ("artist", "city", "movie", "restaurant")
RECIPE = Recipe(epochs=5)
TEXT = (
    "Play something by Mira Vell on the drive to Oslo, then book a table at the Golden Anchor and show me the "
    "trailer of Panther of the North."
)
FIRST = 31
"""The sentence that comes first: two versions differ in it in more ways than one."""


def learned(models: Path) -> list[Path]:
    """Learn the versions that are not there yet."""
    start: Path | str = "builtin"
    made = []
    for number, type_ in enumerate(TYPES, 1):
        data = hide(generate(260, seed=10 + number, types=TYPES), [type_])
        dev = hide(generate(200, seed=90, types=TYPES), TYPES[:number])
        out = models / f"v{number}"
        if not out.exists():
            learn(data, start, dev=dev, recipe=RECIPE, seed=number, device="cpu", out=out)
        made.append(out)
        start = out
    return made


def pictures(page: Page, address: str, out: Path, lines: Path) -> None:
    """Walk through the page as a person would, and take a picture at every stop."""
    page.goto(f"{address}/")
    page.wait_for_selector("#find:not([hidden])")
    page.select_option("#find-version", "v4")
    page.fill("#text", TEXT)
    page.click("#go")
    page.wait_for_selector("#find-results .entity")
    page.locator("#find-results .entity").nth(2).focus()
    page.screenshot(path=out / "serve-find.png", clip={"x": 0, "y": 0, "width": 1160, "height": 640})

    page.click("nav a[href='#compare']")
    page.select_option("#compare-old", "v3")
    page.select_option("#compare-new", "v4")
    page.set_input_files("#file", lines)
    page.check("#compare-only")
    page.wait_for_selector("#compare-results .card >> nth=3")
    page.screenshot(path=out / "serve-compare.png", clip={"x": 0, "y": 0, "width": 1160, "height": 900})

    page.click("nav a[href='#review']")
    page.select_option("#review-version", "v4")
    page.select_option("#review-second", "v3")
    page.set_input_files("#review-file", lines)
    page.wait_for_selector("#review-item:not([hidden])")
    for key in ("j", "1", "a", "r", "a", "k", "k", "k"):
        page.keyboard.press(key)
    page.screenshot(path=out / "serve-review.png", clip={"x": 0, "y": 0, "width": 1160, "height": 960})


def main(models: Path, out: Path) -> None:
    """Learn, serve, look."""
    versions = learned(models)
    chromium = next(
        found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))
    )
    call = [sys.executable, "-m", "retainer", "serve", *map(str, versions), "--port", "0", "--device", "cpu"]
    with tempfile.TemporaryDirectory() as scratch, subprocess.Popen(call, stderr=subprocess.PIPE, text=True) as server:
        lines = Path(scratch, "requests.txt")
        texts = [" ".join(one.words) for one in generate(60, seed=77, types=TYPES)]
        lines.write_text("\n".join(texts[FIRST:] + texts[:FIRST]), encoding="utf-8")
        try:
            assert server.stderr is not None
            said = next(found for line in server.stderr if (found := re.search(r"on (http://[\d.:]+),", line)))
            with sync_playwright() as playwright:
                options = ["--no-sandbox"] if os.geteuid() == 0 else []
                browser = playwright.chromium.launch(executable_path=chromium, args=options)
                size = {"width": 1160, "height": 1000}
                pictures(browser.new_page(viewport=size, reduced_motion="reduce"), said[1], out, lines)
                browser.close()
        finally:
            server.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
