"""Lines while they arrive: nothing that is there waits for what is not."""

import os

import pytest

from retainer.data.line_stream import arriving_lines
from retainer.errors import InputError


@pytest.fixture
def pipe(monkeypatch):
    """The writing end of what stands in for stdin."""
    reading, writing = os.pipe()
    with open(reading, encoding="utf-8") as stream, open(writing, "wb", buffering=0) as sink:
        monkeypatch.setattr("sys.stdin", stream)
        yield sink


def test_what_has_arrived_comes_before_the_wait_for_more(pipe):
    lines = arriving_lines("-")
    pipe.write(b"a\nb\nbeg")
    assert [next(lines) for _ in range(3)] == [(1, "a"), (2, "b"), None]
    pipe.write(b"un\n\n")
    assert [next(lines) for _ in range(3)] == [(3, "begun"), (4, ""), None]
    pipe.write(b"end")
    pipe.close()
    assert list(lines) == [(5, "end")]


def test_a_line_longer_than_any_block(tmp_path):
    long = "ä" * 200_001
    (tmp_path / "in").write_text(f"x\n{long}\ny", encoding="utf-8")
    assert list(arriving_lines(str(tmp_path / "in"))) == [(1, "x"), (2, long), (3, "y")]


def test_a_file_never_waits(tmp_path):
    (tmp_path / "in").write_bytes(b"a\n" * 100_000)
    assert sum(line is not None for line in arriving_lines(str(tmp_path / "in"))) == 100_000
    assert None not in arriving_lines(str(tmp_path / "in"))


def test_what_cannot_be_read(tmp_path):
    (tmp_path / "latin").write_bytes(b"a\nb\ncaf\xe9 \xff\n")
    with pytest.raises(InputError, match=r"latin:3: the byte 0xe9 is not UTF-8 here; save the file as UTF-8"):
        list(arriving_lines(str(tmp_path / "latin")))
    with pytest.raises(InputError, match="this is a folder"):
        list(arriving_lines(str(tmp_path)))
