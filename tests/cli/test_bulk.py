"""The line that bulk tagging prints while it works: rate, share, and the time left."""

import pytest

from retainer.cli import bulk


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr(bulk.time, "monotonic", lambda: now[0])
    return now


def lines(capsys):
    return [line.removeprefix("retainer: ") for line in capsys.readouterr().err.splitlines()]


def test_rate_and_time_left_every_ten_seconds(clock, capsys):
    progress = bulk.ProgressLine()
    progress.advance(0, 0.0)
    for _ in range(20):
        clock[0] += 1
        progress.advance(50, (clock[0] - 100) / 40)
    assert lines(capsys) == [
        "500 texts, 50 per second, 25 %, about 30 s left",
        "1000 texts, 50 per second, 50 %, about 20 s left",
    ]


def test_what_an_earlier_call_has_done_is_not_in_the_rate(clock, capsys):
    progress = bulk.ProgressLine()
    progress.advance(0, 0.8)
    clock[0] += 10
    progress.advance(200, 0.9)
    assert lines(capsys) == ["200 texts, 20 per second, 90 %, about 10 s left"]


def test_on_a_terminal_one_line_changes(clock, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    progress = bulk.ProgressLine()
    progress.advance(0, 0.0)
    for _ in range(2):
        clock[0] += 1
        progress.advance(10, (clock[0] - 100) / 4)
    progress.end()
    assert capsys.readouterr().err == (
        "\r\033[K10 texts, 10 per second, 25 %, about 3 s left\r\033[K20 texts, 10 per second, 50 %, about 2 s left\n"
    )
