"""docs/formats.md: its examples are what is written and read."""

import json
import re
from pathlib import Path

import pytest

from retainer.data.formats.table import FORMATS, format_names
from retainer.data.io import read, write
from retainer.data.spans import Sentence, Span

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "formats.md").read_text("utf-8")
BLOCKS = dict(re.findall(r"```([\w.]+)\n(.*?)```", PAGE, flags=re.DOTALL))
SENTENCE = Sentence.from_text("\U0001f600 Mira Vell left Oslo", [Span(2, 11, "person"), Span(17, 21, "city")])
JSON = {"jsonl", "prodigy", "doccano", "labelstudio"}


def blocks(format):
    """Return the files that the page shows for a format, by their endings."""
    return {name.removeprefix(format): text for name, text in BLOCKS.items() if name.split(".")[0] == format}


@pytest.mark.parametrize("format", FORMATS)
def test_the_example_is_what_is_written(tmp_path, format):
    write([SENTENCE], tmp_path / "out", format)
    shown = blocks(format)
    assert shown, "the page shows every format"
    for ending, text in shown.items():
        made = (tmp_path / "out" / f"0001{ending}" if ending else tmp_path / "out").read_text("utf-8")
        assert (json.loads(made) == json.loads(text)) if format in JSON else (made.strip() == text.strip())


@pytest.mark.parametrize("format", FORMATS)
def test_the_example_can_be_read(tmp_path, format):
    for ending, text in blocks(format).items():
        lines = json.dumps(json.loads(text)) if format in JSON else text
        (tmp_path / f"example{ending}").write_text(lines, "utf-8")
    corpus = read(tmp_path / "example.ann" if format == "brat" else tmp_path / "example")
    assert (corpus.format, corpus.oddities) == (format, {})
    assert [(s.words, s.spans) for s in corpus] == [(SENTENCE.words, SENTENCE.spans)]


def test_every_format_has_its_row():
    assert sorted(re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE)) == format_names()
