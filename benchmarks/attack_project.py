"""Attacks on a workbench over HTTP: each must end the way docs/workbench.md says, and nothing confirmed may be lost.

    python benchmarks/attack_project.py [--quick]

The server is `retainer serve --workbench` as anybody would start it, on a tiny model made on the spot and a project of
some texts, with a job that runs. Prints a line per attack and exits with 1 if one has another end than expected.
--quick takes about a minute, with fewer clients. Linux only.
"""

import argparse
import base64
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any

from attack_doors import BEARER, MALFORMED, STRANGERS, TOKEN, Document, Door, document_of
from attack_http import (
    LIMIT,
    SLACK,
    SOON,
    STOP_SECONDS,
    TEN_MEGABYTES,
    Attack,
    Server,
    Sizes,
    allow_descriptors,
    answered,
    attacked,
    crowd,
    left_open,
    make_model,
    print_rows,
    request,
    statuses,
    unread,
)

ROOT = "/v1/project"
WORDS = 400
"""Words of a text, each of which is marked by one change of one client."""
TEXTS = [" ".join(f"t{text}w{word}" for word in range(WORDS)) for text in range(8)]
LIED_ABOUT = 1 + len(TEXTS)
STREAMS = 64
"""How many clients may follow jobs at once."""


def serve(model: Path, folder: Path, *options: str) -> Server:
    """Start a workbench."""
    token = folder.parent / "token"
    token.touch(0o600)
    token.write_text(TOKEN)
    return Server(model, "--workbench", str(folder), "--token-file", str(token), *options)


def ask(method: str, path: str, document: object = None, *headers: str) -> bytes:
    """Return a request with the token."""
    body = b"" if document is None else json.dumps(document, separators=(",", ":")).encode()
    return request(method, f"{ROOT}{path}", body, *(headers or (BEARER,)))


def answer(server: Server, method: str, path: str, document: object = None) -> tuple[str, Document]:
    """Ask as an honest client does; return the status and the document."""
    said = server.send(ask(method, path, document))
    return statuses(said), document_of(said)


def fill(server: Server) -> None:
    """Put texts, a type and decisions into a project."""
    answer(server, "POST", "/types", {"action": "add", "name": "city", "who": "author"})
    answer(server, "POST", "/texts", {"texts": [*TEXTS, "a text to lie about"]})
    for number in range(1, 1 + len(TEXTS)):
        write(server, number, mark(number - 1, WORDS - 1), 0, "author", decided=True)


def begin_job(server: Server) -> None:
    """Begin a job that takes its time, and wait until it runs."""
    said = answer(server, "POST", "/teach", {"epochs": 1000, "who": "author"})
    if said[0] != "200":
        raise SystemExit(f"no job could be begun: {said}")
    while not answer(server, "GET", "/jobs")[1]["jobs"][0]["progress"]:
        time.sleep(0.2)


def mark(text: int, word: int) -> Document:
    """Return an entity: one word of a text."""
    start = TEXTS[text].index(f"t{text}w{word}")
    return {"start": start, "end": start + len(f"t{text}w{word}"), "type": "city"}


def write(
    server: Server, text: int, entity: Document, revision: int, who: str, *, decided: bool = False
) -> tuple[str, Document]:
    """Say of a text that it has one entity."""
    said = {"entities": [entity], "decided": decided, "complete": []}
    return answer(server, "POST", "/annotate", {"id": text, "revision": revision, "annotation": said, "who": who})


def state(server: Server) -> object:
    """Return what a client could have changed."""
    facts = answer(server, "GET", "")[1]
    return [facts.get(name) for name in ("types", "texts", "in_use", "change", "queue")]


PASSWORD = f"Authorization: Basic {base64.b64encode(f'user:{TOKEN}'.encode()).decode()}"
DOOR = Door(lambda path: path.startswith(ROOT), state, 20, (*STRANGERS, (PASSWORD,)))


def lies(*documents: Document) -> Iterator[bytes]:
    """Yield annotations that are not true of the text."""
    for document in documents:
        annotation = {"entities": [], "decided": True, "complete": [], **document.pop("annotation", {})}
        yield ask(
            "POST", "/annotate", {"id": LIED_ABOUT, "revision": 0, "who": "liar", "annotation": annotation, **document}
        )


def entities(*spans: tuple[int, int, str]) -> Document:
    """Return the entities of an annotation."""
    return {"annotation": {"entities": [{"start": start, "end": end, "type": type_} for start, end, type_ in spans]}}


IDS = ("0", "-1", str(2**63), str(2**64), "9" * 400, "1.5", "a", "%00", "1%20or%201=1", "..%2f..%2fetc%2fpasswd", "NaN")
QUERIES = (
    *(f"/texts?after={one}" for one in ("-1", str(2**63), "a", "1e400")),
    *(f"/texts?limit={one}" for one in ("0", "201", "-1", str(10**30))),
    f"/texts?search={'x' * 1001}",
    "/texts?decided=perhaps",
    *(f"/next?skip={one}" for one in ("1,,2", ",", "a", "1;2", "9" * 19, ",".join(["1"] * 6000))),
    *(f"/next?limit={one}" for one in ("0", "21", "x")),
    *(f"/changes?after={one}" for one in ("-1", str(2**63), "x")),
    *(f"/compare?old={one}&new=nothing" for one in ("nothing", "..%2f..%2fetc", "%00", "x" * 501, "")),
    "/jobs/1/events?after=-1",
    "/jobs/99/events?follow=true",
    "/jobs/1/events?follow=always",
)
SEARCHES = (
    "%22",
    "%22%22%22",
    "*",
    "%25",
    "_",
    "%5C",
    "%00",
    "NEAR(a",
    "a%20OR%20b",
    "';DROP%20TABLE%20texts;--",
    "%F0%9F%98%80",
)


def streams(server: Server, sizes: Sizes) -> tuple[bool, str]:
    """Follow a job with many clients at once: some may, the others are asked to come back, nobody else notices."""
    count = max(sizes.many, STREAMS + 36)
    follow = ask("GET", "/jobs/1/events?follow=true").replace(b"Connection: close\r\n", b"")
    with crowd(server, count, follow) as clients:
        time.sleep(2.0)
        seen, slowest = Counter[str](), 0.0
        for client in clients:
            client.settimeout(5)
            seen[statuses(client.recv(65536))] += 1
        for _ in range(10):
            began = time.monotonic()
            seen["200 meanwhile"] += answer(server, "GET", "")[0] == "200"
            slowest = max(slowest, time.monotonic() - began)
    end, again = time.monotonic() + SLACK, ""
    while time.monotonic() < end and again != "200":
        with crowd(server, 1, follow) as [client]:
            again = statuses(client.recv(65536))
    well = seen["200"] == STREAMS and seen["503"] == count - STREAMS and seen["200 meanwhile"] == 10
    told = ", ".join(f"{number} x {what}" for what, number in sorted(seen.items()))
    return well and slowest < SOON and again == "200", f"{told}, slowest {slowest:.2f} s, afterwards {again}"


def unread_pages(server: Server, sizes: Sizes) -> tuple[bool, str]:
    """Ask for large pages of texts and read none of them."""
    asked = ask("GET", "/texts?limit=200").replace(b"Connection: close\r\n", b"") * 50
    with crowd(server, sizes.many, asked, window=4096) as clients:
        still = unread(server, clients)
    return not still, f"{still} of {sizes.many} left open"


def changes_of(server: Server, text: int) -> list[Document]:
    """Return every change of a text, the first one first."""
    found: list[Document] = answer(server, "GET", f"/texts/{text}/history")[1]["changes"]
    return found


def unbroken(changes: list[Document]) -> bool:
    """Return whether every change began with what the one before had left."""
    return all(before["after"] == after["before"] for before, after in pairwise(changes))


def marked(change: Document) -> int:
    """Return where the one entity of a change begins."""
    return int(change["after"]["entities"][0]["start"])


def stubborn(server: Server, client: int, rounds: int) -> tuple[list[tuple[int, int]], int]:
    """Change texts again and again; whoever was before is looked at, and then it is tried once more."""
    written, conflicts = list[tuple[int, int]](), 0
    for turn in range(rounds):
        text = 1 + turn % 2
        entity, revision = mark(text - 1, client * rounds + turn), 0
        while True:
            status, said = write(server, text, entity, revision, f"client {client}")
            if status == "200":
                written.append((text, entity["start"]))
                break
            if status == "409":
                conflicts, revision = conflicts + 1, said["current"]["revision"]
            elif status != "503":
                raise OSError(f"{status}: {said}")
    return written, conflicts


def conflicting_writes(server: Server, sizes: Sizes) -> tuple[bool, str]:
    """Change the same texts with many clients at once: every change that was confirmed is in the history, once."""
    clients, rounds = min(sizes.few, 40), 8
    before = {text: len(changes_of(server, text)) for text in (1, 2)}
    with ThreadPoolExecutor(clients) as pool:
        done = list(pool.map(lambda client: stubborn(server, client, rounds), range(clients)))
    kept, whole = Counter[tuple[int, int]](), True
    for text, first in before.items():
        changes = changes_of(server, text)
        whole &= unbroken(changes)
        kept.update((text, marked(change)) for change in changes[first:])
    confirmed = Counter(one for written, _ in done for one in written)
    conflicts = sum(number for _, number in done)
    well = whole and kept == confirmed and confirmed.total() == clients * rounds and conflicts > 0
    return well, f"{confirmed.total()} confirmed, {kept.total()} kept, {conflicts} conflicts, {'un' * whole}broken"


def undo_at_once(server: Server, sizes: Sizes) -> tuple[bool, str]:
    """Let many clients undo and redo as one person: no change is taken back twice."""
    text, made = 3, 10
    for turn in range(made):
        write(server, text, mark(text - 1, turn), turn + 1, "ann")
    before = len(changes_of(server, text))
    seen = dict[str, int]()
    for way in ("undo", "redo"):
        with ThreadPoolExecutor(16) as pool:
            asked = [pool.submit(answer, server, "POST", f"/{way}", {"who": "ann"}) for _ in range(2 * made)]
            said = [one.result() for one in asked]
        seen[way] = sum(bool(document.get("item")) for _, document in said)
        seen[f"other than 200 to {way}"] = sum(status != "200" for status, _ in said)
    changes = changes_of(server, text)
    well = list(seen.values()) == [made, 0, made, 0] and unbroken(changes) and len(changes) == before + 2 * made
    well &= changes[-1]["after"] == changes[before - 1]["after"]
    return well, ", ".join(f"{number} {what}" for what, number in seen.items())


def killed(model: Path, folder: Path) -> Attack:
    """Return an attack that ends a server with kill -9 while clients write, and looks what a new one knows."""

    def run(_: Server, sizes: Sizes) -> tuple[bool, str]:
        server, ended = serve(model, folder), Event()
        answer(server, "POST", "/texts", {"texts": TEXTS})
        with ThreadPoolExecutor(len(TEXTS)) as pool:
            writing = [pool.submit(_written_until, server, text, ended) for text in range(1, 1 + len(TEXTS))]
            time.sleep(2.0)
            server.process.send_signal(signal.SIGKILL)
            ended.set()
            server.process.wait()
            confirmed = {(text, start) for one in writing for text, start in one.result()}
        again = serve(model, folder)
        with again.ended():
            kept = {(text, marked(one)) for text in range(1, 1 + len(TEXTS)) for one in changes_of(again, text)}
        lost = len(confirmed - kept)
        well = not lost and len(confirmed) > 20 and len(kept - confirmed) <= len(TEXTS)
        return well, f"{len(confirmed)} confirmed, {lost} lost, {len(kept - confirmed)} kept without an answer"

    return run


def _written_until(server: Server, text: int, ended: Event) -> list[tuple[int, int]]:
    """Change a text until the server is gone; return what it confirmed."""
    confirmed = list[tuple[int, int]]()
    for word in range(WORDS):
        entity = mark(text - 1, word)
        try:
            status, _ = write(server, text, entity, word, "writer")
        except (OSError, json.JSONDecodeError):
            break
        if status == "200":
            confirmed.append((text, entity["start"]))
        if ended.is_set():
            break
    return confirmed


def stop_streams(server: Server, sizes: Sizes) -> tuple[bool, str]:
    """Ask it to stop while clients follow a job that runs; the job is interrupted and says so later."""
    follow = ask("GET", "/jobs/1/events?follow=true").replace(b"Connection: close\r\n", b"")
    with crowd(server, 30, follow) as clients:
        time.sleep(0.5)
        status, seconds = server.end()
        still = left_open(clients, SLACK)
    traces = sum("Traceback" in line for line in server.lines)
    told = f"status {status} after {seconds:.1f} s, {still} left open, {traces} errors logged"
    return status == 0 and seconds < STOP_SECONDS + LIMIT and not still and not traces, told


QUICK: dict[str, tuple[str, Attack]] = {
    "no token, or a wrong one": ("401, nothing changes", DOOR.without_token),
    "oversized bodies": ("413, nothing changes", DOOR.every_post("413", TEN_MEGABYTES)),
    "malformed bodies": ("400 or 422, nothing changes", DOOR.every_post("400|422", *MALFORMED)),
    "cross-site": ("415, nothing changes", DOOR.every_post("415", b'{"who": "a"}', kind="text/plain")),
    "wrong Host": ("421, nothing changes", DOOR.every_post("421", b'{"who": "a"}', host="evil.example")),
    "other methods": (
        "405",
        answered("405", *(ask(method, path, {}) for method in ("PUT", "DELETE", "PATCH") for path in ("", "/texts"))),
    ),
    "annotations that lie": (
        "404, 409 or 422",
        answered(
            "404|409|422",
            *lies(
                *({"id": one} for one in (0, -1, 10**6, 2**63, 10**40, "1", 1.5, None)),
                *({"revision": one} for one in (-1, 10**6, 2**63, "1", None)),
                *({"who": one} for one in ("", " ", "x" * 81, 1, None)),
                entities((5, 2, "city")),
                entities((0, 10**6, "city")),
                entities((2**62, 2**62 + 1, "city")),
                entities((0, 4, "city"), (2, 6, "city")),
                entities((0, 4, "nothing")),
                entities((0, 4, "x" * 10_000)),
                entities((0, 4, "a\0b")),
                entities(*[(0, 4, "city")] * 15_000),
                {"annotation": {"complete": ["nothing"]}},
                {"annotation": {"complete": ["city"] * 20_000}},
            ),
            ask("POST", "/annotate"),
            request("POST", f"{ROOT}/types", b'{"action":"add","name":"\\ud800","who":"a"}', BEARER),
            request("POST", f"{ROOT}/texts", b'{"texts":["\\ud800"]}', BEARER),
            ask("POST", "/texts", {"texts": ["x" * 50_001]}),
            ask("POST", "/texts", {"texts": ["a"] * 257}),
            ask("POST", "/texts", {"texts": [""]}),
            ask("POST", "/teach", {"epochs": 10**9, "who": "a"}),
            ask("POST", "/teach", {"method": "../../x", "who": "a"}),
            ask("POST", "/use", {"version": "../../../etc", "who": "a"}),
            ask("POST", "/use", {"version": "\0", "who": "a"}),
        ),
    ),
    "numbers out of range": (
        "404 or 422",
        answered(
            "404|422",
            *(ask("GET", f"/texts/{one}{end}") for one in IDS for end in ("", "/history")),
            *(ask("GET", f"/jobs/{one}/events") for one in IDS),
            *(ask("POST", f"/jobs/{one}/cancel", {"who": "a"}) for one in IDS),
            *(ask("GET", one) for one in QUERIES),
        ),
    ),
    "searches that look like a query": (
        "200",
        answered("200", *(ask("GET", f"/texts?limit=1&decided=false&search={one}") for one in SEARCHES)),
    ),
    "conflicting writes": ("all confirmed ones are kept", conflicting_writes),
    "undo and redo at once": ("each once", undo_at_once),
}
"""Attacks that are answered at once."""
WAITING: dict[str, tuple[str, Attack]] = {
    "slow bodies": (f"408 after {LIMIT:g} s", DOOR.slow_bodies),
    "pages that nobody reads": (f"closed after {LIMIT:g} s", unread_pages),
}
"""Attacks that end by a time limit."""


def attacks(server: Server, kill: Attack, quick: bool) -> Iterator[Any]:
    """Attack in all ways; where only a time limit is waited for, side by side."""
    sizes = Sizes(12, 100) if quick else Sizes(40, 300)
    for name, (expected, attack) in QUICK.items():
        yield attacked(server, name, expected, attack, sizes)
    with ThreadPoolExecutor(1 + len(WAITING)) as pool:
        late = pool.submit(attacked, server, "kill -9 while clients write", "nothing confirmed is lost", kill, sizes)
        yield from pool.map(lambda name: attacked(server, name, *WAITING[name], sizes), WAITING)
        yield late.result()
    yield attacked(server, "many event streams", f"{STREAMS} x 200, the others 503", streams, sizes)
    yield stopped(server, sizes)


def stopped(server: Server, sizes: Sizes) -> Any:
    """Stop the server; nothing is left to probe after that."""
    server.probe = lambda: "200"  # type: ignore[method-assign]
    return attacked(server, "SIGTERM among streams", "status 0", stop_streams, sizes)


def main() -> int:
    """Start a workbench, attack it, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="about a minute")
    options = parser.parse_args()
    allow_descriptors()
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        make_model(place / "model")
        server = serve(place / "model", place / "project")
        with server.ended():
            fill(server)
            begin_job(server)
            return print_rows(attacks(server, killed(place / "model", place / "other"), options.quick))


if __name__ == "__main__":
    sys.exit(main())
