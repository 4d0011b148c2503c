import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property_examples import examples

from retainer.data.corpus import Corpus, fingerprint
from retainer.data.formats.conll import read_conll, write_conll
from retainer.data.formats.doccano import read_doccano, write_doccano
from retainer.data.formats.jsonl import read_jsonl
from retainer.data.formats.prodigy import read_prodigy, write_prodigy
from retainer.data.formats.records import sniff_json
from retainer.data.formats.table import FORMATS
from retainer.data.formats.tokens import read_tokens, write_tokens
from retainer.data.io import read, write
from retainer.data.spans import Sentence, Span
from retainer.data.words import word_offsets
from retainer.errors import InputError

PARIS = Sentence(("In", "Paris", "."), (Span(1, 2, "LOC"),))
MARKED = Sentence.from_text("In Paris.", [Span(3, 8, "LOC")])


def refused(read, text):
    """Return what the reader says about a bad text in the file F."""
    with pytest.raises(InputError) as caught:
        read(text, "F")
    return str(caught.value)


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


# ---------------------------------------------------------------------------------------------------------- CoNLL


@pytest.mark.parametrize(
    "text",
    [
        "In\tO\nParis\tB-LOC\n.\tO\n\n",
        "In O\nParis B-LOC\n. O",
        "\n\n \t\n\nIn O\nParis B-LOC\n. O\n\r\n\n",
        "In O\r\nParis B-LOC\r\n. O\r\n\r\n",
        "In   IN  O\nParis NNP    B-LOC\n. . O  \n",
        "-DOCSTART- -X- -X- O\n\nIn O\nParis B-LOC\n. O\n",
        "-DOCSTART-\nIn O\nParis B-LOC\n. O\n-DOCSTART-\tO\n",
        "In\tx\ty\tO\nParis\t\t\tB-LOC \n.\tx\ty\tO\n",
    ],
)
def test_conll_columns(text):
    corpus = read_conll(text)
    assert corpus.sentences == (PARIS,)
    assert (corpus.format, corpus.scheme, corpus.oddities) == ("conll", "IOB2", {})


def test_conll_sentences_end_at_blank_lines_and_document_starts():
    assert [len(s.words) for s in read_conll("a O\nb O\n\n\nc O\n-DOCSTART- O\nd O")] == [2, 1, 1]


def test_a_tab_in_the_first_line_lets_words_hold_spaces():
    assert read_conll("New York\tB-LOC\na b c\tO")[0].words == ("New York", "a b c")


@pytest.mark.parametrize("odd", ["a\x85b", "a\u2028b", "a\xa0b", "a\x0bb", "a\x0cb", "a\x1cb", "\u3000", "\x00"])
@pytest.mark.parametrize("separator", ["\t", " "])
def test_exotic_white_space_is_part_of_a_word(odd, separator):
    assert read_conll(f"{odd}{separator}O\nb{separator}O\n")[0].words == (odd, "b")


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        ("I-X I-X B-X O I-Y", "IOB1"),
        ("B-X I-X B-X O B-Y", "IOB2"),
        ("B-X E-X S-X O S-Y", "BIOES"),
        ("B-X L-X U-X O U-Y", "BILOU"),
    ],
)
def test_conll_schemes_say_the_same(tags, scheme):
    corpus = read_conll("".join(f"w {tag}\n" for tag in tags.split()))
    assert corpus.scheme == scheme
    assert corpus[0].spans == (Span(0, 2, "X"), Span(2, 3, "X"), Span(4, 5, "Y"))
    assert corpus.oddities == {}


def test_bare_i_is_counted_where_the_file_as_a_whole_uses_b():
    corpus = read_conll("a B-X\n\nb I-X\n\nc O\nd I-Y\n")
    assert (corpus.scheme, corpus.oddities) == ("IOB2", {"I- without B-": 2})
    assert [s.spans for s in corpus] == [(Span(0, 1, "X"),), (Span(0, 1, "X"),), (Span(1, 2, "Y"),)]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("we saw a robin on Sunday\nit sang\n", True),
        ("we saw a robin on Sunday", True),
        ("it sang\n" * 12 + "up flew the B-52\n", True),
        ("robin bird\nsang O\n", False),
        ("robin bird\nsang no\n", False),
        ("robin\nsang\n", False),
        ("robin\tbird\nsang well\n", False),
        ("robin NN X bird\nsang VB X no\n", False),
        ("robin B-bird\nsang\n", False),
    ],
)
def test_plain_text_is_called_that(text, plain):
    with pytest.raises(InputError) as caught:
        read_conll(text, "F")
    assert str(caught.value).startswith("F looks like plain text without annotation (F:1: tag ") == plain
    assert re.match(r"F:\d+: ", str(caught.value)) or plain


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a O\nb c O\n", ["F:2: found 3 columns where the lines before have 2;"]),
        ("a O\n\n\nb\n", ["F:4: found 1 column where the lines before have 2;"]),
        ("a\tO\nb O\n", ["F:2: found 1 column where", "tabs"]),
        ("\na\n", ["F:2: found 1 column;", "tag"]),
        ("a O\n O\n", ["F:2: the first column is empty"]),
        ("a\tO\n\tO\n", ["F:2: the first column is empty"]),
        ("a O\nb PER\n", ["F:2: tag 'PER' fits no scheme", "IOB2"]),
        ("a\tO\nb\t\n", ["F:2: tag '' fits no scheme"]),
        ("a\u2028b O\nb X-PER\n", ["F:2: tag 'X-PER'"]),
        ("a O\na\tb O\n", ["F:2: 'a\\tb' contains a tab"]),
        ("a O\rb O\rc O", ["F:1: 'O\\rb' contains a tab or a line break"]),
        ("a O\rb B-X\rc", ["F:1: 'O\\rb' contains"]),
    ],
)
def test_conll_refuses(text, parts):
    message = refused(read_conll, text)
    assert all(part in message for part in parts), message


def test_conll_is_written_as_iob2_with_tabs():
    assert write_conll([PARIS, Sentence(("x y",))]) == "In\tO\nParis\tB-LOC\n.\tO\n\nx y\tO\n\n"


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        (Sentence(("a\tb",)), r"sentence 2: 'a\\tb' contains a tab or a line break"),
        (Sentence(("a\n",)), "sentence 2: .* line break"),
        (Sentence(("\r",)), "sentence 2: .* line break"),
        (Sentence(("a",), (Span(0, 1, "X\nY"),)), r"'B-X\\nY' contains a tab or a line break"),
        (Sentence(("a",), (Span(0, 1, "X "),)), "spaces at the edges of a name get lost"),
        (Sentence(("-DOCSTART-",)), "beginning of a document"),
        (Sentence(("-DOCSTART- x",)), "beginning of a document"),
    ],
)
def test_conll_writer_refuses_what_would_not_come_back(sentence, message):
    with pytest.raises(InputError, match=message):
        write_conll([PARIS, sentence])


def test_conll_keeps_words_that_only_resemble_a_document_start():
    sentence = Sentence(("-DOCSTART-s",))
    assert read_conll(write_conll([sentence])).sentences == (sentence,)


# ------------------------------------------------------------------------------------------------------- Prodigy


def prodigy(**fields):
    return {"text": "In Paris.", "spans": [{"start": 3, "end": 8, "label": "LOC"}], **fields}


def token(start, end, **fields):
    return {"start": start, "end": end, "id": 0, **fields}


def test_prodigy():
    corpus = read_prodigy("\n" + lines(prodigy()) + " \r\n" + lines(prodigy(answer="accept", meta={"x": 1})))
    assert corpus.sentences == (MARKED, MARKED)
    assert (corpus.format, corpus.oddities) == ("prodigy", {})


def test_prodigy_tokens_are_the_words():
    tokens = [token(0, 2, text="In"), token(3, 9, text="Paris.")]
    spans = [{"start": 3, "end": 9, "label": "LOC"}]
    sentence = read_prodigy(lines(prodigy(tokens=tokens, spans=spans)))[0]
    assert sentence.words == ("In", "Paris.")
    assert sentence.spans == (Span(1, 2, "LOC"),)
    assert (sentence.text, sentence.offsets) == ("In Paris.", ((0, 2), (3, 9)))


def test_prodigy_answers_that_are_no_yes_are_counted():
    skipped = [prodigy(answer="reject"), {"answer": "ignore"}]
    corpus = read_prodigy(lines(prodigy(), *skipped))
    assert corpus.sentences == (MARKED,)
    assert corpus.oddities == {"rejected or ignored answers": 2}


def test_prodigy_may_leave_spans_out_where_an_answer_was_given():
    assert read_prodigy(lines({"text": "No.", "answer": "accept"}))[0].spans == ()
    assert "F:1: the key 'spans' is missing" in refused(read_prodigy, lines({"text": "No."}))


def test_empty_texts_are_counted():
    empty = [{"text": "", "spans": []}, {"text": " \n\u2028", "spans": [], "tokens": []}]
    corpus = read_prodigy(lines(*empty, prodigy()))
    assert (len(corpus), corpus.oddities) == (1, {"empty texts": 2})


def test_white_space_at_the_edge_is_trimmed_and_counted():
    spans = [{"start": 2, "end": 8, "label": "LOC"}, {"start": 8, "end": 9, "label": "DOT"}]
    corpus = read_prodigy(lines(prodigy(spans=spans)))
    assert corpus[0].character_spans() == (Span(3, 8, "LOC"), Span(8, 9, "DOT"))
    assert corpus.oddities == {"white space at the edge of a span": 1}


def test_an_edge_inside_a_word_is_kept_to_the_character_and_counted():
    spans = [{"start": 4, "end": 6, "label": "MID"}, {"start": 6, "end": 8, "label": "END"}]
    corpus = read_prodigy(lines(prodigy(spans=spans)))
    assert corpus[0].words == ("In", "P", "ar", "is", ".")
    assert corpus[0].character_spans() == (Span(4, 6, "MID"), Span(6, 8, "END"))
    assert corpus.oddities == {"edge inside a word": 2}


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"text": None}, "text: must be a string, found None"),
        ({"text": ["a"]}, "text: must be a string, found ['a']"),
        ({"spans": None}, "spans: must be a list, found None"),
        ({"spans": {}}, "spans: must be a list, found {}"),
        ({"spans": [[3, 8, "LOC"]]}, "spans[0]: must be an object, found [3, 8, 'LOC']"),
        ({"spans": [{"end": 8, "label": "X"}]}, "spans[0]: the key 'start' is missing; found 'end', 'label'"),
        ({"spans": [{"start": 3, "label": "X"}]}, "spans[0]: the key 'end' is missing"),
        ({"spans": [{"start": 3, "end": 8}]}, "spans[0]: the key 'label' is missing"),
        ({"spans": [{"start": "3", "end": 8, "label": "X"}]}, "spans[0]: start: must be a whole number, found '3'"),
        ({"spans": [{"start": 3.0, "end": 8, "label": "X"}]}, "spans[0]: start: must be a whole number, found 3.0"),
        ({"spans": [{"start": True, "end": 8, "label": "X"}]}, "spans[0]: start: must be a whole number, found True"),
        ({"spans": [{"start": 3, "end": False, "label": "X"}]}, "spans[0]: end: must be a whole number, found False"),
        ({"spans": [{"start": 3, "end": 8, "label": 7}]}, "spans[0]: label: must be a string, found 7"),
        ({"spans": [{"start": 3, "end": 8, "label": ""}]}, "spans[0]: span 3-8 has an empty label"),
        ({"spans": [{"start": 3, "end": 10, "label": "X"}]}, "span 3-10 (X) is empty or lies outside the text of 9"),
        ({"spans": [{"start": -1, "end": 2, "label": "X"}]}, "span -1-2 (X) is empty or lies outside"),
        ({"spans": [{"start": 8, "end": 3, "label": "X"}]}, "span 8-3 (X) is empty or lies outside"),
        ({"spans": [{"start": 2, "end": 3, "label": "X"}]}, "span 2-3 (X) covers no word, only ' '"),
        (
            {"spans": [{"start": 3, "end": 8, "label": "X"}, {"start": 0, "end": 4, "label": "Y"}]},
            "span 3-8 (X) overlaps 0-4 (Y)",
        ),
        ({"text": " ", "spans": [{"start": 0, "end": 1, "label": "X"}]}, "span 0-1 (X) covers no word"),
        ({"complete": None}, "complete: must be a list, found None"),
        ({"complete": "LOC"}, "complete: must be a list, found 'LOC'"),
        ({"complete": {"LOC": True}}, "complete: must be a list, found {'LOC': True}"),
        ({"complete": ["LOC", 7]}, "complete[1]: must be a string, found 7"),
        ({"complete": [["LOC"]]}, "complete[0]: must be a string, found ['LOC']"),
        ({"complete": [""]}, "complete[0]: the name is empty"),
        ({"text": " ", "spans": [], "complete": [None]}, "complete[0]: must be a string, found None"),
        ({"tokens": "In Paris"}, "tokens: must be a list"),
        ({"tokens": ["In", "Paris"]}, "tokens[0]: must be an object, found 'In'"),
        ({"tokens": [{"text": "In"}]}, "tokens[0]: the key 'start' is missing"),
        ({"tokens": [token(0, 2), token(3, 30)]}, "tokens[1]: token 3-30 is empty or lies outside"),
        ({"tokens": [token(2, 2)]}, "tokens[0]: token 2-2 is empty"),
        ({"tokens": [token(0, 4), token(3, 8)]}, "tokens[1]: begins at 3, before the end"),
        ({"tokens": [token(0, 2, text="Im")]}, "tokens[0]: token 0-2 is 'Im', but the text has 'In' there"),
        ({"tokens": [token(0, 2), token(3, 9)]}, "span 3-8 (LOC) begins or ends inside a token"),
        ({"tokens": [token(0, 2)]}, "span 3-8 (LOC) covers no word"),
    ],
)
def test_prodigy_refuses(fields, part):
    message = refused(read_prodigy, lines(prodigy(), prodigy(**fields)))
    assert message.startswith("F:2: ")
    assert part in message


def test_prodigy_is_written_with_tokens():
    assert json.loads(write_prodigy([PARIS])) == {
        "text": "In Paris .",
        "tokens": [
            {"text": "In", "start": 0, "end": 2, "id": 0},
            {"text": "Paris", "start": 3, "end": 8, "id": 1},
            {"text": ".", "start": 9, "end": 10, "id": 2},
        ],
        "spans": [{"start": 3, "end": 8, "token_start": 1, "token_end": 1, "label": "LOC"}],
    }


# ------------------------------------------------------------------------------------------------------- doccano


@pytest.mark.parametrize(
    "fields",
    [
        {"label": [[3, 8, "LOC"]]},
        {"labels": [[3, 8, "LOC"]], "id": 1},
        {"entities": [{"id": 4, "start_offset": 3, "end_offset": 8, "label": "LOC"}], "relations": []},
        {"label": [], "entities": [{"start_offset": 3, "end_offset": 8, "label": "LOC"}]},
    ],
)
def test_doccano_old_and_new(fields):
    corpus = read_doccano(lines({"text": "In Paris.", **fields}))
    assert corpus.sentences == (MARKED,)
    assert (corpus.format, corpus.oddities) == ("doccano", {})


def test_doccano_counts_the_same_oddities():
    corpus = read_doccano(lines({"text": "", "label": []}, {"text": "In Paris", "label": [[2, 5, "LOC"]]}))
    assert corpus.oddities == {
        "empty texts": 1,
        "white space at the edge of a span": 1,
        "edge inside a word": 1,
    }


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({}, "the spans are missing; expected one of the keys label, labels, entities"),
        ({"label": [], "complete": True}, "complete: must be a list, found True"),
        ({"label": "LOC"}, "label: must be a list, found 'LOC'"),
        ({"label": ["LOC"]}, "label[0]: must be an object, found 'LOC'"),
        ({"label": [[3, 8]]}, "label[0]: found 2 values where start, end and type must stand"),
        ({"labels": [[3, True, "LOC"]]}, "labels[0]: end_offset: must be a whole number, found True"),
        ({"label": [[3, 8, None]]}, "label[0]: label: must be a string, found None"),
        ({"entities": [{"start": 3, "end": 8, "label": "X"}]}, "entities[0]: the key 'start_offset' is missing"),
        ({"label": [[3, 99, "LOC"]]}, "span 3-99 (LOC) is empty or lies outside"),
        ({"label": [[3, 8, "A"], [7, 9, "B"]]}, "span 7-9 (B) overlaps 3-8 (A)"),
        ({"label": [[3, 8, "A"], [3, 8, "A"]]}, "span 3-8 (A) overlaps 3-8 (A)"),
    ],
)
def test_doccano_refuses(fields, part):
    message = refused(read_doccano, "\n\n" + lines({"text": "In Paris.", **fields}))
    assert message.startswith("F:3: ")
    assert part in message


def test_doccano_is_written_with_label():
    assert json.loads(write_doccano([MARKED])) == {"text": "In Paris.", "label": [[3, 8, "LOC"]]}


def test_doccano_writer_refuses_an_entity_that_cannot_be_seen():
    with pytest.raises(InputError, match=r"sentence 1: span 2-3 \(X\) covers white space only"):
        write_doccano([Sentence(("a", " "), (Span(1, 2, "X"),))])


# ------------------------------------------------------------------------------------------------- Hugging Face


@pytest.mark.parametrize("key", ["ner_tags", "tags", "labels"])
def test_tokens(key):
    corpus = read_tokens(lines({"id": "0", "tokens": ["In", "Paris", "."], key: ["O", "B-LOC", "O"]}))
    assert corpus.sentences == (PARIS,)
    assert (corpus.format, corpus.scheme, corpus.oddities) == ("jsonl", "IOB2", {})


def test_tokens_know_schemes_and_count_oddities():
    empty = {"tokens": [], "ner_tags": []}
    corpus = read_tokens(lines(empty, *({"tokens": ["a"], "ner_tags": [tag]} for tag in ("I-X", "B-X"))))
    assert (corpus.scheme, corpus.oddities) == ("IOB2", {"empty texts": 1, "I- without B-": 1})
    assert read_tokens(lines({"tokens": ["a", "b"], "ner_tags": ["B-X", "L-X"]})).scheme == "BILOU"


@pytest.mark.parametrize(
    ("record", "part"),
    [
        ({"tokens": ["a"], "ner_tags": [3]}, "ner_tags[0]: found the number 3, and numbers carry no names; write tags"),
        ({"tokens": ["a"], "tags": ["O"], "complete": 1}, "complete: must be a list, found 1"),
        ({"tokens": ["a"], "tags": ["O"], "complete": [0]}, "complete[0]: must be a string, found 0"),
        ({"tokens": ["a"], "tags": [None]}, "tags[0]: must be a string, found None"),
        ({"tokens": ["a"], "tags": [True]}, "tags[0]: must be a string, found True"),
        ({"tokens": ["a", 1], "tags": ["O", "O"]}, "tokens[1]: must be a string, found 1"),
        ({"tokens": [""], "tags": ["O"]}, "tokens[0]: the word is empty"),
        ({"tokens": "a", "tags": ["O"]}, "tokens: must be a list, found 'a'"),
        ({"tokens": ["a"], "tags": "O"}, "tags: must be a list, found 'O'"),
        ({"tokens": ["a", "b"], "tags": ["O"]}, "found 2 tokens and 1 tags"),
        ({"tokens": ["a"], "tags": ["PER"]}, "tags[0]: tag 'PER' fits no scheme"),
        ({"tokens": ["a"]}, "the key 'ner_tags' is missing; found 'tokens'"),
        ({"ner_tags": ["O"]}, "the key 'tokens' is missing"),
        ({}, "the key 'tokens' is missing; found no keys"),
    ],
)
def test_tokens_refuse(record, part):
    message = refused(read_tokens, lines({"tokens": ["a"], "ner_tags": ["O"]}, record))
    assert message.startswith("F:2: ")
    assert part in message


def test_tokens_are_written_with_tag_strings():
    assert json.loads(write_tokens([PARIS])) == {"tokens": ["In", "Paris", "."], "ner_tags": ["O", "B-LOC", "O"]}


# --------------------------------------------------------------------------------------------------- JSON lines


@pytest.mark.parametrize("read", [read_prodigy, read_doccano, read_tokens, read_jsonl])
@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"text": "a", ]', "F:2: this is not JSON (Expecting property name enclosed in double quotes at column 15)"),
        ("[\n{}\n]", "F:2: this is not JSON"),
        ("[{}]", "F:2: found [{}] where an object must stand; write one JSON object per line"),
        ("7", "F:2: found 7 where an object must stand"),
        ("null", "F:2: found None where"),
        ('{"text": "\x00"}', "F:2: this is not JSON"),
        ("[" * 100_000, "F:2: this is not JSON"),
        ('{"text": "\\uD83D", "spans": []}', "F:2: found half a surrogate pair"),
    ],
)
def test_lines_that_hold_no_record(read, text, part):
    assert part in refused(read, "\n" + text)


def test_escaped_characters_beyond_the_basic_plane_are_whole():
    assert read_prodigy('{"text": "\\uD83D\\uDE00", "spans": []}')[0].words == ("\U0001f600",)


@pytest.mark.parametrize(
    ("record", "format"),
    [
        (prodigy(), "prodigy"),
        (prodigy(tokens=[token(0, 2), token(3, 8)]), "prodigy"),
        ({"text": "a", "answer": "accept"}, "prodigy"),
        ({"text": "a", "label": []}, "doccano"),
        ({"text": "a", "labels": []}, "doccano"),
        ({"text": "a", "entities": []}, "doccano"),
        ({"tokens": ["a"], "ner_tags": ["O"]}, "jsonl"),
        ({"text": "a", "tokens": ["a"], "labels": ["O"]}, "jsonl"),
    ],
)
def test_the_first_record_tells_the_shape(tmp_path, record, format):
    path = tmp_path / "data.conll"
    path.write_text("\n" + lines(record), "utf-8")
    assert read(path).format == format
    assert read(path, "jsonl") == read(path)


def test_unknown_shapes_are_refused_with_their_keys():
    message = refused(read_jsonl, lines({"text": "a", "ents": []}))
    assert message.startswith("F:1: found the keys text, ents; expected ")


@pytest.mark.parametrize("line", ['{"a": 1}', '{ "a" :', "{", "{}", "[", '[{"a": 1},', "[]", " [ {"])
def test_sniffing_json(line):
    assert sniff_json(line)


@pytest.mark.parametrize("line", ["{\tO", "{ O", "{} O", "[ O", "[\tO", "[CLS] O", '{" O', '" O', "[{ O", "a O", "] O"])
def test_brackets_can_be_words(tmp_path, line):
    assert not sniff_json(line)
    path = tmp_path / "data.jsonl"
    path.write_text(line, "utf-8")
    assert read(path).format == "conll"


# --------------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("data", "format", "message"),
    [
        (b"", None, "F: found no sentence; the file must hold at least one"),
        (b"\xef\xbb\xbf\r\n \t\n", None, "F: found no sentence"),
        (b"\n", "jsonl", "F: found no sentence"),
        (b"\n", "prodigy", "F: found no sentence"),
        (b"-DOCSTART- O\n\n", None, "F: found no sentence"),
        (b'{"text": " ", "spans": []}', None, "F: found no sentence, only 1 empty texts"),
        (b"a O\n\xc3\xa9 O\nb\xff O\n", None, "F:3: the byte 0xff is not UTF-8"),
        (b"\xef\xbb\xbfa O\n\xe9 O\n", None, "F:2: the byte 0xe9 is not UTF-8"),
        ("a O\n".encode("utf-16"), None, "F:1: the byte 0xff is not UTF-8"),
        (
            b'[{"text": "a", "spans": []}]',
            None,
            "F:1: task 1: found the keys text, spans; a list must hold tasks of Label Studio (data and annotations)",
        ),
        (b'[\n  {"text": "a"}\n]', None, "F:2: task 1: found the keys text; a list must hold tasks of Label Studio"),
        (b'[\n  {"data": }\n]', None, "F:2: this is not JSON ("),
        (b'[{"data": {"text": "a"}}, 7]', None, "F:1: must be an object, found 7"),
        (b'{\n"text": "a"\n}', None, "F:1: this is not JSON"),
        (b'{"text": "a", "spans": [}', None, "F:1: this is not JSON"),
        (b'{"text": "a", "spans": []}', "conll", "F:1: tag '[]}' fits no scheme"),
        (b"a O\n", "doccano", "F:1: this is not JSON"),
    ],
)
def test_bad_files(tmp_path, monkeypatch, data, format, message):
    monkeypatch.chdir(tmp_path)
    Path("F").write_bytes(data)
    with pytest.raises(InputError) as caught:
        read("F", format)
    assert str(caught.value).startswith(message)


def test_no_file_at_all(tmp_path):
    with pytest.raises(InputError, match="nowhere: there is no such file$"):
        read(tmp_path / "nowhere")
    with pytest.raises(InputError, match="this is a folder; name a file in it"):
        read(tmp_path)
    (tmp_path / "file").write_text("a O")
    with pytest.raises(InputError, match=r"fille: there is no such file \(did you mean 'file'\?\)$"):
        read(tmp_path / "fille")
    with pytest.raises(InputError, match="file/x: the file cannot be read"):
        read(tmp_path / "file" / "x")


def test_the_source_is_the_path_as_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("a O\nb X")
    with pytest.raises(InputError, match=r"^\./a\.txt:2: "):
        read("./a.txt")
    Path("a.txt").write_text("a O\n")
    assert read("./a.txt").source == "./a.txt"


@pytest.mark.parametrize("text", ["\ufeffa O\n", '\ufeff{"tokens": ["a"], "ner_tags": ["O"]}'])
def test_a_byte_order_mark_is_no_word(tmp_path, text):
    path = tmp_path / "data"
    path.write_text(text, "utf-8")
    assert read(path)[0].words == ("a",)


def test_a_word_that_begins_with_a_byte_order_mark_survives(tmp_path):
    sentence = Sentence(("\ufeffa",))
    write([sentence], tmp_path / "x", "conll")
    assert read(tmp_path / "x").sentences == (sentence,)


@pytest.mark.parametrize("call", [lambda name: read("x", name), lambda name: write([PARIS], "x", name)])
def test_unknown_formats_are_refused_with_the_known_and_the_nearest(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    Path("x").write_text("a O")
    with pytest.raises(InputError, match=r"'conl' \(did you mean 'conll'\?\); known are brat, conll, conll2012, csv"):
        call("conl")
    with pytest.raises(InputError, match="no format 'qqq'; known are"):
        call("qqq")


@pytest.mark.parametrize("format", FORMATS)
def test_written_files_are_read_back(tmp_path, format):
    path = tmp_path / "corpus"
    write(Corpus((MARKED, MARKED)), path, format)
    corpus = read(path)
    assert corpus.format == format
    assert [(s.words, s.spans) for s in corpus] == [(MARKED.words, MARKED.spans)] * 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["corpus"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([], "there is no sentence to write"),
        ([PARIS, Sentence(())], "sentence 2: it has no words"),
        ([Sentence(("a", ""))], "sentence 1: word 2 is empty"),
        ([Sentence(("a",), (Span(0, 1, ""),))], "sentence 1: the entity at words 0-1 has no type"),
        (
            [Sentence(("a",), (Span(0, 1, "O"),))],
            "sentence 1: no type can be called 'O': O marks the words that belong to",
        ),
        ([Sentence(("\ud83d",))], "half a surrogate pair"),
    ],
)
def test_what_is_refused_leaves_the_old_file(tmp_path, format, bad, message):
    path = tmp_path / "corpus"
    path.write_text("old")
    with pytest.raises(InputError, match=message) as caught:
        write(bad, path, format)
    assert str(caught.value).startswith(f"{path}: ")
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("corpus", "old")]


@pytest.mark.parametrize("write", [write_prodigy, write_doccano])
def test_a_text_of_white_space_would_be_passed_over_so_it_is_refused(write):
    with pytest.raises(InputError, match="sentence 1: it has white space only"):
        write([Sentence((" ", "\n"))])


def test_only_a_plain_file_is_replaced(tmp_path):
    with pytest.raises(InputError, match="is not a plain file"):
        write([PARIS], tmp_path, "conll")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="the file cannot be written"):
        write([PARIS], tmp_path / "file" / "corpus", "conll")


def test_json_is_written_in_plain_characters(tmp_path):
    write([Sentence(("é\u2028漢", "\x00"))], tmp_path / "x", "jsonl")
    assert '"é\u2028漢", "\\u0000"' in (tmp_path / "x").read_bytes().decode()


# --------------------------------------------------------------------------------------------------- round trips

CHARACTERS = st.characters(exclude_categories=["Cs"]) | st.sampled_from(
    "ab 1.-\x85\u2028\u2029\xa0\x1c\x00\ufeff\u0301\u0308👩\u200d💻🏽אשمر\u202e漢\\\"'{}[]"
)
WORDS = st.text(CHARACTERS, min_size=1, max_size=6)
TYPES = (st.text(CHARACTERS, min_size=1, max_size=4) | st.sampled_from(["PER", "LOC"])).filter(
    lambda name: name == name.strip() and name != "O"
)


@st.composite
def spans_among(draw, size, types):
    cuts = sorted(draw(st.sets(st.integers(0, size))))
    pairs = zip(cuts, cuts[1:], strict=False)
    return tuple(Span(start, end, draw(types)) for start, end in pairs if draw(st.booleans()))


@st.composite
def worded(draw, words=WORDS, types=TYPES):
    chosen = tuple(draw(st.lists(words, min_size=1, max_size=6)))
    return Sentence(chosen, draw(spans_among(len(chosen), types)))


@st.composite
def running(draw):
    """Return a sentence from running text, with spans of characters that cover some word."""
    text = draw(st.text(CHARACTERS, min_size=1, max_size=20).filter(word_offsets))
    spans = draw(spans_among(len(text), TYPES))
    return Sentence.from_text(text, [span for span in spans if text[span.start : span.end].strip()])


def columns(text):
    return text.filter(lambda cell: not set(cell) & set("\t\n\r") and not cell.endswith(" "))


def round_trip(path, sentences, format):
    write(sentences, path, format)
    return read(path, format)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("round") / "trip"


MANY = settings(max_examples=examples(100), deadline=None)


@MANY
@given(sentences=st.lists(worded(columns(WORDS), columns(TYPES)), min_size=1, max_size=3))
def test_conll_round_trip(path, sentences):
    assert round_trip(path, sentences, "conll").sentences == tuple(sentences)
    assert read(path).format == "conll"


@MANY
@given(sentences=st.lists(worded(), min_size=1, max_size=3))
def test_jsonl_round_trip(path, sentences):
    assert round_trip(path, sentences, "jsonl").sentences == tuple(sentences)
    assert read(path).sentences == tuple(sentences)


@MANY
@given(sentences=st.lists(running(), min_size=1, max_size=3), format=st.sampled_from(["prodigy", "doccano"]))
def test_running_text_round_trip(path, sentences, format):
    corpus = round_trip(path, sentences, format)
    assert corpus.sentences == tuple(sentences)
    assert "white space at the edge of a span" not in corpus.oddities


@MANY
@given(sentence=worded().filter(lambda sentence: "".join(sentence.words).strip()))
def test_prodigy_round_trip_keeps_any_words(path, sentence):
    reread = round_trip(path, [sentence], "prodigy")[0]
    assert (reread.words, reread.spans) == (sentence.words, sentence.spans)


# --------------------------------------------------------------------------------------------------- fingerprint


def test_the_fingerprint_is_fixed():
    assert fingerprint([]) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert fingerprint([PARIS]) == fingerprint(Corpus((MARKED,), "elsewhere", "prodigy"))
    assert fingerprint([PARIS]) == "1ecbb3d6460a83cef5d1c98af2c671e2442d1885d8462a6bf7d4f07ce3a81af6"


@MANY
@given(left=st.lists(worded(), max_size=2), right=st.lists(worded(), max_size=2))
def test_the_fingerprint_tells_corpora_apart(left, right):
    assert (fingerprint(left) == fingerprint(right)) == (left == right)


def test_nearby_corpora_differ():
    ab = Sentence(("a", "b"))
    others = [[Sentence(("a b",))], [Sentence(("a",)), Sentence(("b",))], [ab.with_spans([Span(0, 1, "X")])], [ab, ab]]
    assert len({fingerprint(corpus) for corpus in [[ab], *others]}) == 5


def test_corpora_load_without_torch():
    code = "import sys, retainer.data.io; print({'torch', 'transformers'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


# ------------------------------------------------------------------------------------------- what is complete


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "In Paris", "spans": []},
        {"text": "In Paris", "label": []},
        {"tokens": ["In", "Paris"], "ner_tags": ["O", "O"]},
    ],
    ids=["prodigy", "doccano", "jsonl"],
)
def test_a_record_says_which_types_are_complete(fields, tmp_path):
    """Nothing said is not the same as nothing complete."""
    path = tmp_path / "data"
    said = ({"complete": ["LOC", "PER", "LOC"]}, {"complete": []}, {})
    path.write_text(lines(*({**fields, **one} for one in said)))
    corpus = read(path)
    assert [sentence.complete for sentence in corpus] == [("LOC", "PER"), (), None]
    assert corpus.complete == {"LOC": 1, "PER": 1}
    write(corpus, tmp_path / "again", corpus.format)
    assert read(tmp_path / "again").sentences == corpus.sentences


@pytest.mark.parametrize("format", [name for name, one in FORMATS.items() if not one.holds_complete])
def test_what_is_complete_is_never_lost_in_writing(format, tmp_path):
    with pytest.raises(InputError, match=f"sentence 2: it says which types are complete in it, and {format} cannot"):
        write([PARIS, PARIS.completed(["LOC"])], tmp_path / "out", format)
    assert not (tmp_path / "out").exists()
