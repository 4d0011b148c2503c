"""What `make label-studio-test` stands on: servers that are ended whatever happens; and the transcript it kept."""

import os
import re
import sys
import time
from pathlib import Path

import pytest
from serving import until

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
try:
    import background
    import label_studio
finally:
    sys.path.pop(0)

KEPT = (ROOT / "results" / "label-studio.txt").read_text("utf-8")
STUBBORN = "trap '' TERM; sleep 60 & echo child $!; wait; wait"


def lives(number):
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_what_was_begun_is_ended_when_a_step_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(background, "PATIENCE", 0.3)
    with pytest.raises(KeyError), background.background(["sh", "-c", STUBBORN], tmp_path / "sh.log", {}) as running:
        child = int(running.wait_for_line(r"child (\d+)", 10))
        assert lives(child) and os.getsid(child) == running.process.pid != os.getsid(0)
        raise KeyError
    until(lambda: not lives(child) and not lives(running.process.pid), 10)


def test_nothing_is_waited_for_without_end(tmp_path):
    with background.background(["sh", "-c", "exit 3"], tmp_path / "sh.log", {}) as running:
        with pytest.raises(RuntimeError, match="sh ended with status 3"):
            running.wait_for(lambda: False, 10)
    with background.background(["sleep", "60"], tmp_path / "sleep.log", {}) as running:
        began = time.monotonic()
        with pytest.raises(TimeoutError, match="0.1 seconds in vain"):
            running.wait_for(lambda: False, 0.1)
    assert time.monotonic() - began < 10


def test_a_region_that_shows_another_text_fails_the_step():
    region = {"value": {"start": 0, "end": 4, "text": "oslo", "labels": ["City"]}, "score": 0.5}
    assert list(label_studio.fitting_labels("oslo now", [region])) == ["City"]
    with pytest.raises(label_studio.UnexpectedError, match="shows 'oslo'"):
        list(label_studio.fitting_labels("\U0001f3b5 oslo", [region]))


def test_the_transcript_is_whole_and_says_nothing_of_the_machine():
    steps = [line.split()[0] for line in KEPT.splitlines() if not line.startswith(" ")]
    assert steps[:4] == ["started", "project", "backend", "import"] and steps[-2:] == ["use", "predictions"]
    assert not re.search(r"127\.0\.0\.1|localhost|/tmp|/home|[0-9a-f]{40}", KEPT)


def test_the_pinned_release_is_the_one_that_was_tried():
    [pin] = re.findall(r"^LABEL_STUDIO := (1\.23\.\d+)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    page = (ROOT / "docs" / "label-studio.md").read_text("utf-8")
    assert f"Label Studio {pin} " in KEPT and f"label-studio=={pin}\n" in page
