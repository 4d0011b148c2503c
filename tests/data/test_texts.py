"""Texts without annotation: told from annotated data by what the file holds, and read without holding all of it."""

import io
import os
import threading

import pytest

from retainer.data.corpus import Corpus
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.plain import Texts, texts_or_corpus
from retainer.errors import InputError


@pytest.fixture
def file(tmp_path):
    def make(content, name="data"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def lines(path):
    found = texts_or_corpus(path)
    assert isinstance(found, Texts)
    return list(found)


class TestTold:
    @pytest.mark.parametrize("format", ["conll", "jsonl", "prodigy", "doccano", "conll2012", "enamex"])
    def test_annotated_files_are_corpora(self, tmp_path, format):
        write(generate(20, seed=1), tmp_path / "data", format)
        found = texts_or_corpus(tmp_path / "data")
        assert isinstance(found, Corpus) and len(found) == 20 and found.types

    def test_plain_lines(self, file):
        path = file("play songs by boston\n\n  \nto paris\r\nthe last one has no end")
        assert lines(path) == [(1, "play songs by boston"), (4, "to paris"), (5, "the last one has no end")]

    def test_one_line_that_ends_like_a_tag_makes_no_columns(self, file):
        assert len(lines(file("we flew a B-52\nplay O\nto paris\nto rome\nand home\n"))) == 5

    def test_columns_with_a_broken_line_are_refused_and_not_taken_for_texts(self, file):
        with pytest.raises(InputError, match="data:3.*'nothing' fits no scheme"):
            texts_or_corpus(file("a\tO\nb\tB-x\nc\tnothing\nd\tO\n"))

    def test_columns_with_document_starts(self, file):
        assert texts_or_corpus(file("-DOCSTART- O\n\nin O\nparis B-city\n")).types == ("city",)

    def test_only_the_beginning_is_looked_at(self, file):
        text = "in O\nparis B-city\n\n" * 200
        assert len(texts_or_corpus(file(text))) == 200

    def test_records_with_a_text_alone(self, file):
        path = file('{"text": "to paris", "id": 1}\n\n{"text": "line\\nbreak \\u00e9"}\n{"text": " "}\n')
        assert lines(path) == [(1, "to paris"), (3, "line\nbreak é")]

    def test_annotation_that_begins_late_is_refused(self, file):
        with pytest.raises(InputError, match="data:2: found 'spans', but the records before it have no annotation"):
            lines(file('{"text": "a"}\n{"text": "b", "spans": []}\n'))

    def test_folders_of_documents(self, tmp_path):
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes" / "a.name").write_text('<DOC DOCNO="a">\nin <ENAMEX TYPE="GPE">Oslo</ENAMEX> .\n</DOC>\n')
        assert texts_or_corpus(tmp_path / "notes").types == ("GPE",)


class TestRead:
    def test_a_file_is_read_while_it_is_walked_through(self, file):
        path = file("a b\n" * 1000 + "c d\n")
        walk = iter(texts_or_corpus(path))
        assert next(walk) == (1, "a b")
        assert sum(1 for _ in walk) == 1000

    def test_marks_and_line_ends(self, file):
        assert lines(file(b"\xef\xbb\xbfto \xe2\x80\xa8 paris\r\n")) == [(1, "to \u2028 paris")]

    @pytest.mark.parametrize("content", [b"to paris\nto rome\n", b'{"text": "to paris"}\n{"text": "to rome"}\n'])
    def test_stdin(self, monkeypatch, content):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert lines("-") == [(1, "to paris"), (2, "to rome")]
        assert not __import__("sys").stdin.buffer.closed, "stdin is not ours to close"

    def test_stdin_always_holds_texts(self, monkeypatch):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"in O\nparis B-city\n")))
        assert lines("-") == [(1, "in O"), (2, "paris B-city")]

    def test_a_pipe_is_read_once(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text("to paris\n"))
        writer.start()
        assert lines(tmp_path / "pipe") == [(1, "to paris")]
        writer.join()


class TestRefused:
    def test_bytes_that_are_no_text(self, file):
        with pytest.raises(InputError, match="is not UTF-8 text"):
            lines(file(b"to paris\n\xff\xfe\n"))

    def test_half_a_character(self):
        with pytest.raises(InputError, match="memory:7: .*no valid Unicode"):
            list(Texts([(7, "to \ud800")]))

    def test_records_that_are_none(self, file):
        with pytest.raises(InputError, match="data:2: this is not JSON"):
            lines(file('{"text": "a"}\nb\n'))
        with pytest.raises(InputError, match="data:2: .*'text' is missing"):
            lines(file('{"text": "a"}\n{"id": 1}\n'))
        with pytest.raises(InputError, match="data:1: text: must be a string"):
            lines(file('{"text": 1}\n'))

    def test_files_that_are_not_there(self, tmp_path, monkeypatch):
        with pytest.raises(InputError, match="nowhere: No such file"):
            texts_or_corpus(tmp_path / "nowhere")
        monkeypatch.setattr("sys.stdin", None)
        with pytest.raises(InputError, match="stdin is closed"):
            lines("-")
