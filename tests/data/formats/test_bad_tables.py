"""Tables that people really have, and tables that are broken: read as they are meant, or refused in one sentence."""

import gzip

import pytest

from retainer.cli.main import main
from retainer.data.io import read
from retainer.data.texts import read_texts

MARKS = '"[[3, 7, ""city""]]"'
PACKED = gzip.compress(f"text,entities\nin Oslo,{MARKS}\n".encode() * 99, mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("no_text.csv", b"id,kind\n1,a\n2,b\n", "looks like CSV with the columns id, kind"),
        ("twice.csv", f"text,text,entities\nin Oslo,b,{MARKS}\n".encode(), "there are 2 columns called 'text'"),
        ("none.csv", b"text,entities\n", "found no sentence"),
        ("cut.csv.gz", PACKED[:-9], "ends too early"),
        ("junk.csv.gz", PACKED + b"junk", "the compressed file is damaged"),
        ("cut.parquet", b"PAR1" + b"x" * 100, "the table is damaged or cut off"),
        ("open.csv", b'text,entities\n"in Oslo,[]\n', ":2: this is not CSV (a quote that opens here is never closed"),
    ],
    ids=["no text", "twice", "none", "cut", "junk", "cut Parquet", "open quote"],
)
def test_one_sentence_and_nothing_written(tmp_path, capsys, name, content, says):
    (tmp_path / name).write_bytes(content)
    out = tmp_path / "out.jsonl"
    for call in (["check", str(tmp_path / name)], ["convert", str(tmp_path / name), str(out)]):
        assert main(call) == 2
        said = capsys.readouterr().err
        assert says in said and said.count("\n") == 1 and not out.exists()


@pytest.mark.parametrize(
    "content",
    [
        f"\ufefftext,entities\nin Oslo,{MARKS}\n",
        f"text;entities\nin Oslo;{MARKS}\n",
        f"n;text;n;entities\n1;in Oslo;2;{MARKS}\n",
        f"text,entities\r\nin Oslo,{MARKS}\r\n",
        f"text,entities\nin Oslo\0,{MARKS}\n",
    ],
)
def test_read_as_it_is_meant(tmp_path, content):
    """A byte order mark, semicolons, two columns of one name that nobody reads, the line ends of Windows, NUL."""
    (tmp_path / "x.csv").write_text(content, encoding="utf-8", newline="")
    [sentence] = read(tmp_path / "x.csv")
    assert [(one.start, one.end, one.type) for one in sentence.character_spans()] == [(3, 7, "city")]


def test_a_cell_of_ten_megabytes(tmp_path):
    (tmp_path / "x.csv").write_text("text,n\n" + "a" * 10_000_000 + ",1\n")
    [(_, sentence)] = read_texts(tmp_path / "x.csv")
    assert len(sentence.words[0]) == 10_000_000
