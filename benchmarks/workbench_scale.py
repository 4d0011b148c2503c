"""A project of 50,000 texts on two cores: how long the server takes, and how long the page stands still.

    python benchmarks/workbench_scale.py OLD NEW --out FILE [--texts 50000] [--decided 5000]

NEW is the version in use and OLD the one it was made from: both look at texts (`next`). The server is `retainer serve
--workbench` as anybody would start it; Chromium runs on the same cores. The list of all texts is scrolled from top to
bottom, jumped about in with End, Home and by its middle, and searched letter by letter. A pause is a gap between two
frames, or a long task of the browser's main thread; `rows_ms` is how long a jump shows empty places. The exit status is
1 if a pause or an answer takes more than 100 ms.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
from machine import machine
from playwright.sync_api import Page, sync_playwright

from retainer.data.generated import generate
from retainer.files import write_text
from retainer.versions.version import load
from retainer.workbench.annotation import Annotation
from retainer.workbench.project import Project
from retainer.workbench.versions import VersionOrigin

TOKEN = "the-token-of-the-measurement"
LONGEST_MS = 100.0
SEARCH = "play songs by boston"
TRIES = 20

WATCH = """
() => {
  window.pauses = { longest_task_ms: 0, longest_gap_ms: 0 };
  new PerformanceObserver((list) => {
    for (const one of list.getEntries())
      window.pauses.longest_task_ms = Math.max(window.pauses.longest_task_ms, one.duration);
  }).observe({ type: "longtask" });
  let last = performance.now();
  const frame = () => {
    const now = performance.now();
    window.pauses.longest_gap_ms = Math.max(window.pauses.longest_gap_ms, now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  window.row = () => {
    const list = document.querySelector("#texts-list").getBoundingClientRect();
    const seen = document.elementFromPoint(list.left + list.width / 2, list.top + list.height / 2);
    return seen?.closest("#texts-list li")?.dataset.at;
  };
  window.rows = async () => {
    const began = performance.now();
    while (window.row() === undefined) await new Promise(requestAnimationFrame);
    return performance.now() - began;
  };
}
"""
SCROLL = """
async (step) => {
  const list = document.querySelector("#texts-list");
  let frames = 0;
  while (list.scrollTop + list.clientHeight < list.scrollHeight - 1) {
    list.scrollTop += step;
    frames += 1;
    await new Promise(requestAnimationFrame);
  }
  const drawn = list.querySelectorAll("li").length;
  return { frames, drawn, rows_ms: await window.rows(), last: Number(window.row()) };
}
"""
JUMP = """
async (share) => {
  const list = document.querySelector("#texts-list");
  list.scrollTop = share * (list.scrollHeight - list.clientHeight);
  return window.rows();
}
"""


def filled(folder: Path, texts: int, decided: int, versions: list[str]) -> None:
    """Make a project with many texts, some of them with a decision, and two versions."""
    sentences = {" ".join(one.words): one for one in generate(round(texts * 1.3), seed=1, types=["artist", "city"])}
    chosen = [(text, sentences[text]) for text in list(sentences)[:texts]]
    chosen += [(f"{text} number {at}", None) for at, (text, _) in enumerate(chosen[: texts - len(chosen)])]
    with Project.open(folder, create=True) as project, project.database.writing():
        project.types.ensure(["artist", "city"], "author")
        add_versions(project, versions)
        ids = project.texts.add([text for text, _ in chosen], "generated").ids
        for id_, (_, sentence) in list(zip(ids, chosen, strict=True))[:decided]:
            spans = sentence.character_spans() if sentence else ()
            project.annotations.write(id_, Annotation(spans, True, ("artist", "city")), seen=0, who="author")


def add_versions(project: Project, folders: list[str]) -> None:
    """Let the first version be the one that the second, in use, was made from."""
    parent = None
    for name, folder in zip(("old", "new"), folders, strict=True):
        found = load(folder, device="cpu")
        origin = VersionOrigin(parent=parent)
        place = str(Path(folder).absolute())
        project.versions.add(name, found.lineage.own_hash, types=found.types, elsewhere=place, origin=origin)
        parent = name
    project.versions.use("new", "author")


def timed(work: Callable[[], object], tries: int = TRIES) -> dict[str, float]:
    """Return how long something takes in milliseconds, the first time and after that."""
    times = []
    for _ in range(tries):
        began = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - began))
    rest = times[1:] or times
    return {name: round(value, 1) for name, value in _summed(times[0], rest).items()}


def _summed(first: float, rest: list[float]) -> dict[str, float]:
    return {"first_ms": first, "p50_ms": statistics.median(rest), "longest_ms": max(rest)}


def server_times(address: str, texts: int) -> dict[str, dict[str, float]]:
    """Ask every route that the page asks while somebody looks and searches; `next` at once, when nothing is warm."""
    with httpx2.Client(base_url=address, headers={"Authorization": f"Bearer {TOKEN}"}) as author:

        def get(path: str, **query: Any) -> Any:
            return author.get(f"/v1/project{path}", params=query).raise_for_status().json()

        found = {"next": timed(lambda: get("/next", limit=1))}
        found["decide, then next"] = timed(lambda: decide(author))
        found["project"] = timed(lambda: get(""))
        for name, at in (("first", 0), ("middle", texts // 2), ("last", texts - 50)):
            found[f"page, {name}"] = timed(lambda at=at: get("/texts", at=at, limit=50))
        found["page, middle of the open ones"] = timed(lambda: get("/texts", at=texts // 2, limit=50, decided="false"))
        letters = iter([SEARCH[: 1 + at] for at in range(len(SEARCH))])
        found["search, letter by letter"] = timed(
            lambda: get("/texts", search=next(letters), limit=50, at=0), len(SEARCH)
        )
        found["search, last page"] = timed(lambda: get("/texts", search="the", limit=50, at=texts // 4))
    return found


def decide(author: httpx2.Client) -> None:
    """Decide about a text, and ask for the next one."""
    [item] = author.get("/v1/project/next", params={"limit": 1}).raise_for_status().json()["items"]
    annotation = {"entities": [], "decided": True, "complete": []}
    request = {"id": item["id"], "revision": item["revision"], "annotation": annotation, "who": "author"}
    author.post("/v1/project/annotate", json=request).raise_for_status()


def page_times(page: Page, address: str) -> dict[str, Any]:
    """Scroll, jump and search in the list as a person does."""
    page.goto(f"{address}/")
    page.fill("#token-field", TOKEN)
    page.keyboard.press("Enter")
    page.wait_for_selector("#texts-list li")
    page.wait_for_timeout(1500)
    page.evaluate(WATCH)
    found: dict[str, Any] = {}
    found["scrolled by 600 px a frame, from top to bottom"] = measured(page, lambda: page.evaluate(SCROLL, 600))
    for share in (0.5, 0.9, 0.1, 0.0):
        found[f"jumped to {share:.0%}"] = measured(page, lambda share=share: {"rows_ms": page.evaluate(JUMP, share)})
    page.locator("#texts-list").focus()
    for key in ("End", "Home", "End"):
        found[f"{key}, by key"] = measured(page, lambda key=key: pressed(page, key))
    found["searched letter by letter"] = measured(page, lambda: searched(page))
    return found


def pressed(page: Page, key: str) -> dict[str, float]:
    """Press a key, and wait for rows."""
    page.keyboard.press(key)
    return {"rows_ms": page.evaluate("window.rows()")}


def searched(page: Page) -> dict[str, float]:
    """Type, wait for what is found, and empty the field again."""
    page.locator("#texts-search").press_sequentially(SEARCH, delay=180)
    page.wait_for_timeout(500)
    for _ in SEARCH:
        page.locator("#texts-search").press("Backspace")
        page.wait_for_timeout(60)
    page.wait_for_timeout(500)
    return {"rows_ms": page.evaluate("window.rows()")}


def measured(page: Page, work: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Do something, and return the pauses meanwhile."""
    page.wait_for_timeout(300)
    page.evaluate("Object.assign(window.pauses, { longest_task_ms: 0, longest_gap_ms: 0 })")
    done = work()
    page.wait_for_timeout(300)
    pauses: dict[str, float] = page.evaluate("window.pauses")
    return {name: round(value, 1) for name, value in {**pauses, **done}.items()}


def too_long(found: dict[str, Any]) -> list[str]:
    """Name what takes more than it may."""
    server = [
        f"{name}: {one} {value}"
        for name, times in found["server"].items()
        for one, value in times.items()
        if value > LONGEST_MS
    ]
    return server + [
        f"{name}: {one} {times[one]}"
        for name, times in found["page"].items()
        for one in ("longest_task_ms", "longest_gap_ms")
        if times[one] > LONGEST_MS
    ]


def served(folder: Path, token: Path) -> subprocess.Popen[str]:
    """Start a workbench."""
    call = [sys.executable, "-m", "retainer", "serve", "--workbench", str(folder)]
    call += ["--token-file", str(token), "--port", "0", "--device", "cpu"]
    return subprocess.Popen(call, stderr=subprocess.PIPE, text=True)


def main() -> int:
    """Fill a project, serve it, measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs=2, metavar="VERSION", help="the old one and the new one")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--texts", type=int, default=50_000)
    parser.add_argument("--decided", type=int, default=5_000)
    options = parser.parse_args()
    load = [round(os.getloadavg()[0], 1)]
    with tempfile.TemporaryDirectory() as scratch:
        folder, token = Path(scratch, "project"), Path(scratch, "token")
        token.write_text(TOKEN)
        token.chmod(0o600)
        filled(folder, options.texts, options.decided, options.versions)
        with served(folder, token) as server:
            try:
                assert server.stderr is not None
                said = next(found for line in server.stderr if (found := re.search(r"on (http://[\d.:]+),", line)))
                found: dict[str, Any] = {"server": server_times(said[1], options.texts)}
                with sync_playwright() as playwright:
                    place = next(one for name in ("chromium", "google-chrome") if (one := shutil.which(name)))
                    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
                    browser = playwright.chromium.launch(executable_path=place, args=arguments)
                    page = browser.new_page(viewport={"width": 1160, "height": 1000}, reduced_motion="reduce")
                    found["page"] = page_times(page, said[1])
                    browser.close()
            finally:
                server.terminate()
    found["too long"] = too_long(found)
    print(json.dumps(found, indent=1))
    if options.out:
        load.append(round(os.getloadavg()[0], 1))
        facts = {"texts": options.texts, "decided": options.decided, "load before and after": load}
        document = {**facts, "machine": machine(), **found}
        write_text(options.out, json.dumps(document, indent=1) + "\n")
    return 1 if found["too long"] else 0


if __name__ == "__main__":
    sys.exit(main())
