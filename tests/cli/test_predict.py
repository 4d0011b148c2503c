"""`predict` on texts of any number and length: answered while they arrive, in memory that does not grow with them."""

import json
import os
import subprocess
import sys

import pytest
from foreign import checkpoint, texts

from retainer.cli.main import main
from retainer.data.arriving import arriving, in_chunks
from retainer.errors import InputError

BOUND = 16
"""Megabytes by which twenty times the texts may raise the peak of memory: 4 were measured, and 30 if all were held."""

SAMPLE = [text for text, _ in texts(120, 31)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return checkpoint(tmp_path_factory.mktemp("streaming") / "model", "wordpiece", "IOB2", "last", True)


def document(number):
    return " ".join(SAMPLE[(number * 3 + at) % len(SAMPLE)] for at in range(4))


def lines(numbers):
    return "".join(json.dumps({"text": document(number)}) + "\n" for number in numbers).encode()


class Running:
    """`retainer predict MODEL -` as a process of its own."""

    def __init__(self, model, output):
        command = [sys.executable, "-m", "retainer", "predict", str(model), "-", "--device", "cpu"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output)

    def feed(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def peak(self):
        """Close its input, wait for its end, and return its peak of memory in megabytes."""
        self.process.stdin.close()
        if self.process.stdout is not None:
            self.process.stdout.read()
            self.process.stdout.close()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        assert self.process.returncode == 0
        return usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def test_memory_is_constant_and_answers_come_before_the_input_ends(model, tmp_path):
    few = Running(model, subprocess.PIPE)
    for number in range(3):
        few.feed(lines([number]))
        answer = json.loads(few.process.stdout.readline())
        assert answer["text"] == document(number) and answer["entities"], "while more may come"
    few.feed(lines(range(3, 200)))
    usual = few.peak()
    with open(tmp_path / "out.jsonl", "wb") as output:
        many = Running(model, output)
        many.feed(lines(range(4000)))
        grown = many.peak() - usual
    assert grown < BOUND, f"{grown:.0f} MB more for twenty times the texts"
    with open(tmp_path / "out.jsonl", encoding="utf-8") as output:
        answers = [json.loads(line) for line in output]
    assert [answer["text"] for answer in answers] == [document(number) for number in range(4000)]
    assert sum(len(answer["entities"]) for answer in answers) > 4000


def test_a_document_of_a_megabyte(model, tmp_path, capsys):
    text = "\n".join(SAMPLE[at % len(SAMPLE)] for at in range(30_000))
    assert len(text) > 1_000_000
    (tmp_path / "document.jsonl").write_text(json.dumps({"text": text}) + "\n")
    assert main(["predict", str(model), "--input", str(tmp_path / "document.jsonl"), "--device", "cpu"]) == 0
    (found,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found["text"] == text
    assert all(text[one["start"] : one["end"]] == one["word"] for one in found["entities"])
    starts = [one["start"] for one in found["entities"]]
    assert starts == sorted(starts) and len(starts) > 20_000
    gaps = [after - before for before, after in zip([0, *starts], [*starts, len(text)], strict=True)]
    assert max(gaps) < 1000, "no part of it was passed over"


class TestArriving:
    @pytest.fixture
    def read(self, tmp_path):
        def found(content, name="in.txt"):
            (tmp_path / name).write_bytes(content)
            return [text for text in arriving(str(tmp_path / name)) if text is not None]

        return found

    def test_lines(self, read):
        assert read(b"a\n\nb\r\nc") == ["a", "", "b", "c"]
        assert read(b"a\n\n") == ["a", ""] and read(b"\n") == [""] and read(b"") == []
        assert read("\ufeffa \u2028 b\n\ufeffc\n".encode()) == ["a \u2028 b", "\ufeffc"]

    def test_objects_are_told_by_the_first_line_or_the_name(self, read):
        assert read(b'{"text": "a\\nb"}\n\n{"text": "c"}\n') == ["a\nb", "c"]
        assert read(b'a\n{"text": "c"}\n') == ["a", '{"text": "c"}']
        assert read(b'{"words": 1}\n') == ['{"words": 1}']
        for bad in (b"a\n", b'{"text": 1}\n', b'{"words": 1}\n', b"[]\n"):
            with pytest.raises(InputError, match=r"in.jsonl:1: expected a JSON object with a \"text\""):
                read(bad, "in.jsonl")
        with pytest.raises(InputError, match=r"in.txt:3: expected a JSON object"):
            read(b'{"text": "a"}\n\nb\n')

    def test_a_line_longer_than_any_block(self, read):
        long = "ä" * 200_001
        assert read(f"x\n{long}\ny".encode()) == ["x", long, "y"]

    def test_no_text(self, read, tmp_path, monkeypatch):
        with pytest.raises(InputError, match="is not UTF-8"):
            read(b"a\n\xff\n")
        with pytest.raises(InputError, match="nowhere: No such file"):
            list(arriving(str(tmp_path / "nowhere")))
        monkeypatch.setattr("sys.stdin", None)
        with pytest.raises(InputError, match="stdin is closed"):
            list(arriving("-"))

    def test_chunks(self):
        assert list(in_chunks(["a", "b", "c"], 2, 99)) == [["a", "b"], ["c"]]
        assert list(in_chunks(["abc", "de", "f"], 9, 4)) == [["abc", "de"], ["f"]]
        assert list(in_chunks([None, "a", None, None, "b", None], 9, 99)) == [["a"], ["b"]]
        assert list(in_chunks([], 9, 99)) == []
