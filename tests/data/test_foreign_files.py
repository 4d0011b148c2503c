"""What people give for data that is no text: named for what it is, with what to do."""

import gzip
import zipfile

import pytest

from retainer.cli.main import main
from retainer.data.foreign_files import csv_columns
from retainer.data.formats.conll import read_conll
from retainer.data.io import read
from retainer.data.texts import read_texts
from retainer.errors import InputError

COLUMNS = "in\tO\nOslo\tB-city\n"


def refusal(reader, path):
    with pytest.raises(InputError) as raised:
        list(reader(str(path)))
    return str(raised.value)


@pytest.mark.parametrize("reader", [read, read_texts])
class TestBytes:
    def test_compressed(self, tmp_path, reader):
        path = tmp_path / "data.conll"  # what it holds counts, not what it is called
        path.write_bytes(gzip.compress(gzip.compress(COLUMNS.encode())))
        assert refusal(reader, path) == f"{path}: this is compressed twice (gzip); unpack it first: gunzip {path}"

    def test_a_workbook(self, tmp_path, reader):
        path = tmp_path / "data.xlsx"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("xl/workbook.xml", "<workbook/>")
        assert "this is an Excel workbook or a zip archive; save the sheet as text with tabs" in refusal(reader, path)

    def test_an_address(self, reader):
        address = "https://example.org/data.conll"
        assert refusal(reader, address) == (
            f"{address}: this is an address, and data are read from files alone; download it first"
        )


def test_an_address_is_refused_by_verbs(capsys):
    for call in (["check", "s3://bucket/data.jsonl"], ["convert", "https://example.org/data.conll", "x.jsonl"]):
        assert main(call) == 2
        assert "this is an address" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["word,tag\nin,O\nOslo,B-city\n", "text;label\nOslo is far;city\n", 'text,label\n"far, far",city\n']
)
def test_csv_is_called_that(text):
    with pytest.raises(InputError, match=r"^F looks like CSV with the columns \w+, \w+; .* --columns .* \(F:"):
        read_conll(text, "F")


@pytest.mark.parametrize("lines", [["Hello, world", "Good, bad"], ["a b", "c d"], ["a,b"], ["a,b", "c"], []])
def test_texts_with_commas_are_no_csv(lines):
    assert not csv_columns(lines)


@pytest.mark.parametrize("header", ["word\ttag", "Token\tPOS\tNER_Tag", "# token\tlabel", "word ner"])
def test_a_line_that_names_the_columns_is_no_word(header):
    separator = "\t" if "\t" in header else " "
    rows = [("in", "O"), ("Oslo", "B-city")]
    middle = [""] * (len(header.strip("# ").split(separator)) - 2)
    body = "".join(separator.join([word, *["x" for _ in middle], tag]) + "\n" for word, tag in rows)
    corpus = read_conll(f"\n{header}\n{body}", "F")
    assert [sentence.words for sentence in corpus] == [("in", "Oslo")] and corpus.types == ("city",)
    assert corpus.oddities == {"line that names the columns": 1}


def test_only_the_first_line_names_columns():
    assert read_conll("word\tO\ntag\tB-x\n", "F").oddities == {}
    with pytest.raises(InputError, match="F:3: tag 'tag' fits no scheme"):
        read_conll(f"{COLUMNS}word\ttag\n", "F")
