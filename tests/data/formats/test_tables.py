"""Tables in the layouts people have: CSV and TSV by the names of their columns, and what is wrong with them."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retainer.cli.main import main
from retainer.data.documents import read_corpus_file
from retainer.data.formats.csv_table import read_csv
from retainer.data.io import read, write
from retainer.data.spans import Sentence, Span
from retainer.data.splits import read_splits
from retainer.data.texts import read_texts, texts_or_corpus
from retainer.errors import InputError

KAGGLE = """Sentence #,Word,POS,Tag
Sentence: 1,Thousands,NNS,O
,of,IN,O
,\"\"\"\",``,O
Sentence: 2,New,NNP,B-geo
,York,NNP,I-geo
"""
OSLO = [("in Oslo now", [(3, 7, "city")])]


def put(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def found(corpus):
    return [(one.located()[0], [(s.start, s.end, s.type) for s in one.character_spans()]) for one in corpus]


def test_the_table_of_kaggle(tmp_path):
    corpus = read(put(tmp_path, "ner_dataset.csv", KAGGLE))
    assert (corpus.format, corpus.scheme) == ("csv", "IOB2")
    assert [one.words for one in corpus] == [("Thousands", "of", '"'), ("New", "York")]
    assert corpus[1].spans == (Span(0, 2, "geo"),)


@pytest.mark.parametrize(
    "text",
    [
        'text,entities\nin Oslo now,"[[3, 7, ""city""]]"\n',
        'id;Text;Label\n1;in Oslo now;"[{""start"": 3, ""end"": 7, ""labels"": [""city""], ""text"": ""Oslo""}]"\n',
        "entities\ttext\n[(3, 7, 'city')]\tin Oslo now\n",
        "\ufeff,text,spans\r\n0,in Oslo now,\"[{'start_offset': 3, 'end_offset': 7, 'type': 'city'}]\"\r\n",
        "Sentence #,Sentence,POS,Tag\nSentence: 1,in Oslo now,\"['x']\",\"['O', 'B-city', 'O']\"\n",
        'sentence,word_labels\nin Oslo now,"O,B-city,O"\n',
        "text,labels\nin Oslo now,O B-city O\n",
        'tokens,ner_tags\n"[""in"", ""Oslo"", ""now""]","[""O"", ""B-city"", ""O""]"\n',
        "sent_id\tTOKEN\tner-tag\n1\tin\tO\n1\tOslo\tB-city\n1\tnow\tO\n",
        "word,tag\nin,O\nOslo,B-city\nnow,O\n\n",
        "tag;word\nO;in\nB-city;Oslo\nO;now\n",
    ],
)
def test_layouts(tmp_path, text):
    corpus = read(put(tmp_path, "data", text))
    assert corpus.format == ("tsv" if "\t" in text else "csv") and found(corpus) == OSLO


def test_a_table_with_tabs_is_written(tmp_path, capsys):
    """It has to be asked for: a file whose name ends in .tsv and nothing said are columns, as ever."""
    source = put(tmp_path, "in.csv", 'text,entities\nin Oslo now,"[[3, 7, ""city""]]"\n"a ""b""\tc",[]\n')
    assert main(["convert", str(source), str(tmp_path / "out.tsv"), "--to", "tsv"]) == 0
    assert "csv -> tsv" in capsys.readouterr().out
    assert (tmp_path / "out.tsv").read_text("utf-8") == (
        'text\tentities\nin Oslo now\t"[[3, 7, ""city""]]"\n"a ""b""\tc"\t[]\n'
    )
    assert found(read(tmp_path / "out.tsv")) == found(read(source)) and read(tmp_path / "out.tsv").format == "tsv"
    assert main(["convert", str(source), str(tmp_path / "columns.tsv")]) == 0
    assert read(tmp_path / "columns.tsv").format == "conll"


def test_columns_with_a_word_first_and_a_tag_last_stay_columns(tmp_path):
    assert read(put(tmp_path, "data", "word\ttag\nin\tO\nOslo\tB-city\n")).format == "conll"


def test_named_columns(tmp_path):
    path = put(tmp_path, "odd.csv", 'id,body,marks\n1,in Oslo now,"[[3, 7, ""city""]]"\n')
    assert found(read(path, columns={"text": "body", "entities": "marks"})) == OSLO
    assert [one.located()[0] for _, one in read_texts(path, {"text": "body"})] == ["in Oslo now"]
    with pytest.raises(InputError, match=r"there is no column 'bodi' \(did you mean 'body'\?\); found id, body, marks"):
        read(path, columns={"text": "bodi"})
    with pytest.raises(InputError, match="there is no kind of column 'texts'"):
        read(path, columns={"texts": "body"})
    with pytest.raises(InputError, match="found the columns id, body, marks, so there are texts and no annotation"):
        read(path, columns={"text": "body"})


def test_a_sentence_says_what_is_complete(tmp_path):
    made = [Sentence.from_text("in Oslo").completed(("city",)), Sentence.from_text("x")]
    write(made, tmp_path / "x.csv", "csv")
    assert [one.complete for one in read(tmp_path / "x.csv")] == [("city",), None]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a,b\n1,2\n3,4\n", "looks like CSV with the columns a, b; a table is read by the names of its columns"),
        ("id,text\n1,Oslo\n", "found the columns id, text, so there are texts and no annotation"),
        ('text,entities\nOslo,"[[0, 9, ""x""]]"\n', "data:2: span 0-9 .x. is empty or lies outside the text of 4"),
        ('text,entities\nOslo,"[[0, 9]]"\n', "data:2: column entities: entity 1: found 2 values where start, end"),
        ("text,label\nOslo,positive\n", "data:2: column label: found 'positive' where a list of entities must stand"),
        ("text,entities\nin, Oslo,[]\n", "data:2: found 3 cells where the header names 2 columns"),
        ('text,entities\n\n"in Oslo,[]\n', "data:3: this is not CSV .a quote that opens here is never closed"),
        ('text,entities\n"a"b,[]\n', "data:2: this is not CSV .text follows a closing quote"),
        ('text,entities\n"a\n\nb",[]\nc,x\n', "data:5: column entities: found 'x'"),
        ("word,tag\n,O\n", "data:2: the word is empty"),
        ("word,tag\nOslo,PER\n", "data:2: column tag: tag 'PER' fits no scheme"),
        ("text,tags\nin Oslo,O\n", "data:2: found 2 tokens and 1 ner_tags"),
        ("tokens,ner_tags\n\"['a']\",[3]\n", r"data:2: ner_tags\[0\]: found the number 3, and numbers carry no names"),
        ("word,tag\n" + "a,O\n" * 301, "found 301 words, and nothing says where a sentence ends"),
        ("text,entities\n", "found no sentence"),
        ("text,entities\nÄ,[]\n".encode("latin-1"), "data:2: the byte 0xc4 is not UTF-8 here"),
        ("text,entities\nÄ,[]\n".encode("utf-16"), "data:1: the byte 0xff is not UTF-8 here"),
        (f"text,entities\nx,{'[' * 100_000}\n", "data:2: column entities: found"),
    ],
)
def test_what_is_refused(tmp_path, text, complaint):
    with pytest.raises(InputError, match=complaint) as raised:
        read(put(tmp_path, "data", text))
    assert len(str(raised.value)) < 700


def test_texts_of_a_table(tmp_path):
    path = put(tmp_path, "x.csv", 'id,text\n1,"in\nOslo"\n2,\n3,"a, b"\n')
    for reader in (read_texts, texts_or_corpus):
        assert [(n, one.located()[0]) for n, one in reader(path)] == [(1, "in\nOslo"), (2, ""), (3, "a, b")]
    one_column = put(tmp_path, "y.csv", "text\nin Oslo\n")
    assert [one.located()[0] for _, one in read_texts(one_column)] == ["in Oslo"]
    assert len(list(read_texts(put(tmp_path, "y.txt", "text\nin Oslo\n")))) == 2
    assert [one.words for _, one in read_texts(put(tmp_path, "k.csv", KAGGLE))][1] == ("New", "York")
    assert found(texts_or_corpus(put(tmp_path, "z.csv", "text,label\nin Oslo now,O B-city O\n"))) == OSLO


class TestGzip:
    def test_in_and_out(self, tmp_path):
        corpus = read(put(tmp_path, "x.csv", KAGGLE))
        write(corpus, tmp_path / "x.conll.gz", "conll")
        assert gzip.decompress((tmp_path / "x.conll.gz").read_bytes()).startswith(b"Thousands\tO\n")
        assert read(tmp_path / "x.conll.gz").sentences == corpus.sentences
        two = put(tmp_path, "two.gz", (tmp_path / "x.conll.gz").read_bytes() * 2)  # as cat joins them
        assert len(read(two)) == 4
        assert len(list(read_texts(two))) == 4
        with pytest.raises(InputError, match="this format is a folder of files, and a folder cannot be compressed"):
            write(corpus, tmp_path / "brat.gz", "brat")

    def test_what_is_damaged(self, tmp_path):
        whole = gzip.compress(KAGGLE.encode() * 5)
        for data, complaint in (
            (whole[:-5], "ends too early"),
            (whole[:20] + b"\xff\xff" + whole[22:], "is damaged"),
            (whole + b"garbage", "is damaged"),
            (b"\x1f\x8b", "ends too early"),
        ):
            for reader in (read, read_texts):
                with pytest.raises(InputError, match=f"x.gz: the compressed file {complaint}"):
                    list(reader(put(tmp_path, "x.gz", data)))

    def test_a_bomb(self, tmp_path):
        bomb = put(tmp_path, "bomb.gz", gzip.compress(bytes(100 << 20)))
        for reader in (read, read_texts):
            with pytest.raises(InputError, match="unpacks to more than 200 times its size"):
                list(reader(bomb))


class TestFolders:
    def test_of_columns(self, tmp_path):
        put(tmp_path, "b.conll", "Oslo\tB-city\n")
        put(tmp_path, "a.conll.gz", gzip.compress(b"Paris\tB-city\n"))
        put(tmp_path, "notes.txt", "x")
        assert [one.words for one in read(tmp_path)] == [("Paris",), ("Oslo",)]

    def test_splits_are_not_joined(self, tmp_path):
        for name in ("train", "validation"):
            put(tmp_path, f"{name}.conll", "Oslo\tB-city\n")
        with pytest.raises(InputError, match="holds the splits train, validation; name one of them"):
            read(tmp_path)
        assert read_splits(tmp_path).dev is not None

    def test_compressed_splits(self, tmp_path):
        put(tmp_path, "train.conll.gz", gzip.compress(b"Oslo\tB-city\n"))
        assert len(read_splits(tmp_path).train) == 1

    def test_compressed_brat(self, tmp_path):
        put(tmp_path, "1.txt.gz", gzip.compress(b"in Oslo\n"))
        put(tmp_path, "1.ann.gz", gzip.compress(b"T1\tcity 3 7\tOslo\n"))
        assert read(tmp_path).counts == {"city": 1}


@settings(max_examples=150, deadline=None)
@given(st.text("abc,;\t\"\n\r[]{}()'0123456789: OB-\\", max_size=60), st.sampled_from(["text,entities", "word,tag,x"]))
def test_any_table_is_read_or_refused(rest, header):
    try:
        read_csv(f"{header}\n{rest}", "F")
    except InputError as error:
        assert str(error).startswith("F") and len(str(error)) < 700


def test_a_format_that_is_named_must_be_there(tmp_path):
    with pytest.raises(InputError, match="not a file in the format parquet"):
        read_corpus_file(str(put(tmp_path, "x", "a")), "parquet")
