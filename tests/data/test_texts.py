"""The one reader of texts: what a file holds decides how it is read, and nothing is held that need not be."""

import io
import json
import os
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_cases import CASES, REFUSED, TOKEN, records

from retainer.data.corpus import Corpus
from retainer.data.formats.table import FORMATS
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.spans import Sentence
from retainer.data.texts import Texts, read_texts, texts_or_corpus
from retainer.errors import InputError

EACH = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def file(here):
    def make(content, name="in"):
        (here / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return make


@pytest.fixture
def stdin(monkeypatch):
    def put(content):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    return put


def spelled(texts):
    """Return every text with its number."""
    assert isinstance(texts, Texts)
    return [(number, sentence.located()[0]) for number, sentence in texts]


class TestEveryShape:
    @EACH
    def test_the_texts_of_a_file(self, file, case):
        texts = read_texts(file(case.bytes))
        assert (texts.source, texts.format) == ("in", case.format)
        assert spelled(texts) == list(enumerate(case.texts, 1))

    @EACH
    def test_no_annotation_and_no_invented_word(self, file, case):
        for number, sentence in read_texts(file(case.bytes)):
            assert not sentence.spans and bool(sentence.words) == (number in case.worded)

    @EACH
    def test_texts_or_gold(self, file, case):
        found = texts_or_corpus(file(case.bytes))
        assert isinstance(found, Corpus) == case.gold
        if not case.gold:
            assert spelled(found) == list(enumerate(case.texts, 1))

    @EACH
    def test_the_name_of_a_file_says_nothing(self, file, case):
        for name in ("in.jsonl", "in.txt", "in.conll"):
            assert [text for _, text in spelled(read_texts(file(case.bytes, name)))] == case.texts

    @EACH
    def test_stdin_holds_lines(self, stdin, case):
        stdin(case.bytes)
        texts = read_texts("-")
        assert (texts.source, texts.format) == ("-", "stream")
        try:
            found = [text for _, text in spelled(texts)]
        except InputError:
            assert case.format == "labelstudio", "a list cannot be answered while it arrives"
        else:
            lines = case.content.removesuffix("\n").split("\n")
            assert found == (case.texts if case.by_line else lines)
        assert not sys.stdin.buffer.closed, "stdin is not ours to close"

    @EACH
    def test_a_pipe_is_read_once(self, here, case):
        os.mkfifo("pipe")
        writer = threading.Thread(target=lambda: (here / "pipe").write_bytes(case.bytes))
        writer.start()
        try:
            if case.by_line:
                assert [text for _, text in spelled(read_texts("pipe"))] == case.texts
            elif case.format == "labelstudio":
                with pytest.raises(InputError, match="pipe:1: .*where an object must stand"):
                    spelled(read_texts("pipe"))
            else:
                assert spelled(texts_or_corpus("pipe")), "what can be read only once always holds texts"
        finally:
            writer.join()

    @pytest.mark.parametrize(("content", "message"), REFUSED.values(), ids=REFUSED)
    def test_refused(self, file, stdin, content, message):
        path = file(content)
        with pytest.raises(InputError) as caught:
            list(read_texts(path))
        assert str(caught.value).startswith(message)
        with pytest.raises(InputError) as caught:
            list(texts_or_corpus(path))
        assert str(caught.value).startswith(message)
        if content.lstrip().startswith(b"{"):
            stdin(content)
            with pytest.raises(InputError) as caught:
                list(read_texts("-"))
            assert str(caught.value).startswith(message.replace("in:", "-:", 1))


LINES = st.lists(
    st.text(st.sampled_from('ab \t\r\0\u2028\x85\ufeff\U0001f600{}[]"-:O'), max_size=6)
    | st.sampled_from(["", "play O", "B-52", '{"text": "c"}', "paris\tB-city"]),
    max_size=6,
)


@given(lines=LINES, ended=st.booleans(), size=st.integers(1, 5))
def test_any_lines_come_back_as_they_are(lines, ended, size):
    """On stdin, whatever stands in them and wherever a block ends: one text for every line."""
    content = "\n".join(lines) + "\n" * ended
    whole = content.removeprefix("\ufeff")
    expected = [line.removesuffix("\r") for line in whole.removesuffix("\n").split("\n")] if whole else []
    with pytest.MonkeyPatch.context() as patched:
        reading, writing = os.pipe()
        os.write(writing, content.encode())
        os.close(writing)
        with open(reading, encoding="utf-8") as stream:
            patched.setattr("sys.stdin", stream)
            patched.setattr("retainer.data.line_stream._BLOCK", size)
            try:
                found = [text for _, text in spelled(read_texts("-"))]
            except InputError:
                opens = next(line for line in expected if line.strip(" \t\r"))
                assert opens.lstrip(" \t").startswith(("{", "[")), "only what opens like JSON can be broken"
                return
    assert len(found) == len(expected)
    assert found == expected or next(line for line in expected if line.strip()).lstrip().startswith("{")


class TestFormats:
    @pytest.mark.parametrize("format", FORMATS)
    def test_the_texts_of_every_format(self, format):
        corpus = generate(30, seed=9)
        write(corpus, "in", format)
        assert spelled(read_texts("in")) == list(enumerate((s.located()[0] for s in corpus), 1))
        assert not any(sentence.spans for _, sentence in read_texts("in"))

    @pytest.mark.parametrize("format", FORMATS)
    def test_annotated_files_are_corpora(self, format):
        write(generate(20, seed=1), "data", format)
        found = texts_or_corpus("data")
        assert isinstance(found, Corpus) and len(found) == 20 and found.types

    def test_folders_of_documents(self, here):
        (here / "notes").mkdir()
        (here / "notes" / "a.name").write_text('<DOC DOCNO="a">\nin <ENAMEX TYPE="GPE">Oslo</ENAMEX> .\n</DOC>\n')
        assert texts_or_corpus("notes").types == ("GPE",)
        assert spelled(read_texts("notes")) == [(1, "in Oslo .")]

    def test_the_words_of_a_format_are_kept(self, file):
        both = {"text": "to paris", "tokens": ["to", "paris"]}
        path = file(records({"text": "to paris", "tokens": [TOKEN]}, both, {"tokens": ["to paris"], "tags": [0]}))
        assert [sentence.words for _, sentence in read_texts(path)] == [("to paris",), ("to", "paris"), ("to paris",)]
        (_, sentence) = next(iter(read_texts(file("to paris\tO\nU.S.\tB-x\n"))))
        assert sentence.words == ("to paris", "U.S.")

    def test_what_a_reader_passes_over_is_counted(self, file):
        texts = read_texts(file("#begin document (pt/a); part 000\npt/a 0 0 In IN * - - - - * -\n\n#end document\n"))
        assert list(texts) == [] and list(texts.oddities.values()) == [1]

    @pytest.mark.parametrize("task", [{"data": {"text": "play"}}, {"text": "play"}, {"data": {"words": "play"}}])
    def test_tasks_that_were_never_annotated(self, file, task):
        texts = read_texts(file(json.dumps([task, {"data": {"text": " "}}])))
        assert texts.format == "labelstudio" and spelled(texts) == [(1, "play"), (2, " ")]

    def test_a_task_without_a_text(self, file):
        with pytest.raises(InputError, match="in:1: task 1: data: the key 'text' is missing"):
            list(read_texts(file('[{"data": {"image": 3}}]')))


class TestGold:
    def test_only_the_beginning_is_looked_at(self, file):
        assert len(texts_or_corpus(file("in O\nparis B-city\n\n" * 200))) == 200

    def test_columns_with_document_starts(self, file):
        assert texts_or_corpus(file("-DOCSTART- O\n\nin O\nparis B-city\n")).types == ("city",)

    def test_one_line_that_ends_like_a_tag_makes_no_columns(self, file):
        assert len(list(texts_or_corpus(file("we flew a B-52\nplay O\nto paris\nto rome\nand home\n")))) == 5

    def test_stdin_always_holds_texts(self, stdin):
        stdin(b"in O\nparis B-city\n")
        assert spelled(texts_or_corpus("-")) == [(1, "in O"), (2, "paris B-city")]

    @pytest.mark.parametrize("key", ["spans", "answer", "label", "labels", "entities", "ner_tags", "tags"])
    def test_annotation_that_begins_late_is_refused(self, file, stdin, key):
        content = records({"text": "a"}, {"text": "b", key: []})
        with pytest.raises(InputError, match=f"in:2: found '{key}', which is annotation"):
            list(texts_or_corpus(file(content)))
        assert len(list(read_texts("in"))) == 2, "where annotation is ignored, it may begin anywhere"
        stdin(content.encode())
        with pytest.raises(InputError, match=f"-:2: found '{key}'"):
            list(texts_or_corpus("-"))

    def test_records_that_hold_no_text_are_noticed_at_once(self, file):
        with pytest.raises(InputError, match="in:1: found the keys txt; expected text and spans"):
            texts_or_corpus(file('{"txt": "a"}\n'))


class TestMemory:
    def test_a_file_is_read_while_it_is_walked_through(self, file):
        walk = iter(read_texts(file("a b\n" * 100_000 + "\xff\n")))
        assert next(walk) == (1, Sentence.from_text("a b"))
        assert sum(1 for _ in walk) == 100_000

    def test_strings(self):
        assert spelled(Texts.of(["to paris", "", "to\nrome"])) == [(1, "to paris"), (2, ""), (3, "to\nrome")]
        with pytest.raises(InputError, match="memory:2: .*not valid Unicode"):
            list(Texts.of(["to", "to \ud800"]))

    @pytest.mark.parametrize(
        ("texts", "count", "characters", "chunks"),
        [
            (["a", "b", "c"], 2, 99, [["a", "b"], ["c"]]),
            (["abc", "de", "f"], 9, 4, [["abc", "de"], ["f"]]),
            ([None, "a", None, None, "b", None], 9, 99, [["a"], ["b"]]),
            (["", "", None, ""], 9, 99, [["", ""], [""]]),
            ([], 9, 99, []),
        ],
    )
    def test_chunks(self, texts, count, characters, chunks):
        arriving = [text if text is None else (1, Sentence.from_text(text)) for text in texts]
        found = Texts(arriving).chunks(count, characters)
        assert [[sentence.located()[0] for sentence in chunk] for chunk in found] == chunks


class TestNothingThere:
    def test_files_that_are_not_there(self, here):
        for read in (read_texts, texts_or_corpus):
            with pytest.raises(InputError, match="nowhere: there is no such file"):
                read("nowhere")
            with pytest.raises(InputError, match="this is a folder; name a file in it"):
                read(here)

    def test_a_model_for_data(self, here):
        (here / "v1").mkdir()
        (here / "v1" / "config.json").write_text("{}")
        for read in (read_texts, texts_or_corpus):
            with pytest.raises(InputError, match="v1: this is a model, and data are wanted here; models come before"):
                read("v1")

    def test_a_closed_stdin(self, monkeypatch):
        monkeypatch.setattr("sys.stdin", None)
        for read in (read_texts, texts_or_corpus):
            with pytest.raises(InputError, match="stdin is closed"):
                list(read("-"))


def test_a_table_is_no_list_of_texts(here):
    (here / "notes.csv").write_text("id,said\n1,in paris\n2,in oslo\n")
    for read in (read_texts, texts_or_corpus):
        with pytest.raises(InputError, match="notes.csv is a CSV table without a column of texts: found id, said;"):
            read("notes.csv")
    (here / "said.txt").write_text("well, hello\nso, what\n")
    assert [" ".join(one.words) for _, one in read_texts("said.txt")] == ["well , hello", "so , what"]
