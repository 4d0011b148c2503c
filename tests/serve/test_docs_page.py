"""The commands of docs/serve.md work, and its limits, addresses and codes are those of the server."""

import inspect
import json
import re
import shlex
import subprocess

import pytest
from pages import ROOT, read_page
from serving import served

from retainer.cli.verbs.serve import serve
from retainer.serve.descriptors import RESERVED
from retainer.serve.responses import MAX_MESSAGE_LENGTH
from retainer.serve.schemas import MAX_NAMES
from retainer.serve.settings import Limits

PAGE = read_page(ROOT / "docs" / "serve.md")
COMMANDS = [step for block in PAGE.blocks for step in block.steps if step.startswith("curl ")]


@pytest.fixture(scope="module")
def server(pair):
    call = next(call for block in PAGE.blocks for call in block.calls)
    names = [word.removeprefix("models/") for word in shlex.split(call)[2:]]
    assert names == ["v2", "v1"]
    with served(*(pair[name] for name in names)) as running:
        yield running


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_page_is_answered(server, line):
    done = subprocess.run(
        ["bash", "-c", line.replace("http://127.0.0.1:8000", server.address) + " --fail-with-body -sS"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if "metrics" in line:
        assert "retainer_requests_total{" in done.stdout
    else:
        assert "error" not in json.loads(done.stdout)


def test_every_address_of_the_document_is_on_the_page(server):
    document = json.loads(subprocess.check_output(["curl", "-sS", f"{server.address}/openapi.json"]))
    written = set(re.findall(r"`(?:GET|POST) (/[a-z0-9/]+)`", PAGE.text))
    assert set(document["paths"]) == written - {"/docs"} and len(COMMANDS) == 6
    page = subprocess.check_output(["curl", "-sS", f"{server.address}/docs"], text=True)
    assert f"{server.address}/v1/predict" in page, "its examples can be copied, whatever the port"


def test_the_limits_on_the_page_are_the_limits():
    flags = {name: one.default for name, one in inspect.signature(serve).parameters.items()}
    table = {
        "bytes of a request": ("1 MiB", Limits.body, flags["max_body"], 2**20),
        "texts of a request": ("256", Limits.texts, flags["max_texts"], 256),
        "characters of a text": ("50,000", Limits.characters, flags["max_characters"], 50_000),
        "requests at once": ("256", Limits.requests, flags["max_requests"], 256),
        "seconds for an answer": ("30", Limits.answer_seconds, flags["timeout"], 30.0),
        "seconds to send the head, and again the body": ("10", Limits.receive_seconds, 10.0),
        "seconds without reading the answer": ("10", Limits.stalled_seconds, 10.0),
        "open connections": ("1,024", Limits.connections, 1024),
        "types, and thresholds, of a request": ("10,000", MAX_NAMES, 10_000),
    }
    for name, (written, *values) in table.items():
        assert f"| {name} | {written} |" in PAGE.text and len(set(values)) == 1, name
    assert f"keeps {RESERVED} for itself" in PAGE.text and f"at most {MAX_MESSAGE_LENGTH} characters" in PAGE.text


def test_every_code_is_on_the_page():
    """Codes are for programs, so they are written down; those of plain HTTP explain themselves."""
    source = "".join(path.read_text() for path in (ROOT / "src" / "retainer" / "serve").glob("*.py"))
    codes = set(re.findall(r"ApiError\(\s*\d{3},\s*\"(\w+)\"", source))
    assert len(codes) > 15
    missing = {code for code in codes if f"`{code}`" not in PAGE.text}
    assert not missing, missing
