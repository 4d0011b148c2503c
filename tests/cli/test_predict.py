"""`predict` on texts of any number and length: answered while they arrive, in memory that does not grow with them."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from foreign import checkpoint, texts
from text_cases import CASES, REFUSED

from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.versions.version import load

BOUND = 10
"""Megabytes by which twelve times the texts may raise the peak of memory: 4 were measured, and 18 if all were held."""

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


@pytest.mark.long
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
        many.feed(lines(range(2500)))
        grown = many.peak() - usual
    assert grown < BOUND, f"{grown:.0f} MB more for twelve times the texts"
    with open(tmp_path / "out.jsonl", encoding="utf-8") as output:
        answers = [json.loads(line) for line in output]
    assert [answer["text"] for answer in answers] == [document(number) for number in range(2500)]
    assert sum(len(answer["entities"]) for answer in answers) > 2500


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


class TestTexts:
    @pytest.fixture(scope="class")
    def version(self, model):
        return load(model, device="cpu")

    @pytest.fixture
    def predict(self, model, version, tmp_path, monkeypatch, capsys):
        """Run the verb with a model that is loaded already; return status, objects and stderr."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("retainer.versions.version.load", lambda *_, **__: version)

        def call(*argv):
            status = main(["predict", str(model), *argv, "--device", "cpu"])
            out, err = capsys.readouterr()
            return status, [json.loads(line) for line in out.split("\n")[:-1]], err

        return call

    @pytest.mark.parametrize("case", CASES.values(), ids=CASES)
    def test_one_object_per_text_of_every_shape(self, predict, monkeypatch, case):
        Path("in").write_bytes(case.bytes)
        status, answers, err = predict("--input", "in")
        assert (status, err) == (0, "") and [answer["text"] for answer in answers] == case.texts
        assert not any(answer["entities"] for answer in answers if not answer["text"].strip())
        if case.by_line:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(case.bytes)))
            status, arrived, err = predict("-")
            assert (status, err) == (0, "") and [answer["text"] for answer in arrived] == case.texts

    @pytest.mark.parametrize(("content", "message"), REFUSED.values(), ids=REFUSED)
    def test_refused(self, predict, content, message):
        Path("in").write_bytes(content)
        status, answers, err = predict("--input", "in")
        assert (status, answers) == (2, []) and err.startswith(f"retainer: {message}") and err.count("\n") == 1

    def test_an_annotated_file_is_read_by_its_format(self, predict, version):
        corpus = generate(40, seed=9)
        for format in ("conll", "brat"):
            write(corpus, f"in.{format}", format)
            _, answers, _ = predict("--input", f"in.{format}")
            assert [answer["text"] for answer in answers] == [sentence.located()[0] for sentence in corpus]
        expected = [s.with_spans(spans) for s, spans in zip(corpus, version.tag(corpus.sentences), strict=True)]
        _, answers, _ = predict("--input", "in.conll")
        assert [[(e["start"], e["end"], e["entity_group"]) for e in answer["entities"]] for answer in answers] == [
            [(span.start, span.end, span.type) for span in sentence.character_spans()] for sentence in expected
        ], "its words are those of the file"
        assert sum(len(answer["entities"]) for answer in answers) > 10

    def test_what_a_format_passes_over_is_printed(self, predict):
        Path("in").write_text("#begin document (pt/a); part 000\npt/a 0 0 In IN * - - - - * -\n\n#end document\n")
        status, answers, err = predict("--input", "in")
        assert (status, answers) == (0, []) and err.startswith("note: 1 sentences of the genre pt")

    def test_a_text_that_is_none(self, predict):
        status, _, err = predict("to \udce9")
        assert status == 2 and "TEXT:1: the text 'to \\udce9' is not valid Unicode" in err


class TestFlagsAnywhere:
    @pytest.mark.parametrize(
        "argv",
        [
            ("MODEL", "--device", "cpu", "in boston"),
            ("--device=cpu", "MODEL", "in boston"),
            ("MODEL", "in boston", "--device", "cpu"),
            ("MODEL", "--device", "cpu", "--threshold.artist", "0.0", "--", "in boston"),
        ],
    )
    def test_between_before_and_behind(self, model, capsys, argv):
        assert main(["predict", *(str(model) if word == "MODEL" else word for word in argv)]) == 0
        assert json.loads(capsys.readouterr().out)["text"] == "in boston"

    def test_a_flag_without_its_value_takes_nothing_else(self, model, capsys):
        assert main(["predict", str(model), "in boston", "--device"]) == 2
        assert "--device" in capsys.readouterr().err
        assert main(["predict", str(model), "--calibratd", "in boston"]) == 2
        assert "did you mean '--calibrated'?" in capsys.readouterr().err
