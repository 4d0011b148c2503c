"""Attacks on the ML backend of Label Studio: each must end the way docs/label-studio.md says, and nothing may be lost.

    python benchmarks/attack_label_studio.py [--quick]

The server is `retainer serve --label-studio --workbench` as anybody would start it, on a tiny model made on the spot,
with one project of Label Studio announced. Prints a line per attack and exits with 1 if one has another end than
expected. --quick takes about twenty-five seconds, with fewer clients. Linux only.
"""

import argparse
import base64
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

from attack_doors import BEARER, MALFORMED, STRANGERS, TOKEN, Document, Door
from attack_http import (
    LIMIT,
    SLACK,
    TEN_MEGABYTES,
    Attack,
    Server,
    Sizes,
    allow_descriptors,
    answered,
    attacked,
    make_model,
    print_rows,
    request,
    statuses,
)
from attack_project import answer, serve, state
from machine import resident

PROTECTED = ("/health", "/setup", "/predict", "/versions")
ACTIONS = (
    "ANNOTATION_CREATED",
    "ANNOTATION_UPDATED",
    "ANNOTATIONS_DELETED",
    "TASKS_CREATED",
    "START_TRAINING",
    "OTHER",
)
LABEL = '<Label value="{}"/>'
CONFIG = (
    '<View><Labels name="label" toName="text"><Label value="City"/></Labels><Text name="text" value="$text"/></View>'
)
NUMBER, CREATED, NAME = 7, "2024-05-01T10:00:00.436381Z", "7.1714557600"
"""The project that is announced: its number, the time of its creation, and how Label Studio names it to a backend."""
TEXT = "in Oslo and in Bergen"
SENDERS = 8
"""Clients that send annotations while the server is killed."""
GROWTH = 1.25
"""How many times larger the server may be after a crowd than after the same crowd before."""
LAUGHS = "".join(f"<!ENTITY l{number} '" + f"&l{number - 1};" * 10 + "'>" for number in range(1, 10))
"""Entities of which the last one is a thousand million words long."""


NEVER_KEPT = range(10**6, 10**6 + 40_000)
"""Annotations that nobody sent."""


def password(shown: str) -> str:
    """Return the head of basic authentication."""
    return f"Authorization: Basic {base64.b64encode(shown.encode()).decode()}"


DOOR = Door(lambda path: path in (*PROTECTED, "/webhook"), state, 5)
"""All routes of the backend; the webhook asks for no token."""
GUARDED = Door(
    lambda path: path in PROTECTED,
    state,
    4,
    (
        *STRANGERS,
        *(
            (password(shown),)
            for shown in ("", ":", TOKEN, f"{TOKEN}:", f"u:{TOKEN}x", f"u:{TOKEN[:-1]}", f"u: {TOKEN}")
        ),
        ("Authorization: Basic",),
        (f"Authorization: Basic {TOKEN}",),
        ("Authorization: Basic " + "A" * 10_000,),
    ),
)
"""The routes that ask for the password."""


def post(path: str, document: object, *headers: str) -> bytes:
    """Return a request with a document; without heads it shows the token."""
    return request("POST", path, json.dumps(document, separators=(",", ":")).encode(), *(headers or (BEARER,)))


def webhook(action: str = "ANNOTATION_CREATED", query: str = "", **fields: Any) -> bytes:
    """Return a webhook as Label Studio sends it, without the token, with some fields put in."""
    body = {"action": action, "project": {"id": NUMBER, "created_at": CREATED}, **fields}
    return post(f"/webhook{query}", body, "X-Nothing: 1")


def region(start: object = 3, end: object = 7, labels: object = ("City",), **more: object) -> Document:
    """Return a part of a text with a label."""
    value = {"start": start, "end": end, "labels": labels, **more}
    return {"id": "r", "from_name": "label", "to_name": "text", "type": "labels", "value": value}


def annotated(number: object, text: object, *regions: object, task: object = None, **more: object) -> Document:
    """Return what a webhook says about an annotation and its task."""
    own = number if task is None else task
    said = {"id": number, "task": own, "result": list(regions), "completed_by": 1, **more}
    return {"annotation": said, "task": {"id": own, "data": {"text": text}}}


def announce(server: Server) -> None:
    """Announce the project, as Label Studio does when it connects, and keep an annotation."""
    for data, status in (
        (post("/setup", {"project": NAME, "schema": CONFIG}), "200"),
        (webhook(**annotated(1, TEXT, region())), "201"),
    ):
        if statuses(said := server.send(data)) != status:
            raise SystemExit(f"the backend could not be set up: {said.decode(errors='replace')}")


def forged() -> Iterator[bytes]:
    """Yield webhooks of those who know neither the secret nor a project."""
    known = annotated(9, TEXT, region()) | {"annotations": [{"id": 1}], "tasks": [{"data": {"text": "forged"}}]}
    for action in ACTIONS:
        for project in (
            {"id": NUMBER + 1},
            {"id": NUMBER, "created_at": "2020-01-01T00:00:00Z"},
            {"id": NUMBER, "created_at": "9" * 100},
            {"id": 2**62, "created_at": CREATED, "label_config": CONFIG},
        ):
            for query in (
                "",
                "?secret=",
                f"?secret={TOKEN}",
                "?secret=wrong",
                f"?secret={'0' * 40}",
                f"?token={TOKEN}",
            ):
                yield webhook(action, query, **known | {"project": project})


def labels(count: int) -> str:
    """Return so many labels of a config."""
    return "".join(LABEL.format(f"t{number}") for number in range(count))


def bad_configs() -> Iterator[bytes]:
    """Yield configs that cannot be used, through every route that takes one."""
    label = '<Labels name="label" toName="text">{}</Labels><Text name="text" value="$text"/>'
    for xml in (
        "",
        "no xml",
        "<View>",
        "<View/>",
        f"<View>{label.format('')}</View>",
        f"<View>{label.format('<Label/>')}</View>",
        f"<View>{label.format('<Label value=&quot;a&quot;/>')}</View>",
        f"<!DOCTYPE v [<!ENTITY l0 'lol'>{LAUGHS}]><View>{label.format(LABEL.format('&l9;'))}</View>",
        f"<!DOCTYPE v [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><View>{label.format('&x;')}</View>",
        "<!DOCTYPE v SYSTEM 'http://127.0.0.1:1/x.dtd'><View/>",
        f"<View>{'<View>' * 20_000}{'</View>' * 20_000}</View>",
        "<View " + " ".join(f'a{number}=""' for number in range(20_000)) + "/>",
        f"<View>{label.format(labels(2500))}</View>",
        "<View>" + "x" * 600_000 + "</View>",
        '<?xml version="1.0" encoding="utf-16"?><View/>',
        "<View>\0</View>",
    ):
        yield post("/setup", {"project": "8.1", "schema": xml})
        if xml:  # else the one that was announced counts
            yield post("/predict", {"tasks": [], "label_config": xml})
            project = {"id": NUMBER, "created_at": CREATED, "label_config": xml}
            yield webhook(project=project, **annotated(9, TEXT, region()))


def lies() -> Iterator[bytes]:
    """Yield annotations that are not true of the text, or of anything."""
    pairs: tuple[tuple[object, object], ...] = (
        (5, 2), (-1, 3), (0, 10**6), (2**62, 2**62 + 1), (10**40, 10**41), ("3", "7"), (3.0, 7.0), (None, 7), (True, 7),
    )  # fmt: skip
    for start, end in pairs:
        yield webhook(**annotated(9, TEXT, region(start, end)))
    for result in (
        [region(), region(5, 9)],
        [region(text="other words")],
        [region(labels=["City", "City"])],
        [region(labels="City")],
        [region(labels=[["City"]])],
        [region(number, number + 2) for number in range(7000)],
    ):
        yield webhook(**annotated(9, TEXT, *result))
    for number in (-1, 2**63, 10**40, "1", 1.5, None):
        yield webhook(**annotated(number, TEXT))
        yield webhook(**annotated(9, TEXT, task=number if number is not None else "x"))
        yield webhook("ANNOTATIONS_DELETED", annotations=[{"id": number}])
    for text in ("", " \t", "x" * 50_001, "\ud800", 7, None, ["in Oslo"], {"text": TEXT}):
        yield webhook(**annotated(9, text))
    yield webhook()
    yield webhook(annotation=[], task=[])
    yield webhook(annotation=annotated(9, TEXT)["annotation"])
    yield webhook("TASKS_CREATED", tasks="all of them")
    yield webhook("x" * 101)
    for project in ({}, {"id": None}, {"id": -1}, {"id": str(NUMBER)}, NAME, None, [NUMBER]):
        yield webhook(project=project)
    yield post("/setup", {"project": "x" * 101, "schema": CONFIG})
    yield post("/setup", {"project": "", "schema": CONFIG})
    yield post("/setup", {"project": "\ud800", "schema": CONFIG})
    yield post("/predict", {"tasks": [{"data": {"text": "a"}}] * 257, "label_config": CONFIG})
    yield post("/predict", {"tasks": [{"data": {"text": "\ud800"}}], "label_config": CONFIG})
    yield post("/predict", {"tasks": [{"data": []}], "label_config": CONFIG})
    yield post("/predict", {"tasks": [], "project": "9.9"})


def nothing_to_do() -> Iterator[bytes]:
    """Yield what is acknowledged and changes nothing, however much of it there is."""
    yield webhook("ANNOTATIONS_DELETED", annotations=[{"id": number} for number in NEVER_KEPT])
    yield webhook(
        "TASKS_CREATED", tasks=[{"data": {"text": one}} for one in ("", " ", "x" * 50_001, "\ud800", 7, None)]
    )
    yield webhook("TASKS_CREATED", tasks=[{"data": [[[]]]}, {}, {"data": {}}])
    yield webhook("PROJECT_UPDATED", task={"data": {"text": json.loads("[" * 400 + "]" * 400)}})
    yield webhook(**annotated(1, TEXT, region(), task=1))


def many_trainings(server: Server, sizes: Sizes) -> tuple[bool, str]:
    """Ask for training with many clients at once: one job may run and one may wait."""
    with ThreadPoolExecutor(sizes.few) as pool:
        seen = Counter(statuses(said) for said in pool.map(server.send, [webhook("START_TRAINING")] * sizes.few))
    jobs = answer(server, "GET", "/jobs")[1]["jobs"]
    for job in jobs:
        answer(server, "POST", f"/jobs/{job['id']}/cancel", {"who": "author"})
    told = ", ".join(f"{number} x {what}" for what, number in sorted(seen.items()))
    return set(seen) == {"201"} and 1 <= len(jobs) <= 2, f"{told}, {len(jobs)} jobs"


def sent_text(number: int) -> str:
    """Return the text of a task that nobody else sends."""
    return f"task {number} in Oslo"


def send_annotation(server: Server, number: int) -> bool:
    """Send an annotation; return whether it was confirmed."""
    text = sent_text(number)
    start = text.index("Oslo")
    return statuses(server.send(webhook(**annotated(number, text, region(start, start + 4))))) == "201"


def sent_until(server: Server, sender: int, ended: Event) -> tuple[list[int], list[int]]:
    """Send annotations until the server is gone; return those that were confirmed, and those that were not."""
    confirmed, unsure = list[int](), list[int]()
    for number in range(100 + sender, 100_000, SENDERS):
        try:
            (confirmed if send_annotation(server, number) else unsure).append(number)
        except OSError:
            unsure.append(number)
        if ended.is_set():
            break
    return confirmed, unsure


def kept_texts(server: Server) -> Counter[str]:
    """Return how often each text with its one entity is in the project."""
    found, after = Counter[str](), 0
    while items := answer(server, "GET", f"/texts?limit=200&decided=true&after={after}")[1]["items"]:
        found.update(item["text"] for item in items if len(item["annotation"]["entities"]) == 1)
        after = items[-1]["id"]
    return found


def killed(model: Path, folder: Path) -> Attack:
    """Return an attack that ends a server with kill -9 while annotations arrive; a new one gets the last ones again."""

    def run(_: Server, sizes: Sizes) -> tuple[bool, str]:
        server, ended = serve(model, folder, "--label-studio"), Event()
        with server.ended():
            announce(server)
            with ThreadPoolExecutor(SENDERS) as pool:
                sending = [pool.submit(sent_until, server, sender, ended) for sender in range(SENDERS)]
                time.sleep(1.5)
                server.process.kill()
                ended.set()
                server.process.wait()
                results = [one.result() for one in sending]
        confirmed = {sent_text(number) for numbers, _ in results for number in numbers}
        again = serve(model, folder, "--label-studio")
        with again.ended():
            kept = kept_texts(again)
            lost = confirmed - set(kept)
            resent = [number for numbers, unsure in results for number in (*numbers[-2:], *unsure)]
            taken = sum(send_annotation(again, number) for number in resent)
            kept = kept_texts(again)
            twice = sum(count > 1 for count in kept.values())
            changes = answer(again, "GET", "")[1]["change"]
        whole = {TEXT, *confirmed, *(sent_text(number) for number in resent)}
        well = not lost and not twice and taken == len(resent) and set(kept) == whole and changes == len(whole)
        told = f"{len(confirmed)} confirmed, {len(lost)} lost, {len(resent)} sent again, {twice} twice"
        return well and len(confirmed) > 20, f"{told}, {changes} changes of {len(kept)} texts"

    return run


def heavy_requests() -> Iterator[bytes]:
    """Yield requests that hold as much as they may."""
    config = CONFIG.replace("</Labels>", f"{labels(1900)}</Labels>")
    every = [region(start, start + 1) for start in range(0, 10_000, 2)]
    numbers = range(10**7, 10**7 + 2000)
    several = [annotated(number, f"one of many {number}") for number in numbers]
    yield post("/setup", {"project": "9.1", "schema": config})
    yield post("/predict", {"tasks": [{"data": {"text": TEXT * 20}}] * 256, "label_config": CONFIG})
    yield webhook("ANNOTATIONS_DELETED", annotations=[{"id": number} for number in NEVER_KEPT])
    yield webhook(**annotated(10**6, "x " * 5_000, *every))
    yield webhook("ANNOTATIONS_CREATED", **{name: [one[name] for one in several] for name in ("annotation", "task")})


def crowded(server: Server, sizes: Sizes) -> tuple[bool, str]:
    """Send heavy requests with many clients at once: others are answered, and memory does not grow with every turn."""
    held, slowest, seen = list[float](), 0.0, Counter[str]()
    heavy = list(heavy_requests()) * (sizes.few // 6)
    for _ in range(2):
        with ThreadPoolExecutor(len(heavy)) as pool:
            sending = [pool.submit(server.send, one) for one in heavy]
            while not all(one.done() for one in sending):
                began = time.monotonic()
                seen[server.probe()] += 1
                slowest = max(slowest, time.monotonic() - began)
                time.sleep(0.05)
            seen.update(f"{statuses(one.result())} to the crowd" for one in sending)
        held.append(resident(server.process.pid))
    told = ", ".join(f"{number} x {what}" for what, number in sorted(seen.items()))
    well = set(seen) <= {"200", "200 to the crowd", "201 to the crowd"} and slowest < SLACK
    well &= held[1] < GROWTH * held[0]
    return well, f"{told}, slowest {slowest:.2f} s, {held[0]:.0f} then {held[1]:.0f} MB"


def unchanged(expected: str, requests: Iterable[bytes]) -> Attack:
    """Return an attack of requests that must be answered so, and change nothing."""
    return DOOR.unchanged(answered(expected, *requests))


CROSS_SITE = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data")
QUICK: dict[str, tuple[str, Attack]] = {
    "no password, or a wrong one": ("401, nothing changes", GUARDED.without_token),
    "forged webhooks": ("403, nothing changes", unchanged("403", forged())),
    "label configs that lie": ("413 or 422, nothing changes", unchanged("413|422", bad_configs())),
    "annotations that lie": ("422, nothing changes", unchanged("422", lies())),
    "webhooks about nothing": ("201, nothing changes", unchanged("201", nothing_to_do())),
    "oversized bodies": (
        "413, nothing changes",
        DOOR.every_post("413", TEN_MEGABYTES, json.dumps({"project": NAME, "schema": "x" * 10**7}).encode()),
    ),
    "malformed bodies": ("400 or 422, nothing changes", DOOR.every_post("400|422", *MALFORMED)),
    **{
        f"cross-site, {kind}": ("415, nothing changes", DOOR.every_post("415", b'{"action": "a"}', kind=kind))
        for kind in CROSS_SITE
    },
    "wrong Host": ("421, nothing changes", DOOR.every_post("421", b'{"action": "a"}', host="evil.example")),
    "other methods": (
        "405",
        answered("405", *(request(one, path, b"", BEARER) for one in ("PUT", "DELETE") for path in PROTECTED)),
    ),
    "START_TRAINING at once": ("one runs, one waits", many_trainings),
}
"""Attacks that are answered at once."""


def attacks(server: Server, kill: Attack, quick: bool) -> Iterator[Any]:
    """Attack in all ways; what waits for a time limit or for other servers runs beside the rest."""
    sizes = Sizes(12, 100) if quick else Sizes(40, 300)
    with ThreadPoolExecutor(2) as pool:
        late = [
            pool.submit(attacked, server, name, expected, attack, sizes)
            for name, expected, attack in (
                ("kill -9 while webhooks arrive", "nothing is lost, nothing twice", kill),
                ("slow bodies", f"408 after {LIMIT:g} s", DOOR.slow_bodies),
            )
        ]
        for name, (expected, attack) in QUICK.items():
            yield attacked(server, name, expected, attack, sizes)
        for one in late:
            yield one.result()
    yield attacked(server, "much from many at once", f"others in {SLACK:g} s, bounded memory", crowded, sizes)


def main() -> int:
    """Start a backend, attack it, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="about twenty-five seconds")
    options = parser.parse_args()
    allow_descriptors()
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        make_model(place / "model")
        server = serve(place / "model", place / "project", "--label-studio")
        with server.ended():
            announce(server)
            return print_rows(attacks(server, killed(place / "model", place / "other"), options.quick))


if __name__ == "__main__":
    sys.exit(main())
