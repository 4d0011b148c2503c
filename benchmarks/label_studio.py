"""A real Label Studio beside a real `retainer serve --label-studio`, from an empty project to a taught version in use.

    python benchmarks/label_studio.py --label-studio .venv-label-studio/bin/label-studio --out results/label-studio.txt

`make label-studio-test` installs that Label Studio first. Everything listens on 127.0.0.1 and lies in a folder that is
removed; both servers are ended whatever happens. Label Studio is asked as its page asks it, by its REST API. Every step
is checked and written down with the answer; one that has another answer than expected ends with status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from background import Background, Site, background

from retainer.about import __version__
from retainer.data.generated import generate
from retainer.data.spans import Sentence

ROOT = Path(__file__).parents[1]
SECONDS = 1800
"""In which all of it must be over; on two busy cores it took nine minutes."""
SLOW = 240.0
"""Seconds that one step may take, on a machine that does other things too."""
CONFIG = """\
<View>
  <Labels name="label" toName="text">
    <Label value="City"/>
    <Label value="Artist"/>
  </Labels>
  <Text name="text" value="$text"/>
</View>
"""
NEW_LABEL = "Artist"
OLD_LABEL = "City"
LAST = "\U0001f3b5 play songs by Ribbon Saints on the drive to oslo \U0001f697"
"""A text that nobody annotates, with a character before its entities that UTF-16 counts twice."""
QUIET = {
    "LATEST_VERSION_CHECK": "0",
    "COLLECT_ANALYTICS": "0",
    "SENTRY_DSN": "",
    "FRONTEND_SENTRY_DSN": "",
}
"""Without these Label Studio asks other hosts."""
LOCAL = {"ML_BLOCK_LOCAL_IP": "false", "SSRF_PROTECTION_ENABLED": "false", "NO_PROXY": "127.0.0.1"}
"""Without these it refuses addresses of its own machine, or asks a proxy for them."""
OFFLINE = {"HF_HUB_OFFLINE": "1"}


class UnexpectedError(Exception):
    """A step had another answer than it should have."""


def require(true: object, said: object) -> None:
    """Go on only if something is true."""
    if not true:
        raise UnexpectedError(str(said))


@dataclass
class Transcript:
    """The steps and their answers, without tokens, ports and folders."""

    lines: list[str] = field(default_factory=list)

    def say(self, step: str, *answers: object) -> None:
        """Write a step down."""
        self.lines.append(f"{step:<12} {'   '.join(map(str, answers))}".rstrip())
        print(self.lines[-1], flush=True)


@dataclass(frozen=True)
class Walk:
    """What all steps need."""

    studio: Site
    retainer: Site
    transcript: Transcript
    sentences: tuple[Sentence, ...]
    """What a person annotates."""
    project: int
    backend: int

    def say(self, step: str, *answers: object) -> None:
        """Write a step down."""
        self.transcript.say(step, *answers)

    def workbench(self, method: str, path: str, **body: object) -> Any:
        """Ask the workbench, as its page does."""
        return self.retainer.ask(method, f"/v1/project{path}", body or None)

    def decided(self) -> int:
        """Return how many texts of the workbench have a decision."""
        return int(self.workbench("GET", "")["texts"]["decided"])


def connected(studio: Site, retainer: Site, token: str, transcript: Transcript) -> Walk:
    """Make a project in Label Studio and connect the backend."""
    project = studio.ask("POST", "/api/projects", {"title": "requests", "label_config": CONFIG})["id"]
    transcript.say("project", "created, with the labels", f"{OLD_LABEL}, {NEW_LABEL}")
    asked = {
        "url": retainer.address,
        "project": project,
        "title": "retainer",
        "auth_method": "BASIC_AUTH",
        "basic_auth_user": "retainer",
        "basic_auth_pass": token,
    }
    backend = studio.ask("POST", "/api/ml", asked)
    [shown] = studio.ask("GET", f"/api/ml?project={project}")
    require(shown["readable_state"] == "Connected", shown["readable_state"])
    transcript.say("backend", f"{shown['readable_state']}, by basic authentication")
    # so many that a fifth, which is held back, has 20 entities of each type: fewer are no evidence
    sentences = generate(160, seed=2, types=["artist", "city"]).sentences
    return Walk(studio, retainer, transcript, sentences, project, backend["id"])


def import_texts(walk: Walk) -> None:
    """Import the texts as tasks."""
    texts = [*(" ".join(one.words) for one in walk.sentences), LAST]
    answer = walk.studio.ask("POST", f"/api/projects/{walk.project}/import", [{"text": text} for text in texts])
    require(answer["task_count"] == len(texts), answer)
    walk.say("import", f"{answer['task_count']} tasks")


def tasks(walk: Walk) -> list[dict[str, Any]]:
    """Return all tasks in the order in which they were imported."""
    found = walk.studio.ask("GET", f"/api/tasks?project={walk.project}&page_size=200&fields=all")["tasks"]
    return sorted(found, key=lambda task: int(task["id"]))


def predict(walk: Walk, version: str) -> set[str]:
    """Let Label Studio retrieve predictions for all tasks; return which labels they have."""
    chosen = {"selectedItems": {"all": True, "excluded": []}}
    answer = walk.studio.ask("POST", f"/api/dm/actions?id=retrieve_tasks_predictions&project={walk.project}", chosen)
    texts = {task["id"]: task["data"]["text"] for task in tasks(walk)}
    predictions = walk.studio.ask("GET", f"/api/predictions?project={walk.project}")
    newest = {one["task"]: one for one in sorted(predictions, key=lambda one: int(one["id"]))}
    require(set(newest) == set(texts), f"{len(newest)} of {len(texts)} tasks have a prediction")
    require({one["model_version"] for one in newest.values()} == {version}, "another model_version")
    labels = Counter(label for number, one in newest.items() for label in fitting_labels(texts[number], one["result"]))
    found = ", ".join(f"{count} x {label}" for label, count in sorted(labels.items()))
    walk.say("predictions", answer["detail"], version, found or "no entity")
    [last] = [number for number, text in texts.items() if text == LAST]
    walk.say("", *last_found(newest[last]["result"]))
    return set(labels)


def fitting_labels(text: str, result: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the labels of regions, each of which must show the text that it covers, and a score."""
    for region in result:
        value = region["value"]
        require(text[value["start"] : value["end"]] == value["text"], f"a region shows {value['text']!r}")
        require(0 < region["score"] <= 1, f"a region has the score {region['score']}")
        yield from value["labels"]


def last_found(result: list[dict[str, Any]]) -> Iterator[str]:
    """Say what was found in the last text."""
    for one in result:
        yield f"{one['value']['text']}: {one['value']['labels'][0]} {one['score']:.3f}"


def regions(sentence: Sentence) -> list[dict[str, Any]]:
    """Return what a person marks in a text, as the page of Label Studio sends it."""
    text = " ".join(sentence.words)
    names = {"from_name": "label", "to_name": "text", "type": "labels", "origin": "manual"}
    return [
        {
            "id": f"r{number}",
            **names,
            "value": {
                "start": span.start,
                "end": span.end,
                "text": text[span.start : span.end],
                "labels": [span.type.title()],
            },
        }
        for number, span in enumerate(sentence.character_spans())
    ]


def submit(walk: Walk, task: int, marked: list[dict[str, Any]]) -> int:
    """Submit an annotation, and return its number."""
    said = {"result": marked, "lead_time": 2}
    return int(walk.studio.ask("POST", f"/api/tasks/{task}/annotations/", said)["id"])


def annotate(walk: Walk, server: Background) -> None:
    """Submit what a person marks in all texts but the last; all of it must reach the workbench."""
    pairs = list(zip(tasks(walk), walk.sentences, strict=False))
    added = [(task["id"], submit(walk, task["id"], regions(sentence))) for task, sentence in pairs]
    server.wait_for(lambda: walk.decided() == len(added), SLOW)
    walk.say("annotations", f"{len(added)} submitted", f"{walk.decided()} decisions in the workbench, by webhook")
    number = first_with_entity(walk.sentences)
    change_mind(walk, server, walk.sentences[number], *added[number])


def change_mind(walk: Walk, server: Background, sentence: Sentence, task: int, annotation: int) -> None:
    """Change an annotation, delete it, and submit it again."""
    marked, decided = regions(sentence), walk.decided()
    text = " ".join(sentence.words)
    walk.studio.ask("PATCH", f"/api/annotations/{annotation}/", {"result": marked[1:]})
    server.wait_for(lambda: entities_of(walk, text) == len(marked) - 1, SLOW)
    walk.say("changed", "one region removed", f"{entities_of(walk, text)} of {len(marked)} left in the workbench")
    walk.studio.ask("DELETE", f"/api/annotations/{annotation}/")
    server.wait_for(lambda: walk.decided() == decided - 1, SLOW)
    walk.say("deleted", "that annotation", f"{walk.decided()} decisions in the workbench")
    submit(walk, task, marked)
    server.wait_for(lambda: walk.decided() == decided and entities_of(walk, text) == len(marked), SLOW)
    walk.say("submitted", "it again", f"{walk.decided()} decisions in the workbench")


def first_with_entity(sentences: tuple[Sentence, ...]) -> int:
    """Return the place of the first sentence in which something is marked."""
    return next(number for number, one in enumerate(sentences) if one.spans)


def entities_of(walk: Walk, text: str) -> int:
    """Return how many entities the workbench has in a text."""
    items = walk.workbench("GET", "/texts?limit=200&decided=true")["items"]
    return next(len(one["annotation"]["entities"]) for one in items if one["text"] == text)


def train(walk: Walk, server: Background) -> str:
    """Let Label Studio start training, wait for the end, and return the name of the taught version."""
    began = time.monotonic()
    walk.studio.ask("POST", f"/api/ml/{walk.backend}/train")
    job = server.wait_for(lambda: ended_job(walk), 2 * SLOW)
    require(job["state"] == "done", job.get("message"))
    walk.say("train", f"job {job['id']}, done after {time.monotonic() - began:.0f} s", job["version"])
    return str(job["version"])


def ended_job(walk: Walk) -> dict[str, Any] | None:
    """Return the last job once it has ended."""
    jobs = walk.workbench("GET", "/jobs")["jobs"]
    over = [job for job in jobs if job["state"] not in ("queued", "running")]
    return over[0] if over and len(over) == len(jobs) else None


def versions(walk: Walk) -> list[str]:
    """Return the versions as Label Studio lists them."""
    found = [str(one) for one in walk.studio.ask("GET", f"/api/ml/{walk.backend}/versions")["versions"]]
    walk.say("versions", ", ".join(found))
    return found


def put_into_use(walk: Walk, old: str, new: str) -> None:
    """Compare the versions and decide, as a person does in the workbench."""
    verdict = walk.workbench("GET", f"/compare?old={old}&new={new}")["verdict"]
    walk.say("compare", verdict["sentence"])
    require(walk.workbench("POST", "/use", version=new, who="ann") == {"in_use": new}, "it is not in use")
    walk.say("use", f"{new}, by a person in the workbench")


def walked(walk: Walk, server: Background) -> None:
    """Take all steps after the connection."""
    import_texts(walk)
    [first] = versions(walk)
    require(NEW_LABEL not in predict(walk, first), f"the first version finds {NEW_LABEL} already")
    annotate(walk, server)
    name = train(walk, server)
    before, taught = versions(walk)
    require(before == first and taught.startswith(f"{name}-"), "the versions are others")
    types = {one["name"]: one["types"] for one in walk.workbench("GET", "")["versions"]}[name]
    require({one.lower() for one in types} == {OLD_LABEL.lower(), NEW_LABEL.lower()}, types)
    walk.say("types", f"{name} knows {' and '.join(types)}")
    predict(walk, first)
    put_into_use(walk, first.partition("-")[0], name)
    require(predict(walk, taught) == {OLD_LABEL, NEW_LABEL}, "not both labels are found")


@contextmanager
def label_studio(program: Path, folder: Path) -> Iterator[tuple[Background, Site]]:
    """Start Label Studio with an empty folder; yield it once it answers."""
    port, key = free_port(), secrets.token_hex(20)
    person = ["--username", "ann@example.org", "--password", secrets.token_urlsafe(), "--user-token", key]
    where = ["--internal-host", "127.0.0.1", "--port", str(port), "--data-dir", str(folder / "label-studio")]
    call = [str(program), "start", "--no-browser", "--enable-legacy-api-token", *person, *where]
    site = Site(f"http://127.0.0.1:{port}", f"Token {key}")
    own = {**QUIET, **LOCAL, "HOME": str(folder)}
    with background(call, folder / "label-studio.log", own) as running:
        running.wait_for(lambda: site.answers("/api/version"), SLOW)
        yield running, site


@contextmanager
def backend(model: Path, folder: Path, token: str) -> Iterator[tuple[Background, Site]]:
    """Start retainer with an empty project; yield it once it answers."""
    file = folder / "token"
    file.touch(0o600)
    file.write_text(token)
    call = [sys.executable, "-m", "retainer", "serve", str(model), "--label-studio", "--workbench", "project"]
    with background([*call, "--token-file", "token", "--port", "0"], folder / "retainer.log", OFFLINE) as running:
        address = running.wait_for_line(r"on (http://127\.0\.0\.1:\d+),", SLOW)
        yield running, Site(address, f"Bearer {token}")


def free_port() -> int:
    """Return a port that nobody listens on now; Label Studio cannot choose one itself."""
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


def teach_first(encoder: str, folder: Path) -> Path:
    """Make the version that knows cities."""
    call = ["learn", str(ROOT / "examples" / "cities.jsonl"), "--from", encoder, "--out", "v1", "--epochs", "5"]
    ended = subprocess.run(
        [sys.executable, "-m", "retainer", *call],
        cwd=folder,
        env={**os.environ, **OFFLINE},
        capture_output=True,
        text=True,
        timeout=2 * SLOW,
    )
    require(ended.returncode == 0, ended.stderr[-500:])
    return folder / "v1"


def run(program: Path, encoder: str, folder: Path, transcript: Transcript) -> None:
    """Start both servers and take all steps."""
    logs = list[Background]()
    try:
        with ExitStack() as stack:
            model, token = teach_first(encoder, folder), secrets.token_urlsafe()
            studio_process, studio = stack.enter_context(label_studio(program, folder))
            logs.append(studio_process)
            server, retainer = stack.enter_context(backend(model, folder, token))
            logs.append(server)
            found = studio.ask("GET", "/api/version")["release"]
            transcript.say(
                "started", f"Label Studio {found}", f"retainer {__version__}", f"encoder {Path(encoder).name}"
            )
            walked(connected(studio, retainer, token, transcript), server)
    except BaseException:
        for one in logs:
            print(f"--- {one.log.name}", *one.said().splitlines()[-30:], sep="\n", file=sys.stderr)
        raise


def out_of_time(*_: object) -> NoReturn:
    """End everything, and let nothing disturb that."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.alarm(0)
    raise TimeoutError(f"it was asked to end, or not over after {SECONDS} seconds")


def main() -> int:
    """Do all of it in a folder that is removed, and keep the transcript."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--label-studio", type=Path, required=True, help="the program, in an environment of its own")
    parser.add_argument("--encoder", default="builtin", help="what the first version is made from")
    parser.add_argument("--out", type=Path, help="keep the transcript in this file")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, out_of_time)
    signal.signal(signal.SIGTERM, out_of_time)
    signal.alarm(SECONDS)
    transcript = Transcript()
    with tempfile.TemporaryDirectory(prefix="retainer-label-studio-") as scratch:
        try:
            run(options.label_studio.absolute(), options.encoder, Path(scratch), transcript)
        except (UnexpectedError, RuntimeError, OSError, subprocess.SubprocessError, json.JSONDecodeError) as error:
            print(f"failed: {error}", file=sys.stderr)
            return 1
    if options.out:
        options.out.write_text("\n".join(transcript.lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
